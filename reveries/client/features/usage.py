"""`reveries usage`: through the daemon, or an offline process that reads the ledger while it sleeps."""

import datetime as dt
from collections.abc import Callable, Sequence

import click

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.render import Line, Page, Part, Style, bar, columns_now, line, paragraph
from reveries.client.wording import count, dollars, moment, plural, short_count
from reveries.protocol import UsageLimit, UsageReport, UsedDay, UsedModel
from reveries.safe_text import one_line


@click.command("usage", short_help="What the models used, and what is left of the budget.")
@click.option("--days", type=click.IntRange(1, 366), default=30, show_default=True, help="The number of days to show.")
@click.option("--plain", is_flag=True, help="Show numbers for each day instead of a chart.")
@json_option(protocol.UsageReport)
def command(days: int, plain: bool, as_json: bool) -> None:
    """Show what the models used today and this month, by role and by model, and how much of the limits is left.

    Calls whose usage is unknown are counted at their worst case, and marked.
    """
    import shutil

    report = _ask_usage(days)
    print_answer(
        report, as_json, lambda: usage_page(report, columns=shutil.get_terminal_size().columns, is_plain=plain)
    )


def _ask_usage(days: int) -> "protocol.UsageReport":
    from reveries.client.offline_worker import usage_offline
    from reveries.client.sync_call import ask_mind
    from reveries.errors import AsleepError

    try:
        return ask_mind(lambda new_id: protocol.AskUsage(new_id, days), protocol.UsageReport)
    except AsleepError:
        return usage_offline(days)


_EMPTY = line()
_BLOCKS = "▁▂▃▄▅▆▇█"
_NEAR = 0.8
_MIDDLE_COLUMNS, _WIDE_COLUMNS = 60, 92
_COUNTS_COLUMNS, _TOKENS_COLUMNS, _SPLIT_COLUMNS = 26, 15, 24
_INDENT = 2
_ROLE_NAMES = {"learning": "audit"}
"""What the owner is told a role is for, where its name says too little: it checks results, and pairs of lines."""


@page_of(protocol.UsageReport, "usage")
def usage_page(report: UsageReport, *, columns: int = 0, is_plain: bool = False, zone: dt.tzinfo | None = None) -> Page:
    """Render usage of today and this month, what is left of the limits, and the history by day. `columns` 0: the page's
    width."""
    columns = columns or columns_now()
    return [
        *_period_rows("Today", report.today, columns),
        _EMPTY,
        *_period_rows("This month", report.month, columns),
        _EMPTY,
        *_limit_rows(report.limits, zone, has_bars=columns >= _MIDDLE_COLUMNS and not is_plain),
        _EMPTY,
        *(_day_list(report.days) if is_plain else _day_rows(report.days, columns)),
        _EMPTY,
        *paragraph(f"Prices: table {one_line(report.price_version)}.", style="dim", width=columns),
    ]


def sparkline(amounts: Sequence[float]) -> str:
    """Return one block per number, scaled to the largest. Zero is a dot; any other number at least the lowest block."""
    most = max(amounts, default=0.0)
    return "".join(
        "·" if amount <= 0 else _BLOCKS[min(len(_BLOCKS) - 1, int(amount / most * len(_BLOCKS)))] for amount in amounts
    )


def _period_rows(title: str, used: Sequence[UsedModel], columns: int) -> Page:
    tokens = sum(_used_tokens(usage) for usage in used if usage.role != "embedding")
    total = f"{short_count(tokens)} tokens, {dollars(sum(usage.dollars for usage in used))}"
    page: Page = [line(Part(title, "strong"), Part(f"  {total}" if used else "  nothing yet", "dim"))]
    if used:
        page += _usage_table("by role", used, lambda usage: _ROLE_NAMES.get(usage.role, usage.role), columns)
        page += _usage_table("by model", used, lambda usage: usage.model, columns)
        page += _worst_case_rows(used, columns)
    return page


