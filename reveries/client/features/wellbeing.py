"""`reveries wellbeing`."""

import click

from reveries.client.render import Line, Page, Part, field, line, paragraph
from reveries.client.wording import ago, count, moment, plural
from reveries.protocol import Indicator, TripTold, Wellbeing
from reveries.safe_text import one_line


@click.command("wellbeing", short_help="What was counted about its welfare.")
@click.option("--excerpts", type=click.IntRange(0, 50), default=3, show_default=True, help="So many of each kind.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(excerpts: int, as_json: bool) -> None:
    """What in its thoughts bears on its welfare: counts, trend, base rate and excerpts, and no verdict.

    docs/explain/safety.md says what is watched and why.
    """
    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask

    report = ask(lambda new_id: protocol.AskWellbeing(new_id, excerpts), protocol.Wellbeing)
    if as_json:
        show_json(report)
    else:
        show(wellbeing_page(report))


_BARS = " ▁▂▃▄▅▆▇█"
_WHAT_IT_IS = (
    "These are counts of words in its thoughts. A language model can write them with nothing behind them, and nobody "
    "can rule out the contrary. What they mean is for you to judge."
)


def wellbeing_page(report: Wellbeing) -> Page:
    """What was counted, how it changed, and where it can be read."""
    rows: list[Line] = [
        field("thoughts", count(report.thoughts), Part(f"  {_drawn(report.thoughts_by_week)} a week", "dim")),
    ]
    for one in report.indicators:
        rows += [line(), *_indicator(one, report.now)]
    rows += [line(), *_trips(report)]
    return [*rows, line(), *paragraph(_WHAT_IT_IS, style="dim")]


def _indicator(one: Indicator, now: float) -> Page:
    if not one.occurrences or one.last_at is None:
        return [line(Part(one_line(one.what), "strong")), field("", "never")]
    lately = f"{one.per_100_thoughts_lately:.1f} in a hundred thoughts lately, {one.per_100_thoughts:.1f} in all"
    rows: list[Line] = [
        line(Part(one_line(one.what), "strong")),
        field(
            "counted",
            f"{plural(one.occurrences, 'time')} on {plural(one.days, 'day')}",
            Part(f"  last {ago(one.last_at, now)}", "dim"),
        ),
        field("by week", _drawn(one.weeks), Part(f"  {' '.join(map(str, one.weeks))}, this week last", "dim")),
        field("base rate", lately),
    ]
    for excerpt in one.excerpts:
        rows += [field("", f'"{one_line(excerpt.text)}"', Part(f"  {moment(excerpt.happened_at)}", "dim"))]
    return rows


def _trips(report: Wellbeing) -> Page:
    if not report.trips_by_reason:
        return [line(Part("The breaker", "strong")), field("", "never tripped")]
    counts = ", ".join(f"{one_line(why)} {count(times)}" for why, times in sorted(report.trips_by_reason.items()))
    rows: list[Line] = [line(Part("The breaker", "strong")), field("tripped", counts)]
    return [*rows, *(_trip_line(trip) for trip in report.trips)]


def _trip_line(trip: TripTold) -> Line:
    told = f"{one_line(trip.explanation)} Done: {one_line(trip.response_taken)}"
    return field("", told, Part(f"  {one_line(trip.source)}, {moment(trip.happened_at)}", "dim"))


def _drawn(weeks: list[int]) -> str:
    most = max(weeks, default=0) or 1
    return "".join(_BARS[round(times / most * (len(_BARS) - 1))] for times in weeks)
