"""`reveries memory`: read it (search, inspect, why, timeline, graph: none changes a memory, R-29), and edit it
(memory_edits.py)."""

import time

import click
import msgspec

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.features.memory_edits import (
    check_episode_id,
    correct_episode_command,
    pin_episode_command,
    set_salience_command,
    unpin_episode_command,
)
from reveries.client.features.memory_views import timeline_page, why_page
from reveries.client.features.sleep_log import contradictions_command
from reveries.client.features.status import memory_page
from reveries.client.file_option import PathToCreate
from reveries.client.reasons import reason_text
from reveries.client.render import Page, Part, bar, field, line, paragraph
from reveries.client.wording import SHORT_ID_CHARS, ago, clock_time, count, moment, plural, span
from reveries.protocol import EpisodeDetail, Found, FoundEpisode, FoundTurn
from reveries.safe_text import one_line


@click.group("memory", short_help="Search, inspect and correct what it remembers.", invoke_without_command=True)
@json_option(protocol.MemoryStats)
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Show how much it remembers. With a command: what it remembers (search, inspect, timeline, graph), why something
    was recalled (why), and edits of yours (pin, salience, correct)."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries.client.sync_call import ask_mind

    stats = ask_mind(protocol.AskMemory, protocol.MemoryStats)
    print_answer(stats, as_json, lambda: memory_page(stats, time.time()))


@command.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="The most to show of each kind."
)
@click.option("--since", default="", help='Only since then: 2025-03-04, "last spring", "2 weeks ago", 3h.')
@click.option("--until", default="", help="Only until then, including that day or season.")
@click.option("--explain", is_flag=True, help="Show why each was found.")
@click.option("--deep", is_flag=True, help="Also search the disk: dormant episodes and archived turns.")
@json_option(protocol.Found, help="Print one JSON object: episodes, and ranked turns.")
def search_memory_command(
    query: tuple[str, ...], limit: int, since: str, until: str, explain: bool, deep: bool, as_json: bool
) -> None:
    """Search the memory for QUERY: episodes with a quote and its source, and the best matching turns. Searching
    reinforces nothing."""
    import msgspec

    from reveries.client.sync_call import ask_mind
    from reveries.errors import UsageError

    words = " ".join(query).strip()
    if not words:
        raise UsageError("Say what to search for.", advice='For example: reveries memory search "the garden"')
    results = ask_mind(
        lambda new_id: protocol.Search(
            new_id,
            words,
            limit,
            deep=deep or msgspec.UNSET,
            since=since[:100] or msgspec.UNSET,
            until=until[:100] or msgspec.UNSET,
            explain=explain or msgspec.UNSET,
        ),
        protocol.Found,
    )
    print_answer(results, as_json, lambda: search_results_page(results, time.time(), limit))


@command.command("inspect")
@click.argument("episode_id", metavar="ID")
@json_option(protocol.EpisodeDetail)
def inspect_episode_command(episode_id: str, as_json: bool) -> None:
    """Show everything about one episode: quotes, links, and what was said. The beginning of its ID is enough."""
    from reveries.client.sync_call import ask_mind

    check_episode_id(episode_id)
    episode = ask_mind(lambda new_id: protocol.Inspect(new_id, episode_id), protocol.EpisodeDetail)
    print_answer(episode, as_json)


@command.command("why")
@click.argument("episode_id", metavar="ID")
@click.option("--for", "cue", default="", help="The text to recall for. Default: the last turn.")
@json_option(protocol.Why)
def explain_recall_command(episode_id: str, cue: str, as_json: bool) -> None:
    """Explain why an episode was recalled for a text, or why not: how it was found, the links that led to it, the
    factors of its energy, its rank, its turns and their reasons."""
    from reveries.client.sync_call import ask_mind

    check_episode_id(episode_id)
    explanation = ask_mind(lambda new_id: protocol.AskWhy(new_id, episode_id, cue[:10_000]), protocol.Why)
    print_answer(explanation, as_json, lambda: why_page(explanation, time.time()))


