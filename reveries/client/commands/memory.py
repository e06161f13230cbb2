"""`reveries memory`: what looks into it (search, inspect, why, timeline, graph: none changes a memory, R-29), and the
owner's hand on it (memory_hand.py)."""

import time

import click

from reveries.client.commands import contradictions, memory_hand
from reveries.client.commands.memory_hand import known_id


@click.group("memory", short_help="What it remembers: search, why, correct.", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """What it remembers: how much, and (search, inspect, timeline, graph) what, and why it came to mind. And your hand
    on it: pin, salience, correct."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries import protocol
    from reveries.client.calling import ask
    from reveries.client.render import show, show_json
    from reveries.client.status_page import memory_page

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
    from reveries.client.calling import ask
    from reveries.client.memory_page import found_page
    from reveries.client.render import show, show_json
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
    from reveries.client.calling import ask
    from reveries.client.memory_page import episode_page
    from reveries.client.render import show, show_json

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
    from reveries.client.calling import ask
    from reveries.client.render import show, show_json
    from reveries.client.why_page import why_page

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
    from reveries.client.calling import ask
    from reveries.client.render import show, show_json
    from reveries.client.timeline_page import timeline_page

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
    from reveries.client.calling import ask
    from reveries.client.picture import write_png, write_svg
    from reveries.client.render import say, show_json
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


command.add_command(contradictions.command)
for _by_hand in (memory_hand.pin, memory_hand.unpin, memory_hand.salience, memory_hand.correct):
    command.add_command(_by_hand)
