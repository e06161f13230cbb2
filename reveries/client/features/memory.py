"""`reveries memory`: what looks into it (search, inspect, why, timeline, graph: none changes a memory, R-29), and the
owner's hand on it (memory_edits.py)."""

import time

import click
import msgspec

from reveries.client.features.memory_edits import correct, known_id, pin, salience, unpin
from reveries.client.features.sleep_log import contradictions_command
from reveries.client.reasons import reason_words
from reveries.client.render import Page, Part, bar, field, line, paragraph
from reveries.client.wording import SHORT_ID_CHARS, ago, clock_time, count, moment, plural, span
from reveries.protocol import Consolidated, EpisodeDetail, Found, FoundEpisode, FoundTurn
from reveries.safe_text import one_line


@click.group("memory", short_help="What it remembers: search, why, correct.", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """What it remembers: how much, and (search, inspect, timeline, graph) what, and why it came to mind. And your hand
    on it: pin, salience, correct."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries import protocol
    from reveries.client.features.status import memory_page
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask

    stats = ask(protocol.AskMemory, protocol.MemoryStats)
    if as_json:
        show_json(stats)
    else:
        show(memory_page(stats, time.time()))


@command.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="At most so many of each.")
@click.option("--since", default="", help='From then on: 2025-03-04, "last spring", "2 weeks ago", 3h.')
@click.option("--until", default="", help="Until then, that day or season included.")
@click.option("--explain", is_flag=True, help="With what speaks for each of them.")
@click.option("--deep", is_flag=True, help="Also what is only on disk: dormant episodes, words that were put away.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: episodes, and the turns ranked.")
def search(
    query: tuple[str, ...], limit: int, since: str, until: str, explain: bool, deep: bool, as_json: bool
) -> None:
    """What comes to mind for QUERY: episodes with a quote and its source, and the turns that answer best. Nothing is
    reinforced by looking."""
    import msgspec

    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask
    from reveries.errors import UsageError

    words = " ".join(query).strip()
    if not words:
        raise UsageError("There is nothing to search for.", advice='For example: reveries memory search "the garden"')
    found = ask(
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
    if as_json:
        show_json(found)
    else:
        show(found_page(found, time.time(), limit))


@command.command("inspect")
@click.argument("episode_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def inspect(episode_id: str, as_json: bool) -> None:
    """Everything about one episode: its quotes, its links, and what was said. The beginning of its ID is enough."""
    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask

    known_id(episode_id)
    episode = ask(lambda new_id: protocol.Inspect(new_id, episode_id), protocol.EpisodeDetail)
    if as_json:
        show_json(episode)
    else:
        show(episode_page(episode, time.time()))


@command.command("why")
@click.argument("episode_id", metavar="ID")
@click.option("--for", "cue", default="", help="The cue. Without it: that of the last turn.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def why(episode_id: str, cue: str, as_json: bool) -> None:
    """Why an episode came to mind for a cue, or what kept it back: how it was found, the links that led to it, what its
    energy was multiplied with, its place, its words and what speaks for them."""
    from reveries import protocol
    from reveries.client.features.memory_views import why_page
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask

    known_id(episode_id)
    told = ask(lambda new_id: protocol.AskWhy(new_id, episode_id, cue[:10_000]), protocol.Why)
    if as_json:
        show_json(told)
    else:
        show(why_page(told, time.time()))


@command.command("timeline")
@click.option("--since", default="", help='From then on: 2025-03-04, "last spring", "2 weeks ago", 3h.')
@click.option("--until", default="", help="Until then, that day or season included.")
@click.option("--limit", type=click.IntRange(1, 1000), default=40, show_default=True, help="The last so many episodes.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def timeline(since: str, until: str, limit: int, as_json: bool) -> None:
    """What happened, by day, with the silences between conversations. Newest last."""
    from reveries import protocol
    from reveries.client.features.memory_views import timeline_page
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask

    told = ask(lambda new_id: protocol.AskTimeline(new_id, since[:100], until[:100], limit), protocol.Timeline)
    if as_json:
        show_json(told)
    else:
        show(timeline_page(told, time.time()))


@command.command("graph")
@click.option("--around", default="", metavar="ID", help="What lies around this episode.")
@click.option("--for", "cue", default="", help="What this cue brings to mind, and what lies around that.")
@click.option("--svg", type=click.Path(dir_okay=False), default=None, help="Write a picture for the browser.")
@click.option("--png", type=click.Path(dir_okay=False), default=None, help="Write a picture for anywhere.")
@click.option("--limit", type=click.IntRange(2, 120), default=24, show_default=True, help="At most so many episodes.")
@click.option("--light", is_flag=True, help="On a light ground.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: nodes and ties.")
def graph(around: str, cue: str, svg: str | None, png: str | None, limit: int, light: bool, as_json: bool) -> None:
    """A picture of a part of the memory: episodes as large as they matter and as bright as they are new, and the links
    between them. Without --around and --for: around what matters most."""
    from pathlib import Path

    from reveries import protocol
    from reveries.client.picture import write_png, write_svg
    from reveries.client.render import say, show_json
    from reveries.client.sync_call import ask
    from reveries.errors import UsageError

    if not (svg or png or as_json):
        raise UsageError("Where should the picture go?", advice="For example: reveries memory graph --svg memory.svg")
    shown = ask(
        lambda new_id: protocol.AskNeighbourhood(new_id, around[:100], cue[:10_000], limit), protocol.Neighbourhood
    )
    if svg:
        write_svg(shown, Path(svg), "day" if light else "dusk")
    if png:
        write_png(shown, Path(png), "day" if light else "dusk")
    if as_json:
        show_json(shown)
    else:
        for name in filter(None, (svg, png)):
            say(f"{len(shown.nodes)} episodes and their links: {name}")


command.add_command(contradictions_command)
for _by_hand in (pin, unpin, salience, correct):
    command.add_command(_by_hand)


_EMPTY = line()


def found_page(found: Found, now: float, most: int = 25) -> Page:
    """What a search found: the episodes with their energy and quote, then the `most` turns that answer best."""
    turns = found.turns[:most]
    if not found.episodes and not found.turns and not found.on_disk:
        return [line("Nothing comes to mind.")]
    page: Page = []
    for episode in found.episodes:
        page += [*_found_episode(episode, now), _EMPTY]
    if found.turns:
        page += [line(Part("  said", "strong"), Part(", best first", "dim")), _EMPTY]
        for turn in turns:
            page += _found_turn(turn, now)
        page.append(_EMPTY)
    if found.on_disk:
        page += _disk_rows(found, now)
    told = f"  {plural(len(found.episodes), 'episode')}, {plural(len(turns), 'turn')}, {found.seconds * 1000:.0f} ms"
    return [*page, line(Part(f"{told}. More of one: reveries memory inspect ID", "dim"))]


def episode_page(episode: EpisodeDetail, now: float) -> Page:
    """Everything about an episode (R-23): what it is, its quotes, what it hangs together with, what was said."""
    return [
        line(Part(f"  {one_line(episode.episode_id)}", "accent"), Part(f"  {ago(episode.happened_at, now)}", "dim")),
        _EMPTY,
        *paragraph(episode.summary, style="strong"),
        _EMPTY,
        *_facts(episode, now),
        *_exemplar_rows(episode),
        *_link_rows(episode),
        *_provenance_rows(episode),
        *_source_rows(episode),
    ]


def consolidated_page(done: Consolidated) -> Page:
    """What a pass did, in one sentence and what is left."""
    if not done.processed and not done.left and not done.was_interrupted and not done.question:
        return [line("There was nothing to sleep on.")]
    made = f"{plural(done.created, 'new episode')}, {done.merged} merged"
    doubt = f", {plural(done.fallbacks, 'fallback')} without the model" if done.fallbacks else ""
    head = "Interrupted after" if done.was_interrupted else "Slept on"
    rest = f"{plural(done.left, 'experience')} left." if done.left else "Nothing is left."
    page = [
        line(f"{head} {plural(done.processed, 'experience')} in {span(done.seconds)}: {made}{doubt}."),
        line(Part(rest, "dim")),
    ]
    if done.question:
        run = one_line(done.run_id)
        page += paragraph(done.question, indent=0, style="warn")
        page += [line(f"  reveries consolidate confirm {run}"), line(f"  reveries consolidate drop {run}")]
    return page


def _found_episode(episode: FoundEpisode, now: float) -> Page:
    hops = f"  by way of {plural(len(episode.path) - 1, 'link')}" if len(episode.path) > 1 else ""
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
    return [*page, *_why_found(episode)]


def _why_found(episode: FoundEpisode) -> Page:
    """One line, when it was asked for: how it was entered, and what its energy was multiplied with."""
    factors = episode.factors
    if isinstance(factors, msgspec.UnsetType):
        return []
    way = (
        f"cosine {episode.cosine:.2f}, {episode.words:.0%} of the words"
        if episode.cosine
        else "reached over links only"
    )
    told = (
        f"{way}; salience {episode.salience:.2f}, recency x {factors.recency:.2f}, feeling x {factors.resonance:.2f}, "
        f"time x {factors.temporal:.2f}, reach x {factors.accessibility:.2f}"
    )
    return paragraph(told, indent=4, style="dim")


def _found_turn(turn: FoundTurn, now: float) -> Page:
    head = line(
        Part(f"  {turn.score:.2f}  ", "dim"),
        Part(one_line(turn.speaker, 40), "strong"),
        Part(f"  {ago(turn.said_at, now)}, in {one_line(turn.episode_id)[:SHORT_ID_CHARS]}", "dim"),
    )
    reasons = [] if isinstance(turn.reasons, msgspec.UnsetType) else turn.reasons
    told = ", ".join(f"{'+' if one.amount > 0 else '−'} {reason_words(one)}" for one in reasons)
    return [
        head,
        *paragraph(one_line(turn.text, 300), indent=8),
        *(paragraph(told, indent=8, style="dim") if told else []),
    ]


def _disk_rows(found: Found, now: float) -> Page:
    page: Page = [line(Part("  only on disk", "strong"), Part(", best first", "dim")), _EMPTY]
    for text in found.on_disk:
        what = "summary" if text.kind == "episode" else one_line(text.speaker, 40) or "a thought"
        state = "dormant" if text.is_dormant else "put away"
        place = f"  {ago(text.said_at, now)}, in {one_line(text.episode_id)[:SHORT_ID_CHARS]}, "
        page.append(
            line(Part(f"  {text.score:.2f}  ", "dim"), Part(what, "strong"), Part(place, "dim"), Part(state, "warn"))
        )
        page += paragraph(one_line(text.text, 300), indent=8)
    if not found.is_whole:
        page.append(line(Part("  The search ran out of time: not everything was compared.", "warn")))
    return [*page, _EMPTY]


def _facts(episode: EpisodeDetail, now: float) -> Page:
    lasted = span(episode.ended_at - episode.happened_at)
    page = [
        field("when", moment(episode.happened_at), Part(f"  lasted {lasted}", "dim")),
        field("salience", f"{episode.salience:.2f}", Part(f"  confidence {episode.confidence:.2f}", "dim")),
        *([field("pinned", "time leaves it alone")] if episode.is_pinned is True else []),
        field("within reach", f"{episode.accessibility:.2f}", Part(_last_recall_text(episode, now), "dim")),
        field("feeling", f"{episode.valence:+.2f}"),
        field(
            "origin", one_line(episode.origin), Part("  from outside: not trusted" if episode.tainted else "", "warn")
        ),
        field("depth", one_line(episode.depth)),
        *(
            [field("where", "dormant: only on disk", Part("  a strong cue wakes it", "dim"))]
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
            page.append(field(label, Part(", ".join(one_line(one)[:SHORT_ID_CHARS] for one in ids), "accent")))
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
        said = f"{one_line(exemplar.speaker)}, {moment(exemplar.said_at)}"
        page.append(
            line(Part(f"    {said}{'  turn ' + one_line(exemplar.turn_id) if exemplar.turn_id else ''}", "dim"))
        )
        if exemplar.significance:
            page += paragraph(exemplar.significance, indent=4, style="dim")
    return page


def _link_rows(episode: EpisodeDetail) -> Page:
    if not episode.links:
        return []
    page: Page = [_EMPTY, line(Part("  hangs together with", "strong"))]
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
    """From where it came and by which way others had a hand in it; nothing where nobody had."""
    if not episode.tainted:
        return []
    page: Page = [_EMPTY, line(Part("  where it came from", "strong"))]
    for source in episode.provenance:
        trust = Part("  others had a hand in it" if source.tainted else "", "warn")
        told = f"    {moment(source.happened_at)}  {one_line(source.kind)}, origin {one_line(source.origin)}"
        page.append(line(Part(told, "dim"), trust))
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