@command.command("timeline")
@click.option("--since", default="", help='Only since then: 2025-03-04, "last spring", "2 weeks ago", 3h.')
@click.option("--until", default="", help="Only until then, including that day or season.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=40,
    show_default=True,
    help="The most episodes to show, latest first.",
)
@json_option(protocol.Timeline)
def show_timeline_command(since: str, until: str, limit: int, as_json: bool) -> None:
    """Show what happened, by day, with the silences between conversations. Newest last."""
    from reveries.client.sync_call import ask_mind

    entries = ask_mind(lambda new_id: protocol.AskTimeline(new_id, since[:100], until[:100], limit), protocol.Timeline)
    print_answer(entries, as_json, lambda: timeline_page(entries, time.time()))


@command.command("graph")
@click.option("--around", default="", metavar="ID", help="Draw what is linked to this episode.")
@click.option("--for", "cue", default="", help="Draw what is recalled for this text, and what is linked to it.")
@click.option("--svg", type=PathToCreate(dir_okay=False), default=None, help="Write an SVG file (opens in a browser).")
@click.option("--limit", type=click.IntRange(2, 120), default=24, show_default=True, help="The most episodes to draw.")
@click.option("--light", is_flag=True, help="Use a light background.")
@json_option(protocol.Neighbourhood, help="Print one JSON object: nodes and ties.")
def draw_memory_command(around: str, cue: str, svg: str | None, limit: int, light: bool, as_json: bool) -> None:
    """Draw a part of the memory: episodes and the links between them. Larger episodes matter more, brighter ones are
    newer. Without --around and --for: around the most salient episodes."""
    from pathlib import Path

    from reveries.client.picture import write_svg
    from reveries.client.render import say, show_json
    from reveries.client.sync_call import ask_mind
    from reveries.errors import UsageError

    if not (svg or as_json):
        raise UsageError("Say where to save the picture.", advice="For example: reveries memory graph --svg memory.svg")
    shown = ask_mind(
        lambda new_id: protocol.AskNeighbourhood(new_id, around[:100], cue[:10_000], limit), protocol.Neighbourhood
    )
    if svg:
        write_svg(shown, Path(svg), "day" if light else "dusk")
    if as_json:
        show_json(shown)
    elif svg:
        say(f"Wrote {svg}: {len(shown.nodes)} episodes and their links.")


command.add_command(contradictions_command)
for _edit_command in (pin_episode_command, unpin_episode_command, set_salience_command, correct_episode_command):
    command.add_command(_edit_command)


_EMPTY = line()


@page_of(protocol.Found, "search")
def search_results_page(results: Found, now: float, most: int = 25) -> Page:
    """Render search results: episodes with energy and quote, then at most `most` turns, best first."""
    turns = results.turns[:most]
    if not results.episodes and not results.turns and not results.on_disk:
        return [line("Nothing was found.")]
    page: Page = []
    for episode in results.episodes:
        page += [*_found_episode_rows(episode, now), _EMPTY]
    if results.turns:
        page += [line(Part("  said", "strong"), Part(", best first", "dim")), _EMPTY]
        for turn in turns:
            page += _found_turn_rows(turn, now)
        page.append(_EMPTY)
    if results.on_disk:
        page += _on_disk_rows(results, now)
    counts = (
        f"  {plural(len(results.episodes), 'episode')}, {plural(len(turns), 'turn')}, {results.seconds * 1000:.0f} ms"
    )
    return [*page, line(Part(f"{counts}. Details: reveries memory inspect ID", "dim"))]


