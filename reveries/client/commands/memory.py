"""`reveries memory`, `memory search`, `memory inspect`. None of them changes a memory (R-29)."""

import time

import click


@click.group("memory", short_help="What it remembers: search, inspect.", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """What it remembers: how much, and (search, inspect) what."""
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
@click.option("--deep", is_flag=True, help="Also what is only on disk: dormant episodes, words that were put away.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: episodes, and the turns ranked.")
def search(query: tuple[str, ...], limit: int, deep: bool, as_json: bool) -> None:
    """What comes to mind for QUERY: episodes with a quote and its source, and the turns that answer best."""
    import msgspec

    from reveries import protocol
    from reveries.client.calling import ask
    from reveries.client.memory_page import found_page
    from reveries.client.render import show, show_json
    from reveries.errors import UsageError

    words = " ".join(query).strip()
    if not words:
        raise UsageError("There is nothing to search for.", advice='For example: reveries memory search "the garden"')
    found = ask(lambda new_id: protocol.Search(new_id, words, limit, deep or msgspec.UNSET), protocol.Found)
    if as_json:
        show_json(found)
    else:
        show(found_page(found, time.time()))


@command.command("inspect")
@click.argument("episode_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def inspect(episode_id: str, as_json: bool) -> None:
    """Everything about one episode: its quotes, its links, and what was said. The beginning of its ID is enough."""
    from reveries import protocol
    from reveries.client.calling import ask
    from reveries.client.memory_page import episode_page
    from reveries.client.render import show, show_json
    from reveries.errors import UsageError

    if not 0 < len(episode_id) <= 100:
        raise UsageError("That is no episode's ID.", advice="They stand in: reveries memory search QUERY")
    episode = ask(lambda new_id: protocol.Inspect(new_id, episode_id), protocol.EpisodeDetail)
    if as_json:
        show_json(episode)
    else:
        show(episode_page(episode, time.time()))
