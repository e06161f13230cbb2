"""`reveries consolidate`: deep sleep, now; what sleep did, with the owner's word on it: log, undo, confirm, drop."""

import time

import click

from reveries.client.features.knowledge import conflicts_page
from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import SHORT_ID_CHARS, ago, dollars, moment, plural, span
from reveries.protocol import (
    ChangedEpisode,
    Contradictions,
    SleepChange,
    SleepLog,
    SleepPreview,
    SleepRun,
    SleepRunDetail,
    SleepUndone,
)
from reveries.safe_text import one_line

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
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask

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
    from reveries.client.watched_call import ask_watched

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
    from reveries.client.watched_call import ask_watched

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
    from reveries.client.features.memory import consolidated_page
    from reveries.client.render import say, show, show_json
    from reveries.client.watched_call import ask_watched

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
    from reveries.client.watched_call import ask_watched

    seen = ask_watched(
        lambda new_id: protocol.PreviewSleep(new_id, limit),
        protocol.SleepPreview,
        "checking what waits",
        as_json=as_json,
    )
    show_json(seen) if as_json else show(preview_page(seen))
    return _INTERRUPTED if seen.was_interrupted else 0


_KEEP = {"A": "earlier", "B": "later", "both": "both"}


@click.group("contradictions", short_help="What was said that cannot both hold.", invoke_without_command=True)
@click.option("--all", "with_settled", is_flag=True, help="Also what was settled, and what was simply updated.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def contradictions_command(ctx: click.Context, with_settled: bool, as_json: bool) -> None:
    """What was said that cannot both hold: both quotes, by whom and when. Nothing is changed until you settle it."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries import protocol
    from reveries.client.json_answers import AllContradictions
    from reveries.client.render import show, write_struct
    from reveries.client.sync_call import ask

    found = ask(lambda new_id: protocol.AskContradictions(new_id, with_settled), protocol.Contradictions)
    known = ask(lambda new_id: protocol.AskProjectConflicts(new_id, with_settled), protocol.ProjectConflicts)
    if as_json:
        write_struct(AllContradictions(found.contradictions, known.conflicts))
    elif known.conflicts:
        heading = line(Part("  In what projects know:", "strong"))
        said = contradictions_page(found)[:-1] if found.contradictions else []
        show([*said, heading, *conflicts_page(known), _HOW_TO_SETTLE])
    else:
        show(contradictions_page(found))


@contradictions_command.command("settle")
@click.argument("conflict_id", metavar="ID")
@click.option(
    "--keep",
    type=click.Choice(["A", "B", "both"]),
    required=True,
    help="Which of the two holds. The other is kept and ranks under it.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def settle(conflict_id: str, keep: str, as_json: bool) -> None:
    """Say which of the two holds: A (said earlier), B (said later), or both. Can be said again differently."""
    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask
    from reveries.errors import UsageError

    if not 0 < len(conflict_id) <= 100:
        raise UsageError("That is no contradiction's ID.", advice="They stand in: reveries memory contradictions")
    known = ask(lambda new_id: protocol.AskProjectConflicts(new_id, True), protocol.ProjectConflicts)
    if any(one.conflict_id.startswith(conflict_id) for one in known.conflicts):
        done = ask(
            lambda new_id: protocol.SettleProjectConflict(new_id, conflict_id, _KEEP[keep]),  # type: ignore[arg-type]
            protocol.ProjectConflicts,
        )
        show_json(done) if as_json else show(conflicts_page(done))
        return
    settled = ask(
        lambda new_id: protocol.SettleContradiction(new_id, conflict_id, _KEEP[keep]),  # type: ignore[arg-type]
        protocol.Contradictions,
        seconds=None,
    )
    show_json(settled) if as_json else show(contradictions_page(settled))


_EMPTY = line()
_HOW_TO_SETTLE = line(Part("  Which holds: reveries memory contradictions settle ID --keep A|B|both", "dim"))
_ID_CHARS = 10
_SETTLED = {"earlier": "You said that A holds.", "later": "You said that B holds.", "both": "You said that both hold."}
_WHY = {
    "arrival": "something new",
    "time": "it was time",
    "volume": "much had happened",
    "owner": "you asked",
    "asked": "you asked",
    "sleep": "before closing",
    "undo": "taking back",
    "age": "time passed",
    "correction": "you corrected it",
}


def log_page(log: SleepLog, now: float) -> Page:
    """Passes, newest first: when, how deep, why, what came of it."""
    if not log.runs:
        return [line("It has not slept yet.")]
    page: Page = []
    for run in log.runs:
        page.append(
            line(
                Part(f"  {one_line(run.run_id)[:_ID_CHARS]:<{_ID_CHARS}}", "accent"),
                Part(f"  {ago(run.began_at, now):<16}", "dim"),
                f" {one_line(run.depth):<6}",
                Part(f" {_WHY.get(run.trigger, one_line(run.trigger)):<18}", "dim"),
                f" {_counts_of_run(run)}",
            )
        )
        page += _outcome_rows(run)
    return [*page, _EMPTY, line(Part("  What one did: reveries consolidate log ID", "dim"))]


def run_page(detail: SleepRunDetail, now: float) -> Page:
    """Everything that one pass did, in order."""
    run = detail.run
    lasted = f", {span(run.ended_at - run.began_at)}" if run.ended_at is not None else ""
    page = [
        line(Part(f"  {one_line(run.run_id)}", "accent"), Part(f"  {moment(run.began_at)}{lasted}", "dim")),
        line(f"  {one_line(run.depth)} sleep, {_WHY.get(run.trigger, one_line(run.trigger))}: {_counts_of_run(run)}"),
        *_outcome_rows(run),
    ]
    for change in detail.changes:
        page += [_EMPTY, *_change_rows(change)]
    if detail.left_off:
        page += [_EMPTY, line(Part(f"  and {plural(detail.left_off, 'change')} more", "dim"))]
    return page


def preview_page(preview: SleepPreview) -> Page:
    """What a pass would do, and what it cost to ask."""
    if not preview.changes:
        return [line("There is nothing to sleep on.")]
    page: Page = []
    for change in preview.changes:
        page += [*_change_rows(change), _EMPTY]
    cost = f"{plural(preview.calls, 'call')}, {plural(preview.tokens, 'token')}, {dollars(preview.dollars)}"
    page.append(line(Part("Nothing was changed.", "strong"), f" Asking took {span(preview.seconds)}: {cost}."))
    if preview.would_ask:
        page.append(line(Part("A pass would stop on its way and ask you first: it merges away much.", "warn")))
    if preview.left_off:
        page.append(line(Part(f"{plural(preview.left_off, 'change')} more are not shown.", "dim")))
    if preview.was_interrupted:
        page.append(line(Part("It was interrupted: there may be more.", "warn")))
    if preview.left:
        page.append(line(Part(f"{plural(preview.left, 'experience')} more wait.", "dim")))
    return page


def undone_page(undone: SleepUndone) -> Page:
    """What was taken back, in the order in which it was done."""
    return [line(one_line(one.line, 300)) for one in undone.undone]


def contradictions_page(found: Contradictions) -> Page:
    """Both sides of each, with who said it and when, and what became of it."""
    if not found.contradictions:
        return [line("Nothing that is known contradicts itself.")]
    page: Page = []
    for one in found.contradictions:
        page.append(
            line(
                Part(f"  {one_line(one.conflict_id)}", "accent"),
                Part(f"  {one_line(one.kind)}: {one_line(one.reason)}", "dim"),
            )
        )
        for name, said in (("A", one.earlier), ("B", one.later)):
            page += paragraph(f"{name}  \u201c{one_line(said.quote, 300)}\u201d", indent=4)
            page.append(line(Part(f"       {one_line(said.speaker, 80)}, {moment(said.said_at)}", "dim")))
        if settled := _SETTLED.get(one.settled):
            page.append(line(Part(f"    {settled}", "good")))
        page.append(_EMPTY)
    return [*page, _HOW_TO_SETTLE]


def _counts_of_run(run: SleepRun) -> str:
    if run.undoes:
        return f"took back {one_line(run.undoes)[:_ID_CHARS]}"
    if run.trigger == "age":
        return "faded, to the disk" + ("" if run.outcome == "done" else f" ({one_line(run.outcome)})")
    told = [
        plural(run.processed, "experience"),
        plural(run.created, "new episode" if run.depth == "light" else "episode"),
    ]
    if run.merged:
        told.append(f"{run.merged} merged")
    if run.fallbacks:
        told.append(f"{plural(run.fallbacks, 'answer')} without use")
    ended = "" if run.outcome == "done" else f" ({one_line(run.outcome)})"
    return ", ".join(told) + ended


def _outcome_rows(run: SleepRun) -> Page:
    """What became of it since, and what it asks."""
    page: Page = []
    if run.undone_by:
        page.append(line(Part(f"    taken back by {one_line(run.undone_by)[:_ID_CHARS]}", "warn")))
    if run.question:
        page += paragraph(run.question, indent=4, style="warn")
        page.append(line(Part(f"    reveries consolidate confirm {one_line(run.run_id)}", "dim")))
        page.append(line(Part(f"    reveries consolidate drop {one_line(run.run_id)}", "dim")))
    return page


def _change_rows(change: SleepChange) -> Page:
    page = paragraph(one_line(change.line, 400), style="strong")
    for episode in change.episodes:
        page += _episode(episode)
    for sentence in change.superseded:
        page += paragraph(one_line(sentence, 400), indent=4, style="warn")
    if change.new_links or change.stronger_links:
        kinds = sorted({one_line(link.type) for link in change.new_links})
        told = f"    {plural(len(change.new_links), 'new link')}"
        told += f" ({', '.join(kinds)})" if kinds else ""
        told += f", {change.stronger_links} changed" if change.stronger_links else ""
        page.append(line(Part(told, "dim")))
    for entry in change.self_model:
        page += paragraph(one_line(entry, 400), indent=4, style="good" if entry.startswith("+") else "bad")
    return page


def _episode(episode: ChangedEpisode) -> Page:
    name = Part(one_line(episode.episode_id)[:SHORT_ID_CHARS], "accent")
    into = f" into {one_line(episode.merged_into)[:SHORT_ID_CHARS]}" if episode.merged_into else ""
    old, new = episode.old_salience, episode.new_salience
    salience = f"  salience {old:.2f} \u2192 {new:.2f}" if old is not None and new is not None and old != new else ""
    page = [line("    ", name, Part(f"  {one_line(episode.what)}{into}{salience}", "dim"))]
    if episode.what == "dormant":
        return [*page, *paragraph(one_line(episode.old_summary, 400), indent=6, style="dim")]
    if episode.old_summary and episode.old_summary != episode.new_summary:
        page += paragraph(f"- {one_line(episode.old_summary, 400)}", indent=6, style="bad")
    if episode.new_summary and episode.old_summary != episode.new_summary:
        page += paragraph(f"+ {one_line(episode.new_summary, 400)}", indent=6, style="good")
    for quote in episode.added_quotes:
        page += paragraph(f"\u201c{one_line(quote, 200)}\u201d", indent=6, style="dim")
    return page