@page_of(protocol.EpisodeDetail, "episode")
def episode_page(episode: EpisodeDetail, now: float) -> Page:
    """Render everything about an episode (R-23): summary, quotes, links, sources."""
    return [
        line(Part(f"  {one_line(episode.episode_id)}", "accent"), Part(f"  {ago(episode.happened_at, now)}", "dim")),
        _EMPTY,
        *paragraph(episode.summary, style="strong"),
        _EMPTY,
        *_fact_rows(episode, now),
        *_exemplar_rows(episode),
        *_link_rows(episode),
        *_provenance_rows(episode),
        *_source_rows(episode),
    ]


def _found_episode_rows(episode: FoundEpisode, now: float) -> Page:
    hops = f"  over {plural(len(episode.path) - 1, 'link')}" if len(episode.path) > 1 else ""
    page = [
        line(
            Part(f"  {bar(min(1.0, episode.energy), 6)}", "accent"),
            Part(f"  {episode.energy:.2f}  ", "dim"),
            Part(one_line(episode.episode_id)[:SHORT_ID_CHARS], "accent"),
            Part(f"  {ago(episode.happened_at, now)}, {one_line(episode.depth)}{hops}", "dim"),
        ),
        *paragraph(one_line(episode.summary, 400), indent=4),
    ]
    if episode.quote:
        page += paragraph(f"“{one_line(episode.quote, 300)}” {one_line(episode.quote_speaker)}", indent=4, style="dim")
    return [*page, *_energy_factor_rows(episode)]


def _energy_factor_rows(episode: FoundEpisode) -> Page:
    """Render how it was found and the factors of its energy, if that was asked for."""
    factors = episode.factors
    if isinstance(factors, msgspec.UnsetType):
        return []
    found_by = (
        f"cosine {episode.cosine:.2f}, {episode.words:.0%} of the words" if episode.cosine else "found over links only"
    )
    factors_text = (
        f"{found_by}; salience {episode.salience:.2f}, recency x {factors.recency:.2f}, "
        f"mood x {factors.resonance:.2f}, time x {factors.temporal:.2f}, accessibility x {factors.accessibility:.2f}"
    )
    return paragraph(factors_text, indent=4, style="dim")


def _found_turn_rows(turn: FoundTurn, now: float) -> Page:
    head = line(
        Part(f"  {turn.score:.2f}  ", "dim"),
        Part(one_line(turn.speaker, 40), "strong"),
        Part(f"  {ago(turn.said_at, now)}, in {one_line(turn.episode_id)[:SHORT_ID_CHARS]}", "dim"),
    )
    reasons = [] if isinstance(turn.reasons, msgspec.UnsetType) else turn.reasons
    reasons_text = ", ".join(f"{'+' if reason.amount > 0 else '−'} {reason_text(reason)}" for reason in reasons)
    return [
        head,
        *paragraph(one_line(turn.text, 300), indent=8),
        *(paragraph(reasons_text, indent=8, style="dim") if reasons_text else []),
    ]


def _on_disk_rows(results: Found, now: float) -> Page:
    page: Page = [line(Part("  only on disk", "strong"), Part(", best first", "dim")), _EMPTY]
    for text in results.on_disk:
        what = "summary" if text.kind == "episode" else one_line(text.speaker, 40) or "a thought"
        state = "dormant" if text.is_dormant else "archived"
        place = f"  {ago(text.said_at, now)}, in {one_line(text.episode_id)[:SHORT_ID_CHARS]}, "
        page.append(
            line(Part(f"  {text.score:.2f}  ", "dim"), Part(what, "strong"), Part(place, "dim"), Part(state, "warn"))
        )
        page += paragraph(one_line(text.text, 300), indent=8)
    if not results.is_whole:
        page.append(line(Part("  The search ran out of time, so the results are incomplete.", "warn")))
    return [*page, _EMPTY]


