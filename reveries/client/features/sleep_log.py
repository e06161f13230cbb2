"""`reveries consolidate`: run deep sleep, and log, undo, confirm or drop what sleep did; `memory contradictions`."""

from typing import TYPE_CHECKING

import click
import msgspec

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.features.knowledge import conflicts_page
from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import SHORT_ID_CHARS, ago, dollars, moment, plural, span
from reveries.protocol import (
    ChangedEpisode,
    Consolidated,
    Contradictions,
    ProjectConflicts,
    SleepChange,
    SleepLog,
    SleepPreview,
    SleepRun,
    SleepRunDetail,
    SleepUndone,
)
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries.client.connection import AskCallback


class AllContradictions(msgspec.Struct, frozen=True):
    """`contradictions`: in conversations. `projects`: in the knowledge of projects."""

    contradictions: list[protocol.Contradiction]
    projects: list[protocol.ProjectConflict]


_INTERRUPTED = 130


@click.group(
    "consolidate", short_help="Run deep sleep now; show and undo what sleep changed.", invoke_without_command=True
)
@click.option(
    "--limit", type=click.IntRange(1), default=None, help="The most experiences to process, most salient first."
)
@click.option("--dry-run", is_flag=True, help="Ask the model and show what would change, but change nothing.")
@json_option(protocol.Consolidated, {"--dry-run": protocol.SleepPreview}, takes_long=True)
@click.pass_context
def command(ctx: click.Context, limit: int | None, dry_run: bool, as_json: bool) -> int:
    """Run deep sleep now: the model processes each waiting experience into memory. Ctrl+C stops after the current
    experience; what was done is kept, and can be undone."""
    if ctx.invoked_subcommand is not None:
        return 0
    return _preview_pass(limit, as_json) if dry_run else _run_pass(limit, as_json)


@command.command("log")
@click.argument("run", required=False)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="The most passes to show.")
@json_option(protocol.SleepLog, {"RUN": protocol.SleepRunDetail})
def sleep_log_command(run: str | None, limit: int, as_json: bool) -> None:
    """List the passes of sleep, newest first. With RUN (the beginning of an ID is enough), show what that pass did,
    episode by episode."""
    from reveries.client.sync_call import ask_mind

    if run is None:
        passes = ask_mind(lambda new_id: protocol.AskSleepLog(new_id, limit), protocol.SleepLog)
        print_answer(passes, as_json)
        return
    name = _check_pass_id(run)
    detail = ask_mind(lambda new_id: protocol.InspectSleep(new_id, name), protocol.SleepRunDetail)
    print_answer(detail, as_json)


@command.command("undo")
@click.argument("run")
@click.option("--through", is_flag=True, help="First undo the later passes that depend on it, newest first.")
@json_option(protocol.SleepUndone, takes_long=True)
def undo_sleep_command(run: str, through: bool, as_json: bool) -> None:
    """Undo what the pass RUN did: episodes, links, merges, the self-model. What was said is never changed, and deep
    sleep processes it again only when you ask: reveries consolidate."""
    from reveries.client.sync_call import ask_with_progress

    name = _check_pass_id(run)
    undone = ask_with_progress(
        lambda new_id: protocol.UndoSleep(new_id, name, through), protocol.SleepUndone, "undoing", as_json=as_json
    )
    print_answer(undone, as_json)


@command.command("confirm")
@click.argument("run")
@json_option(protocol.SleepAnswered, takes_long=True)
def confirm_pass_command(run: str, as_json: bool) -> None:
    """Allow what the pass RUN asks about."""
    _answer_pass(run, do_it=True, as_json=as_json)


@command.command("drop")
@click.argument("run")
@json_option(protocol.SleepAnswered, takes_long=True)
def drop_pass_command(run: str, as_json: bool) -> None:
    """Refuse what the pass RUN asks about."""
    _answer_pass(run, do_it=False, as_json=as_json)


def _answer_pass(run: str, *, do_it: bool, as_json: bool) -> None:
    from reveries.client.sync_call import ask_with_progress

    name = _check_pass_id(run)
    answered = ask_with_progress(
        lambda new_id: protocol.AnswerSleep(new_id, name, do_it),
        protocol.SleepAnswered,
        "finishing the pass",
        as_json=as_json,
    )
    print_answer(answered, as_json, lambda: [line(answered.line)])


