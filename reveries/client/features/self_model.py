"""`reveries self`: the self-model, its history, and the owner's edits."""

from typing import Final

import click

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import ago, date, plural
from reveries.protocol import SelfChange, SelfEvidence, SelfHistory, SelfModelShown
from reveries.safe_text import one_line


@click.group("self", short_help="How it sees itself and you: the self-model.", invoke_without_command=True)
@json_option(protocol.SelfModelShown)
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Show the self-model: how the mind sees itself and you. Deep sleep changes it slowly; you may edit it any time."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries.client.sync_call import ask_mind

    print_answer(ask_mind(protocol.AskSelf, protocol.SelfModelShown), as_json)


@command.command("history")
@click.option(
    "--limit",
    type=click.IntRange(1, 200),
    default=20,
    show_default=True,
    help="The most changes to show, latest first.",
)
@json_option(protocol.SelfHistory)
def self_history_command(limit: int, as_json: bool) -> None:
    """Show each change of the self-model, newest last: removed and added statements, and their sources."""
    from reveries.client.sync_call import ask_mind

    changes = ask_mind(lambda new_id: protocol.AskSelfHistory(new_id, limit), protocol.SelfHistory)
    print_answer(changes, as_json)


@command.command("revert")
@click.argument("number", type=click.IntRange(1), metavar="N")
@json_option(protocol.SelfModelShown)
def revert_self_command(number: int, as_json: bool) -> None:
    """Restore the self-model to its state before change N, undoing all later changes too.

    This is recorded as a change as well, and can itself be reverted."""
    from reveries.client.sync_call import ask_mind

    print_answer(
        ask_mind(lambda new_id: protocol.RevertSelf(new_id, number), protocol.SelfModelShown, seconds=None), as_json
    )


@command.command("edit")
@click.argument("field")
@click.option("--set", "text", default=None, help="The new text, instead of opening an editor.")
@json_option(protocol.SelfModelShown)
def edit_self_command(field: str, text: str | None, as_json: bool) -> None:
    """Edit FIELD of the self-model, in $EDITOR or with --set. A list has one statement per line.

    What you write is pinned: sleep does not change it. What you remove is not added again in the same words. A text
    that you leave empty may be written by sleep again.
    """
    from reveries.client.render import say
    from reveries.client.sync_call import ask_mind

    name = field.replace("-", "_")
    model = ask_mind(protocol.AskSelf, protocol.SelfModelShown)
    new_text = _edit_field(model, name) if text is None else text
    if new_text is None:
        say("Nothing was changed.", "dim")
        return
    print_answer(
        ask_mind(lambda new_id: protocol.EditSelf(new_id, name, new_text), protocol.SelfModelShown, seconds=None),
        as_json,
    )


def _edit_field(model: "protocol.SelfModelShown", name: str) -> str | None:
    """Let the owner edit a field in an editor. Return the new text; None if nothing was changed."""
    from reveries.errors import UsageError

    field = next((field for field in model.fields if field.name == name), None)
    if field is None:
        raise UsageError(
            f"The self-model has no field {name!r}.",
            advice=f"It has: {', '.join(field.name for field in model.fields)}.",
        )
    how = "One statement per line." if field.is_list else "A short text."
    head = f"# {TITLES.get(name, name)}. {how} This line is not part of it."
    before = "\n".join(statement.text for statement in field.statements)
    try:
        after = click.edit(f"{head}\n{before}\n", extension=".txt", require_save=True)
    except click.ClickException as error:
        advice = "Set another one (EDITOR=nano reveries self edit ...), or give the text with --set."
        raise UsageError(f"The editor could not be used: {error.message.rstrip('.')}.", advice=advice) from error
    if after is None:
        return None
    edited = "\n".join(row for row in after.splitlines() if row.rstrip() != head).strip()
    return None if edited == before.strip() else edited


