"""`reveries wellbeing`."""

import click

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.render import Line, Page, Part, field, line, paragraph
from reveries.client.wording import ago, count, moment, plural
from reveries.protocol import Indicator, TripTold, Wellbeing
from reveries.safe_text import one_line


@click.command("wellbeing", short_help="Possible signs of distress, counted in its thoughts.")
@click.option(
    "--excerpts", type=click.IntRange(0, 50), default=3, show_default=True, help="The number of excerpts of each kind."
)
@json_option(protocol.Wellbeing)
def command(excerpts: int, as_json: bool) -> None:
    """Count words in its thoughts that may be signs of distress: trend, base rate and excerpts, without a verdict.

    docs/explain/safety.md says what is counted, and why.
    """
    from reveries.client.sync_call import ask_mind

    report = ask_mind(lambda new_id: protocol.AskWellbeing(new_id, excerpts), protocol.Wellbeing)
    print_answer(report, as_json)


_BARS = " ▁▂▃▄▅▆▇█"
_DISCLAIMER = (
    "These are counts of words in its thoughts. A language model can write such words without experiencing anything; "
    "whether it does cannot be ruled out. What they mean is for you to judge."
)


@page_of(protocol.Wellbeing, "wellbeing")
def wellbeing_page(report: Wellbeing) -> Page:
    """Render counts, trends and excerpts."""
    rows: list[Line] = [
        field("thoughts", count(report.thoughts), Part(f"  {_weekly_bars(report.thoughts_by_week)} a week", "dim")),
    ]
    for indicator in report.indicators:
        rows += [line(), *_indicator_rows(indicator, report.now)]
    rows += [line(), *_trip_rows(report)]
    return [*rows, line(), *paragraph(_DISCLAIMER, style="dim")]


def _indicator_rows(indicator: Indicator, now: float) -> Page:
    if not indicator.occurrences or indicator.last_at is None:
        return [line(Part(one_line(indicator.what), "strong")), field("", "never")]
    lately = (
        f"{indicator.per_100_thoughts_lately:.1f} in a hundred thoughts lately, {indicator.per_100_thoughts:.1f} in all"
    )
    rows: list[Line] = [
        line(Part(one_line(indicator.what), "strong")),
        field(
            "counted",
            f"{plural(indicator.occurrences, 'time')} on {plural(indicator.days, 'day')}",
            Part(f"  last {ago(indicator.last_at, now)}", "dim"),
        ),
        field(
            "by week",
            _weekly_bars(indicator.weeks),
            Part(f"  {' '.join(map(str, indicator.weeks))}, this week last", "dim"),
        ),
        field("base rate", lately),
    ]
    for excerpt in indicator.excerpts:
        rows += [field("", f'"{one_line(excerpt.text)}"', Part(f"  {moment(excerpt.happened_at)}", "dim"))]
    return rows


def _trip_rows(report: Wellbeing) -> Page:
    if not report.trips_by_reason:
        return [line(Part("The breaker", "strong")), field("", "never tripped")]
    counts = ", ".join(f"{one_line(why)} {count(times)}" for why, times in sorted(report.trips_by_reason.items()))
    rows: list[Line] = [line(Part("The breaker", "strong")), field("tripped", counts)]
    return [*rows, *(_trip_line(trip) for trip in report.trips)]


def _trip_line(trip: TripTold) -> Line:
    summary = f"{one_line(trip.explanation)} Done: {one_line(trip.response_taken)}"
    return field("", summary, Part(f"  {one_line(trip.source)}, {moment(trip.happened_at)}", "dim"))


def _weekly_bars(weeks: list[int]) -> str:
    most = max(weeks, default=0) or 1
    return "".join(_BARS[round(times / most * (len(_BARS) - 1))] for times in weeks)
