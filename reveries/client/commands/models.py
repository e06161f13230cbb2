"""`reveries models`, `models test` and `models pull`: asked of the waking mind, or of a process that works for it."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveries import protocol
    from reveries.client.connection import Connection
    from reveries.client.progress import Moved


@click.group("models", short_help="The models: in use and why, available, test, pull.", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object: ModelsOverview of the protocol.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """The model that each role uses and why, what it costs, whether it leaves this machine, and what else there is."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries.client.models_page import overview_page
    from reveries.client.render import show, show_json

    overview = _ask_overview()
    if as_json:
        show_json(overview)
    else:
        show(overview_page(overview))


@command.command("test")
@click.option(
    "--role",
    type=click.Choice(["conversation", "monologue", "consolidation", "embedding"]),
    default=None,
    help="This one alone.",
)
@click.option("--quick", is_flag=True, help="One question each, without the small tasks that find a tier.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: ModelsProbed of the protocol.")
def test(role: str | None, quick: bool, as_json: bool) -> int:
    """Ask the model of each role one question: how soon it answers, how fast, whether it keeps to a JSON schema, and
    what that cost. Then put 24 small tasks to each language model, which find its tier: what is asked of it from then
    on. Each is a call like every other: reserved in the ledger first. Ctrl+C ends it, and changes no tier."""
    from reveries.client.models_page import probes_page
    from reveries.client.progress import progress_bar
    from reveries.client.render import show, show_json

    with progress_bar("asking", as_json=as_json) as moved:
        tested = _test_models(role or "", moved, with_tiers=not quick)
    if as_json:
        show_json(tested)
    else:
        show(probes_page(tested))
    failed = any(probe.error for probe in tested.probes) or any(test.error for test in tested.tiers or ())
    return 69 if failed else 0


@command.command("choose")
@click.argument("name", required=False, default="")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, and how far it is as lines on stderr.")
def choose(name: str, as_json: bool) -> None:
    """Choose the chat model that runs on this machine, and fetch it: one that is here already, else what suits the
    memory and the cores, of what can be reached. A large one is fetched only if you say so. NAME takes that one (of
    `reveries models`, or a GGUF file), and `auto` leaves the choice to the machine again."""
    from reveries.client.model_setup import choose_model

    choose_model(name, as_json=as_json, overview=_ask_overview)


@command.command("pull")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object, and how far it is as lines on stderr.")
def pull(names: tuple[str, ...], as_json: bool) -> None:
    """Fetch the weights of NAME: resumed where it broke off, and checked against their known hash. `ollama/NAME`
    lets your Ollama fetch one of its own."""
    from reveries.client.json_answers import Pulled
    from reveries.client.model_setup import fetch_model
    from reveries.client.render import say, write_struct
    from reveries.client.weights import pulled_line

    done = []
    for name in names:
        done.append(fetch_model(name, as_json=as_json))
        if not as_json:
            say(pulled_line(done[-1]))
    if as_json:
        write_struct(Pulled(done))


def _ask_overview() -> "protocol.ModelsOverview":
    from reveries import protocol
    from reveries.client.calling import ask
    from reveries.client.daemon_side import overview_asleep
    from reveries.errors import AsleepError

    try:
        return ask(protocol.AskModels, protocol.ModelsOverview)
    except AsleepError:
        return overview_asleep()


def _test_models(role: str, moved: "Moved", *, with_tiers: bool) -> "protocol.ModelsProbed":
    from reveries.client.calling import call
    from reveries.client.daemon_side import frames_of
    from reveries.errors import AsleepError

    take = _taker(moved)
    try:
        return call(lambda mind: _test_awake(mind, role, take, with_tiers=with_tiers))
    except AsleepError:
        words = [*(("--role", role) if role else ()), *(("--with-tiers",) if with_tiers else ())]
        for frame in frames_of("test", *words):
            if (tested := take(frame)) is not None:
                return tested
    raise _nothing_came()


async def _test_awake(
    mind: "Connection",
    role: str,
    take: "Callable[[protocol.Frame], protocol.ModelsProbed | None]",
    *,
    with_tiers: bool,
) -> "protocol.ModelsProbed":
    import msgspec

    from reveries import protocol
    from reveries.client.calling import ctrl_c
    from reveries.errors import ReveriesError

    request_id = mind.new_id()
    request = protocol.ProbeModels(request_id, role, tiers=True if with_tiers else msgspec.UNSET)
    was_stopped = False

    def stop() -> None:
        nonlocal was_stopped
        was_stopped = True
        mind.cancel_soon(request_id)

    try:
        with ctrl_c(stop):
            async for frame in mind.request(request):
                if (tested := take(frame)) is not None:
                    return tested
    except ReveriesError:
        if was_stopped:
            raise click.Abort from None
        raise
    raise _nothing_came()


def _taker(moved: "Moved") -> "Callable[[protocol.Frame], protocol.ModelsProbed | None]":
    """What is done with each frame of a test: the last is returned, those before it are shown."""
    from reveries import protocol

    def take(frame: protocol.Frame) -> protocol.ModelsProbed | None:
        if isinstance(frame, protocol.Progress):
            moved(frame.what, frame.done, frame.total)
        return frame if isinstance(frame, protocol.ModelsProbed) else None

    return take


def _nothing_came() -> Exception:
    from reveries.errors import ProtocolError

    return ProtocolError("The test did not say what it came to.", advice="See: reveries status")