_SHORT = 8
_EMPTY = line()
TITLES: Final = {
    "narrative": "how it sees itself",
    "values": "what it values",
    "tendencies": "its habits",
    "owner_facts": "what it knows about you",
    "communication_style": "how you two talk",
    "patterns": "recurring patterns",
    "strengths": "what it does well",
    "limitations": "what it does poorly",
    "current_focus": "its current focus",
    "unresolved_threads": "what is unresolved",
    "closed_threads": "what is settled",
    "past_facts": "what is no longer true of you",
    "anticipations": "what it expects",
}


@page_of(protocol.SelfModelShown, "self-model")
def self_page(model: SelfModelShown, now: float) -> Page:
    """Render every field that has statements; the empty ones in one line."""
    page: Page = []
    for field in model.fields:
        if not field.statements:
            continue
        page.append(
            line(Part(f"  {TITLES.get(field.name, one_line(field.name))}", "strong"), Part(f"  {field.name}", "dim"))
        )
        for statement in field.statements:
            rows = paragraph(statement.text, indent=6 if field.is_list else 4)
            if field.is_list:
                rows[0] = line(Part("    - "), Part(rows[0][0].text.strip()))
            if statement.at:
                rows[-1] = (*rows[-1], Part(f"  {date(statement.at, now)}", "dim"))
            if statement.is_pinned:
                rows[-1] = (*rows[-1], Part("  yours", "accent"))
            page += rows
        page.append(_EMPTY)
    empty = [field.name for field in model.fields if not field.statements]
    if not page:
        page = [line("The self-model is still empty. Deep sleep fills it."), _EMPTY]
    elif empty:
        page += paragraph(f"still empty: {', '.join(empty)}", style="dim")
    if model.refused:
        page.append(line(Part(f"  {plural(len(model.refused), 'statement')} that you removed will not return", "dim")))
    changed = f"changed {ago(model.updated_at, now)}, " if model.updated_at else ""
    return [*page, line(Part(f"  {changed}{plural(model.changes, 'change')}: reveries self history", "dim"))]


@page_of(protocol.SelfHistory, "self-model history")
def self_history_page(history: SelfHistory, now: float) -> Page:
    """Render each change with removed and added statements, and their sources. Newest last."""
    if not history.entries:
        return [line("The self-model has not changed yet.")]
    page: Page = []
    if history.total > len(history.entries):
        page += [line(Part(f"  {history.total - len(history.entries)} earlier: --limit", "dim")), _EMPTY]
    for entry in history.entries:
        page += [*_self_change_rows(entry, now), _EMPTY]
    return [*page, line(Part("  To undo one and all later changes: reveries self revert N", "dim"))]


def _self_change_rows(entry: SelfChange, now: float) -> Page:
    who = "you" if entry.by_owner else "sleep"
    page: Page = [
        line(Part(f"  {entry.number}", "accent"), Part(f"  {ago(entry.at, now)}", "dim"), Part(f"  {who}", "strong")),
        *paragraph(one_line(entry.reason, 300), indent=4, style="dim"),
    ]
    for change in entry.changes:
        page.append(line(Part(f"    {one_line(change.field)}", "strong")))
        for text in change.removed:
            page += _signed_rows("−", text, "bad")
        for text in change.added:
            page += _signed_rows("+", text, "good")
    if not entry.changes:
        page.append(line(Part("    no visible change", "dim")))
    for evidence in entry.evidence:
        page += _evidence_rows(evidence)
    return page


def _signed_rows(sign: str, text: str, style: str) -> Page:
    rows = paragraph(text, indent=8)
    mark = Part(f"      {sign} ", "good" if style == "good" else "bad")
    return [line(mark, rows[0][0].text.strip()), *rows[1:]]


def _evidence_rows(evidence: SelfEvidence) -> Page:
    merged = f", now in {one_line(evidence.merged_into)[:_SHORT]}" if evidence.merged_into else ""
    page: Page = [
        line(
            Part("    from "),
            Part(one_line(evidence.episode_id)[:_SHORT], "accent"),
            Part(f"{merged}  {one_line(evidence.summary, 80)}", "dim"),
        )
    ]
    if evidence.quote:
        page += paragraph(f"“{one_line(evidence.quote, 240)}”", indent=9, style="dim")
    return page