def _usage_table(title: str, used: Sequence[UsedModel], key: Callable[[UsedModel], str], columns: int) -> Page:
    groups: dict[str, list[UsedModel]] = {}
    for usage in used:
        groups.setdefault(one_line(key(usage)), []).append(usage)
    used_columns = _COUNTS_COLUMNS + (_TOKENS_COLUMNS if columns >= _MIDDLE_COLUMNS else 0)
    used_columns += _SPLIT_COLUMNS if columns >= _WIDE_COLUMNS else 0
    widest = min(max(len(name) for name in groups), max(8, columns - used_columns))
    page: Page = [line(Part(f"  {title}", "dim"))]
    for name, some in groups.items():
        label = name if len(name) <= widest else name[: widest - 1] + "…"
        row = line(f"    {label:<{widest}}", f"{short_count(sum(usage.calls for usage in some)):>7} calls")
        if columns >= _MIDDLE_COLUMNS:
            row = (*row, Part(f"{short_count(sum(_used_tokens(usage) for usage in some)):>8} tokens", "dim"))
        row = (*row, Part(f"{dollars(sum(usage.dollars for usage in some)):>9}"))
        page.append((*row, Part(_token_split_text(some), "dim")) if columns >= _WIDE_COLUMNS else row)
    return page


def _token_split_text(some: Sequence[UsedModel]) -> str:
    read = sum(usage.prompt_tokens for usage in some)
    written = sum(usage.completion_tokens for usage in some)
    return f"  {short_count(read)} in, {short_count(written)} out"


def _worst_case_rows(used: Sequence[UsedModel], columns: int) -> Page:
    """Render the calls counted at their worst case because their usage is unknown."""
    page: Page = []
    calls = sum(usage.worst_case_calls for usage in used)
    total, unknown = sum(usage.dollars for usage in used), sum(usage.worst_case_dollars for usage in used)
    if calls:
        share = f", {unknown / total:.0%} of the money" if total > 0 else ""
        note = f"  unknown: {plural(calls, 'call')} at the worst case, {dollars(unknown)}{share}"
        page += paragraph(note.strip(), style="warn", width=columns)
    running = sum(usage.running_calls for usage in used)
    hidden = sum(usage.reasoning_tokens for usage in used)
    if hidden:
        note = f"{short_count(hidden)} of the tokens were hidden reasoning"
        page += paragraph(note, style="dim", width=columns)
    if running:
        note = f"{plural(running, 'call')} running, counted at the worst case until they finish"
        page += paragraph(note, style="dim", width=columns)
    return page


def _limit_rows(limits: Sequence[UsageLimit], zone: dt.tzinfo | None, *, has_bars: bool) -> Page:
    """Render what is left of the limits; limits of money only if money was spent."""
    spends = any(limit.is_money and limit.used > 0 for limit in limits)
    page: Page = []
    for span, title in (("day", "Left today"), ("month", "Left this month")):
        shown = [limit for limit in limits if limit.span == span and (spends or not limit.is_money)]
        if not shown:
            continue
        page.append(line(Part(title, "strong"), Part(f"  renews {moment(shown[0].renews_at, zone)}", "dim")))
        page += [_limit_line(limit, has_bar=has_bars) for limit in shown]
    return page


def _limit_line(limit: UsageLimit, *, has_bar: bool) -> Line:
    share = limit.used / limit.limit if limit.limit > 0 else 1.0
    left = max(0.0, limit.limit - limit.used)
    style: Style = "bad" if share >= 1 else "warn" if share >= _NEAR else ""
    amount = dollars(left) if limit.is_money else short_count(int(left))
    whole = dollars(limit.limit) if limit.is_money else f"{short_count(int(limit.limit))} tokens"
    drawn = (Part(f"{bar(1 - share)}  ", style or "accent"),) if has_bar else ()
    name = one_line(limit.role) or "all roles"
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


def _used_tokens(usage: UsedModel) -> int:
    return usage.prompt_tokens + usage.completion_tokens + usage.unsettled_tokens
