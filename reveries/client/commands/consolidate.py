"""`reveries consolidate`: deep sleep, now; what sleep did, with the owner's word on it: log, undo, confirm, drop."""

import time

import click

_INTERRUPTED = 130


@click.group(
    "consolidate", short_help="Sleep on what happened, now; see and undo what sleep did.", invoke_without_command=True
)
@click.option(
    "--limit", type=click.IntRange(1), default=None, help="At most so many experiences, the most salient first."
)
@click.option("--dry-run", is_flag=True, help="Ask the model and show what would change. Nothing is changed.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def command(ctx: click.Context, limit: int | None, dry_run: bool, as_json: bool) -> int:
    """Sleep on what happened, now: ask the model about each experience and let it become memory. Ctrl+C ends it after
    the experience in hand; what was done stays done, and can be taken back."""
    if ctx.invoked_subcommand is not None:
        return 0
    return _preview(limit, as_json) if dry_run else _run_pass(limit, as_json)


@command.command("log")
@click.argument("run", required=False)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="At most so many passes.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def log(run: str | None, limit: int, as_json: bool) -> None:
    """Which passes of sleep there were, newest first; with RUN (the beginning of its ID is enough) what it did, episode
    by episode."""
    from reveries import protocol
    from reveries.client.calling import ask
    from reveries.client.render import show, show_json
    from reveries.client.sleep_page import log_page, run_page

    if run is None:
        passes = ask(lambda new_id: protocol.AskSleepLog(new_id, limit), protocol.SleepLog)
        show_json(passes) if as_json else show(log_page(passes, time.time()))
        return
    name = _run_name(run)
    detail = ask(lambda new_id: protocol.InspectSleep(new_id, name), protocol.SleepRunDetail)
    show_json(detail) if as_json else show(run_page(detail, time.time()))


@command.command("undo")
@click.argument("run")
@click.option("--through", is_flag=True, help="Take back first, newest first, the passes that built upon it.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def undo(run: str, through: bool, as_json: bool) -> None:
    """Take back what the pass RUN did: episodes, links, merges, the self-model. What was said is never touched, and
    deep sleep takes it up again only when you ask: reveries consolidate."""
    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.client.sleep_page import undone_page
    from reveries.client.watching import ask_watched

    name = _run_name(run)
    undone = ask_watched(
        lambda new_id: protocol.UndoSleep(new_id, name, through), protocol.SleepUndone, "taking back", as_json=as_json
    )
    show_json(undone) if as_json else show(undone_page(undone))


@command.command("confirm")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def confirm(run: str, as_json: bool) -> None:
    """Let the pass RUN do what it asks about."""
    _answer(run, do_it=True, as_json=as_json)


@command.command("drop")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def drop(run: str, as_json: bool) -> None:
    """Leave undone what the pass RUN asks about."""
    _answer(run, do_it=False, as_json=as_json)


def _answer(run: str, *, do_it: bool, as_json: bool) -> None:
    from reveries import protocol
    from reveries.client.render import say, show_json
    from reveries.client.watching import ask_watched

    name = _run_name(run)
    answered = ask_watched(
        lambda new_id: protocol.AnswerSleep(new_id, name, do_it), protocol.SleepAnswered, "doing it", as_json=as_json
    )
    show_json(answered) if as_json else say(answered.line)


def _run_name(run: str) -> str:
    from reveries.errors import UsageError

    if not 0 < len(run) <= 100:
        raise UsageError("That is no pass's ID.", advice="They stand in: reveries consolidate log")
    return run


def _run_pass(limit: int | None, as_json: bool) -> int:
    from reveries import protocol
    from reveries.client.memory_page import consolidated_page
    from reveries.client.render import say, show, show_json
    from reveries.client.watching import ask_watched

    done = ask_watched(
        lambda new_id: protocol.Consolidate(new_id, limit), protocol.Consolidated, "sleeping on it", as_json=as_json
    )
    if as_json:
        show_json(done)
    else:
        for entry in done.log:
            say(f"  {entry}", "dim")
        show(consolidated_page(done))
    return _INTERRUPTED if done.was_interrupted else 0


def _preview(limit: int | None, as_json: bool) -> int:
    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.client.sleep_page import preview_page
    from reveries.client.watching import ask_watched

    seen = ask_watched(
        lambda new_id: protocol.PreviewSleep(new_id, limit),
        protocol.SleepPreview,
        "looking at what waits",
        as_json=as_json,
    )
    show_json(seen) if as_json else show(preview_page(seen))
    return _INTERRUPTED if seen.was_interrupted else 0