def _check_pass_id(run: str) -> str:
    from reveries.errors import UsageError

    if not 0 < len(run) <= 100:
        raise UsageError("That is not the ID of a pass.", advice="To list them: reveries consolidate log")
    return run


def _run_pass(limit: int | None, as_json: bool) -> int:
    from reveries.client.sync_call import ask_with_progress

    done = ask_with_progress(
        lambda new_id: protocol.Consolidate(new_id, limit), protocol.Consolidated, "deep sleep", as_json=as_json
    )
    log = [line(Part(f"  {entry}", "dim")) for entry in done.log]
    print_answer(done, as_json, lambda: [*log, *consolidated_page(done)])
    return _INTERRUPTED if done.was_interrupted else 0


def _preview_pass(limit: int | None, as_json: bool) -> int:
    from reveries.client.sync_call import ask_with_progress

    preview = ask_with_progress(
        lambda new_id: protocol.PreviewSleep(new_id, limit),
        protocol.SleepPreview,
        "previewing",
        as_json=as_json,
    )
    print_answer(preview, as_json)
    return _INTERRUPTED if preview.was_interrupted else 0


_KEEP = {"A": "earlier", "B": "later", "both": "both"}


@click.group("contradictions", short_help="Statements that contradict each other.", invoke_without_command=True)
@click.option("--all", "with_settled", is_flag=True, help="Also show settled ones and simple updates.")
@json_option(AllContradictions)
@click.pass_context
def contradictions_command(ctx: click.Context, with_settled: bool, as_json: bool) -> None:
    """Show contradicting statements: both quotes, who said them and when. Nothing changes until you settle one."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries.client.sync_call import call_mind

    print_answer(call_mind(lambda mind: collect_contradictions(mind.ask, with_settled=with_settled)), as_json)


async def collect_contradictions(ask: "AskCallback", *, with_settled: bool = False) -> AllContradictions:
    """Collect the contradictions in conversations and in the knowledge of projects. Raises ReveriesError."""
    in_talk = await ask(lambda new_id: protocol.AskContradictions(new_id, with_settled), protocol.Contradictions)
    in_projects = await ask(
        lambda new_id: protocol.AskProjectConflicts(new_id, with_settled), protocol.ProjectConflicts
    )
    return AllContradictions(in_talk.contradictions, in_projects.conflicts)


@contradictions_command.command("settle")
@click.argument("conflict_id", metavar="ID")
@click.option(
    "--keep",
    type=click.Choice(["A", "B", "both"]),
    required=True,
    help="The statement that is right. The other one is kept, but ranks lower.",
)
@json_option(protocol.Contradictions, {"PROJECT-CONFLICT": protocol.ProjectConflicts})
def settle_contradiction_command(conflict_id: str, keep: str, as_json: bool) -> None:
    """Say which statement is right: A (the earlier), B (the later), or both. You can change this later."""
    from reveries.client.sync_call import ask_mind
    from reveries.errors import UsageError

    if not 0 < len(conflict_id) <= 100:
        raise UsageError(
            "That is not the ID of a contradiction.", advice="To list them: reveries memory contradictions"
        )
    conflicts = ask_mind(lambda new_id: protocol.AskProjectConflicts(new_id, True), protocol.ProjectConflicts)
    if any(conflict.conflict_id.startswith(conflict_id) for conflict in conflicts.conflicts):
        done = ask_mind(
            lambda new_id: protocol.SettleProjectConflict(new_id, conflict_id, _KEEP[keep]),  # type: ignore[arg-type]
            protocol.ProjectConflicts,
        )
        print_answer(done, as_json)
        return
    settled = ask_mind(
        lambda new_id: protocol.SettleContradiction(new_id, conflict_id, _KEEP[keep]),  # type: ignore[arg-type]
        protocol.Contradictions,
        seconds=None,
    )
    print_answer(settled, as_json)


_EMPTY = line()
_HOW_TO_SETTLE = line(Part("  To settle one: reveries memory contradictions settle ID --keep A|B|both", "dim"))
_ID_CHARS = 10
_SETTLED = {"earlier": "Settled: A is right.", "later": "Settled: B is right.", "both": "Settled: both are right."}
_TRIGGER_TEXTS = {
    "arrival": "new experiences",
    "time": "scheduled",
    "volume": "many experiences",
    "owner": "you asked",
    "asked": "you asked",
    "sleep": "before shutdown",
    "undo": "undo",
    "age": "aging",
    "correction": "your correction",
}


@page_of(protocol.Consolidated, "deep sleep")
def consolidated_page(done: Consolidated) -> Page:
    """Render what a sleep pass did, and what is left to process."""
    if not done.processed and not done.left and not done.was_interrupted and not done.question:
        return [line("There was nothing to process.")]
    changes = f"{plural(done.created, 'new episode')}, {done.merged} merged"
    fallbacks = (
        f", {plural(done.fallbacks, 'fallback')} because the model's answer was unusable" if done.fallbacks else ""
    )
    head = "Interrupted after" if done.was_interrupted else "Processed"
    rest = f"{plural(done.left, 'experience')} left." if done.left else "Nothing is left."
    page = [
        line(f"{head} {plural(done.processed, 'experience')} in {span(done.seconds)}: {changes}{fallbacks}."),
        line(Part(rest, "dim")),
    ]
    if done.question:
        run = one_line(done.run_id)
        page += paragraph(done.question, indent=0, style="warn")
        page += [line(f"  reveries consolidate confirm {run}"), line(f"  reveries consolidate drop {run}")]
    return page


@page_of(protocol.SleepLog)
def sleep_log_page(log: SleepLog, now: float) -> Page:
    """List passes, newest first: when, depth, trigger, result."""
    if not log.runs:
        return [line("There are no passes yet.")]
    page: Page = []
    for run in log.runs:
        page.append(
            line(
                Part(f"  {one_line(run.run_id)[:_ID_CHARS]:<{_ID_CHARS}}", "accent"),
                Part(f"  {ago(run.began_at, now):<16}", "dim"),
                f" {one_line(run.depth):<6}",
                Part(f" {_trigger_text(run):<18}", "dim"),
                f" {_run_counts(run)}",
            )
        )
        page += _outcome_rows(run)
    return [*page, _EMPTY, line(Part("  Details: reveries consolidate log ID", "dim"))]


@page_of(protocol.SleepRunDetail)
def run_page(detail: SleepRunDetail, now: float) -> Page:
    """Render everything that one pass did, in order."""
    run = detail.run
    lasted = f", {span(run.ended_at - run.began_at)}" if run.ended_at is not None else ""
    page = [
        line(Part(f"  {one_line(run.run_id)}", "accent"), Part(f"  {moment(run.began_at)}{lasted}", "dim")),
        line(f"  {one_line(run.depth)} sleep, {_trigger_text(run)}: {_run_counts(run)}"),
        *_outcome_rows(run),
    ]
    for change in detail.changes:
        page += [_EMPTY, *_change_rows(change)]
    if detail.left_off:
        page += [_EMPTY, line(Part(f"  and {plural(detail.left_off, 'change')} more", "dim"))]
    return page


@page_of(protocol.SleepPreview)
def preview_page(preview: SleepPreview) -> Page:
    """Render what a pass would do, and what the preview cost."""
    if not preview.changes:
        return [line("There is nothing to sleep on.")]
    page: Page = []
    for change in preview.changes:
        page += [*_change_rows(change), _EMPTY]
    cost = f"{plural(preview.calls, 'call')}, {plural(preview.tokens, 'token')}, {dollars(preview.dollars)}"
    page.append(line(Part("Nothing was changed.", "strong"), f" The preview took {span(preview.seconds)}: {cost}."))
    if preview.would_ask:
        page.append(
            line(Part("A real pass would stop and ask you first, because it would merge many episodes.", "warn"))
        )
    if preview.left_off:
        page.append(line(Part(f"{plural(preview.left_off, 'change')} more are not shown.", "dim")))
    if preview.was_interrupted:
        page.append(line(Part("It was interrupted: there may be more.", "warn")))
    if preview.left:
        page.append(line(Part(f"{plural(preview.left, 'experience')} more are waiting.", "dim")))
    return page


@page_of(protocol.SleepUndone)
def sleep_undone_page(undone: SleepUndone) -> Page:
    """Render what was undone, in order."""
    return [line(one_line(entry.line, 300)) for entry in undone.undone]


@page_of(protocol.Contradictions)
def contradictions_page(contradictions: Contradictions | AllContradictions) -> Page:
    """Render both statements of each contradiction, who said them and when, and how it was settled."""
    if not contradictions.contradictions:
        return [line("There are no contradictions.")]
    page: Page = []
    for contradiction in contradictions.contradictions:
        page.append(
            line(
                Part(f"  {one_line(contradiction.conflict_id)}", "accent"),
                Part(f"  {one_line(contradiction.kind)}: {one_line(contradiction.reason)}", "dim"),
            )
        )
        for name, statement in (("A", contradiction.earlier), ("B", contradiction.later)):
            page += paragraph(f"{name}  \u201c{one_line(statement.quote, 300)}\u201d", indent=4)
            page.append(line(Part(f"       {one_line(statement.speaker, 80)}, {moment(statement.said_at)}", "dim")))
        if settled := _SETTLED.get(contradiction.settled):
            page.append(line(Part(f"    {settled}", "good")))
        page.append(_EMPTY)
    return [*page, _HOW_TO_SETTLE]


@page_of(AllContradictions, "contradictions")
def all_contradictions_page(shown: AllContradictions) -> Page:
    """Render the contradictions in conversations, then those in the knowledge of projects."""
    if not shown.projects:
        return contradictions_page(shown)
    heading = line(Part("  In the knowledge of projects:", "strong"))
    statements = contradictions_page(shown)[:-1] if shown.contradictions else []
    return [*statements, heading, *conflicts_page(ProjectConflicts(0, shown.projects)), _HOW_TO_SETTLE]


def _trigger_text(run: SleepRun) -> str:
    return _TRIGGER_TEXTS.get(run.trigger, one_line(run.trigger))


def _run_counts(run: SleepRun) -> str:
    if run.undoes:
        return f"undid {one_line(run.undoes)[:_ID_CHARS]}"
    if run.trigger == "age":
        return "moved faded episodes to disk" + ("" if run.outcome == "done" else f" ({one_line(run.outcome)})")
    counts = [
        plural(run.processed, "experience"),
        plural(run.created, "new episode" if run.depth == "light" else "episode"),
    ]
    if run.merged:
        counts.append(f"{run.merged} merged")
    if run.fallbacks:
        counts.append(f"{plural(run.fallbacks, 'answer')} unusable")
    outcome = "" if run.outcome == "done" else f" ({one_line(run.outcome)})"
    return ", ".join(counts) + outcome


def _outcome_rows(run: SleepRun) -> Page:
    """Render whether the pass was undone, and what it asks."""
    page: Page = []
    if run.undone_by:
        page.append(line(Part(f"    undone by {one_line(run.undone_by)[:_ID_CHARS]}", "warn")))
    if run.question:
        page += paragraph(run.question, indent=4, style="warn")
        page.append(line(Part(f"    reveries consolidate confirm {one_line(run.run_id)}", "dim")))
        page.append(line(Part(f"    reveries consolidate drop {one_line(run.run_id)}", "dim")))
    return page


def _change_rows(change: SleepChange) -> Page:
    page = paragraph(one_line(change.line, 400), style="strong")
    for episode in change.episodes:
        page += _changed_episode_rows(episode)
    for sentence in change.superseded:
        page += paragraph(one_line(sentence, 400), indent=4, style="warn")
    if change.new_links or change.stronger_links:
        kinds = sorted({one_line(link.type) for link in change.new_links})
        links = f"    {plural(len(change.new_links), 'new link')}"
        links += f" ({', '.join(kinds)})" if kinds else ""
        links += f", {change.stronger_links} changed" if change.stronger_links else ""
        page.append(line(Part(links, "dim")))
    for entry in change.self_model:
        page += paragraph(one_line(entry, 400), indent=4, style="good" if entry.startswith("+") else "bad")
    return page


def _changed_episode_rows(episode: ChangedEpisode) -> Page:
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
