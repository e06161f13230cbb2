"""The pages of `consolidate log`, `consolidate undo` and `consolidate --dry-run`: pure, message to lines."""

from reveries.client.memory_page import SHORT_ID_CHARS
from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import ago, dollars, moment, plural, span
from reveries.plaintext import one_line
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

_EMPTY = line()
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
    return [*page, line(Part("  Which holds: reveries memory contradictions settle ID --keep A|B|both", "dim"))]


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
