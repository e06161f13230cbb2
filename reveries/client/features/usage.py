"""`reveries usage`: asked of the waking mind, or of a process that reads the ledger for it."""

import datetime as dt
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from reveries.client.render import Line, Page, Part, Style, bar, line, paragraph
from reveries.client.wording import count, dollars, moment, plural, short_count
from reveries.protocol import UsageLimit, UsageReport, UsedDay, UsedModel
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries import protocol


@click.command("usage", short_help="What models used, and what is left.")
@click.option("--days", type=click.IntRange(1, 366), default=30, show_default=True, help="So many days in the history.")
@click.option("--plain", is_flag=True, help="Numbers for each day instead of a drawing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(days: int, plain: bool, as_json: bool) -> None:
    """What models used today and this month, by role and by model, against the limits.

    What nobody told us counts at its worst case; the page says how much of it that is.
    """
    import shutil

    from reveries.client.render import show, show_json

    report = _report(days)
    if as_json:
        show_json(report)
    else:
        show(usage_page(report, columns=shutil.get_terminal_size().columns, is_plain=plain))


def _report(days: int) -> "protocol.UsageReport":
    from reveries import protocol
    from reveries.client.offline_worker import usage_asleep
    from reveries.client.sync_call import ask
    from reveries.errors import AsleepError

    try:
        return ask(lambda new_id: protocol.AskUsage(new_id, days), protocol.UsageReport)
    except AsleepError:
        return usage_asleep(days)


_EMPTY = line()
_BLOCKS = "▁▂▃▄▅▆▇█"
_NEAR = 0.8
_MIDDLE_COLUMNS, _WIDE_COLUMNS = 60, 92
_COUNTS_COLUMNS, _TOKENS_COLUMNS, _SPLIT_COLUMNS = 26, 15, 24
_INDENT = 2


def usage_page(report: UsageReport, *, columns: int, is_plain: bool, zone: dt.tzinfo | None = None) -> Page:
    """Today, the month, what is left until when, and the days."""
    return [
        *_span("Today", report.today, columns),
        _EMPTY,
        *_span("This month", report.month, columns),
        _EMPTY,
        *_limits(report.limits, zone, has_bars=columns >= _MIDDLE_COLUMNS and not is_plain),
        _EMPTY,
        *(_day_list(report.days) if is_plain else _day_rows(report.days, columns)),
        _EMPTY,
        *paragraph(f"Prices: table {one_line(report.price_version)}.", style="dim", width=columns),
    ]


def sparkline(amounts: Sequence[float]) -> str:
    """One block a number, the largest the tallest; what is not nothing is at least the lowest block, nothing a dot."""
    most = max(amounts, default=0.0)
    return "".join(
        "·" if amount <= 0 else _BLOCKS[min(len(_BLOCKS) - 1, int(amount / most * len(_BLOCKS)))] for amount in amounts
    )


def _span(title: str, used: Sequence[UsedModel], columns: int) -> Page:
    tokens = sum(_used_tokens(one) for one in used if one.role != "embedding")
    total = f"{short_count(tokens)} tokens, {dollars(sum(one.dollars for one in used))}"
    page: Page = [line(Part(title, "strong"), Part(f"  {total}" if used else "  nothing yet", "dim"))]
    if used:
        page += _usage_table("by role", used, lambda one: one.role, columns)
        page += _usage_table("by model", used, lambda one: one.model, columns)
        page += _unknown(used, columns)
    return page


def _usage_table(title: str, used: Sequence[UsedModel], key: Callable[[UsedModel], str], columns: int) -> Page:
    groups: dict[str, list[UsedModel]] = {}
    for one in used:
        groups.setdefault(one_line(key(one)), []).append(one)
    taken = _COUNTS_COLUMNS + (_TOKENS_COLUMNS if columns >= _MIDDLE_COLUMNS else 0)
    taken += _SPLIT_COLUMNS if columns >= _WIDE_COLUMNS else 0
    widest = min(max(len(name) for name in groups), max(8, columns - taken))
    page: Page = [line(Part(f"  {title}", "dim"))]
    for name, some in groups.items():
        shown = name if len(name) <= widest else name[: widest - 1] + "…"
        row = line(f"    {shown:<{widest}}", f"{short_count(sum(one.calls for one in some)):>7} calls")
        if columns >= _MIDDLE_COLUMNS:
            row = (*row, Part(f"{short_count(sum(_used_tokens(one) for one in some)):>8} tokens", "dim"))
        row = (*row, Part(f"{dollars(sum(one.dollars for one in some)):>9}"))
        page.append((*row, Part(_in_and_out(some), "dim")) if columns >= _WIDE_COLUMNS else row)
    return page


def _in_and_out(some: Sequence[UsedModel]) -> str:
    read = sum(one.prompt_tokens for one in some)
    written = sum(one.completion_tokens for one in some)
    return f"  {short_count(read)} in, {short_count(written)} out"


def _unknown(used: Sequence[UsedModel], columns: int) -> Page:
    """What is charged in full because nobody told: never hidden in the sums."""
    page: Page = []
    calls = sum(one.worst_case_calls for one in used)
    total, unknown = sum(one.dollars for one in used), sum(one.worst_case_dollars for one in used)
    if calls:
        share = f", {unknown / total:.0%} of the money" if total > 0 else ""
        told = f"  unknown: {plural(calls, 'call')} at the worst case, {dollars(unknown)}{share}"
        page += paragraph(told.strip(), style="warn", width=columns)
    running = sum(one.running_calls for one in used)
    if running:
        told = f"{plural(running, 'call')} under way, at the worst case until then"
        page += paragraph(told, style="dim", width=columns)
    return page


def _limits(limits: Sequence[UsageLimit], zone: dt.tzinfo | None, *, has_bars: bool) -> Page:
    """Limits of money only where money is spent; those of tokens always."""
    spends = any(limit.is_money and limit.used > 0 for limit in limits)
    page: Page = []
    for span, title in (("day", "Left today"), ("month", "Left this month")):
        some = [limit for limit in limits if limit.span == span and (spends or not limit.is_money)]
        if not some:
            continue
        page.append(line(Part(title, "strong"), Part(f"  renews {moment(some[0].renews_at, zone)}", "dim")))
        page += [_limit(limit, has_bar=has_bars) for limit in some]
    return page


def _limit(limit: UsageLimit, *, has_bar: bool) -> Line:
    share = limit.used / limit.limit if limit.limit > 0 else 1.0
    left = max(0.0, limit.limit - limit.used)
    style: Style = "bad" if share >= 1 else "warn" if share >= _NEAR else ""
    amount = dollars(left) if limit.is_money else short_count(int(left))
    whole = dollars(limit.limit) if limit.is_money else f"{short_count(int(limit.limit))} tokens"
    drawn = (Part(f"{bar(1 - share)}  ", style or "accent"),) if has_bar else ()
    name = one_line(limit.role) or "all together"
    return line(f"    {name:<14}", *drawn, Part(f"{amount:>6}", style), Part(f" of {whole}", "dim"))


def _day_rows(days: Sequence[UsedDay], columns: int) -> Page:
    if not any(day.tokens for day in days):
        return [line(Part("Days", "strong"), Part("  none with a call yet", "dim"))]
    shown = days[-max(7, columns - _INDENT - 1) :]
    page = [line(Part(f"Tokens a day, {one_line(shown[0].day)} to {one_line(shown[-1].day)}", "strong"))]
    page.append(line("  ", Part(sparkline([day.tokens for day in shown]), "accent")))
    most = max(shown, key=lambda day: day.tokens)
    page.append(line(Part(f"  most: {short_count(most.tokens)} on {one_line(most.day)}", "dim")))
    if any(day.dollars for day in shown):
        dearest = max(shown, key=lambda day: day.dollars)
        page.append(line(Part("Dollars a day", "strong")))
        page.append(line("  ", Part(sparkline([day.dollars for day in shown]), "accent")))
        page.append(line(Part(f"  most: {dollars(dearest.dollars)} on {one_line(dearest.day)}", "dim")))
    return page


def _day_list(days: Sequence[UsedDay]) -> Page:
    rows = [f"  {one_line(day.day)}  {count(day.tokens):>11} tokens  {dollars(day.dollars):>8}" for day in days]
    return [line(Part("Days", "strong")), *(line(row) for row in rows)]


def _used_tokens(one: UsedModel) -> int:
    return one.prompt_tokens + one.completion_tokens + one.unsettled_tokens