def _fact_rows(episode: EpisodeDetail, now: float) -> Page:
    lasted = span(episode.ended_at - episode.happened_at)
    page = [
        field("when", moment(episode.happened_at), Part(f"  lasted {lasted}", "dim")),
        field("salience", f"{episode.salience:.2f}", Part(f"  confidence {episode.confidence:.2f}", "dim")),
        *([field("pinned", "it does not fade")] if episode.is_pinned is True else []),
        field("accessibility", f"{episode.accessibility:.2f}", Part(_last_recall_text(episode, now), "dim")),
        field("mood", f"{episode.valence:+.2f}"),
        field("origin", one_line(episode.origin), Part("  from outside, untrusted" if episode.tainted else "", "warn")),
        field("depth", one_line(episode.depth)),
        *(
            [field("where", "dormant: only on disk", Part("  a strong match restores it", "dim"))]
            if episode.is_dormant
            else []
        ),
    ]
    if episode.topics:
        page.append(field("topics", ", ".join(one_line(topic) for topic in episode.topics)))
    if episode.entities:
        page.append(field("names", ", ".join(one_line(name) for name in episode.entities)))
    for label, ids in (("before it", episode.before), ("after it", episode.after)):
        if ids:
            page.append(
                field(label, Part(", ".join(one_line(related_id)[:SHORT_ID_CHARS] for related_id in ids), "accent"))
            )
    if episode.gap_seconds is not None:
        page.append(
            field("silence before", span(episode.gap_seconds), Part(f"  {one_line(episode.gap_significance)}", "dim"))
        )
    return page


def _last_recall_text(episode: EpisodeDetail, now: float) -> str:
    times = f"  recalled {plural(episode.access_count, 'time')}"
    return f"{times}, last {ago(episode.last_accessed_at, now)}" if episode.access_count else times


def _exemplar_rows(episode: EpisodeDetail) -> Page:
    if not episode.exemplars:
        return []
    page: Page = [_EMPTY, line(Part("  word for word", "strong"))]
    for exemplar in episode.exemplars:
        page += paragraph(f"“{exemplar.quote}”", indent=4)
        source = f"{one_line(exemplar.speaker)}, {moment(exemplar.said_at)}"
        page.append(
            line(Part(f"    {source}{'  turn ' + one_line(exemplar.turn_id) if exemplar.turn_id else ''}", "dim"))
        )
        if exemplar.significance:
            page += paragraph(exemplar.significance, indent=4, style="dim")
    return page


def _link_rows(episode: EpisodeDetail) -> Page:
    if not episode.links:
        return []
    page: Page = [_EMPTY, line(Part("  linked to", "strong"))]
    for link in sorted(episode.links, key=lambda link: -link.strength):
        page.append(
            line(
                Part(f"    {bar(link.strength, 4)} ", "accent"),
                Part(f"{one_line(link.type):<9} ", "dim"),
                Part(one_line(link.episode_id)[:SHORT_ID_CHARS], "accent"),
                f"  {one_line(link.summary, 70)}",
            )
        )
    return page


def _provenance_rows(episode: EpisodeDetail) -> Page:
    """Render its origin and how untrusted text influenced it; empty for an untainted episode."""
    if not episode.tainted:
        return []
    page: Page = [_EMPTY, line(Part("  origin", "strong"))]
    for source in episode.provenance:
        trust = Part("  influenced by untrusted text" if source.tainted else "", "warn")
        description = f"    {moment(source.happened_at)}  {one_line(source.kind)}, origin {one_line(source.origin)}"
        page.append(line(Part(description, "dim"), trust))
        for way in source.by:
            page += paragraph(one_line(way), indent=6)
    return page


def _source_rows(episode: EpisodeDetail) -> Page:
    if not episode.sources:
        return []
    page: Page = [_EMPTY, line(Part("  what was said", "strong"), Part(f"  {count(len(episode.sources))}", "dim"))]
    for turn in episode.sources:
        cut = "  (cut off)" if turn.is_partial else ""
        page.append(line(Part(f"    {clock_time(turn.said_at)}  {one_line(turn.speaker)}{cut}", "dim")))
        page += paragraph(turn.text, indent=6)
    return page
