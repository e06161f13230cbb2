"""`reveries self`: what the mind takes itself and its owner to be, how that came, and the owner's hand on it."""

import time
from typing import TYPE_CHECKING, Final

import click

from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import ago, plural
from reveries.protocol import SelfChange, SelfEvidence, SelfHistory, SelfModelShown
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries import protocol


@click.group("self", short_help="What it takes itself and you to be.", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """The self-model: what the mind takes itself and you to be. Deep sleep changes it, slowly; you may at any time."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries import protocol
    from reveries.client.sync_call import ask

    _show_self(ask(protocol.AskSelf, protocol.SelfModelShown), as_json)


@command.command("history")
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="The last so many changes.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def history(limit: int, as_json: bool) -> None:
    """Each change of the self-model, newest last: what went, what came, and the episode that it was made from."""
    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask

    told = ask(lambda new_id: protocol.AskSelfHistory(new_id, limit), protocol.SelfHistory)
    if as_json:
        show_json(told)
    else:
        show(self_history_page(told, time.time()))


@command.command("revert")
@click.argument("number", type=click.IntRange(1), metavar="N")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def revert(number: int, as_json: bool) -> None:
    """The self-model as it stood before change N, and so without all that came after it.

    This too is a change: reverting it brings back what went."""
    from reveries import protocol
    from reveries.client.sync_call import ask

    _show_self(ask(lambda new_id: protocol.RevertSelf(new_id, number), protocol.SelfModelShown, seconds=None), as_json)


@command.command("edit")
@click.argument("field")
@click.option("--set", "text", default=None, help="The new text, instead of opening an editor.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def edit(field: str, text: str | None, as_json: bool) -> None:
    """Put your own words into FIELD, in $EDITOR or with --set; a list has one statement a line.

    What you write is pinned: sleep leaves it alone. What you take out does not come back in the same words. A text that
    you empty is sleep's again.
    """
    from reveries import protocol
    from reveries.client.render import say
    from reveries.client.sync_call import ask

    name = field.replace("-", "_")
    shown = ask(protocol.AskSelf, protocol.SelfModelShown)
    wanted = _written(shown, name) if text is None else text
    if wanted is None:
        say("Nothing was changed.", "dim")
        return
    _show_self(
        ask(lambda new_id: protocol.EditSelf(new_id, name, wanted), protocol.SelfModelShown, seconds=None), as_json
    )


def _written(shown: "protocol.SelfModelShown", name: str) -> str | None:
    """What the owner makes of a field in an editor; None when that was nothing."""
    from reveries.errors import UsageError

    one = next((one for one in shown.fields if one.name == name), None)
    if one is None:
        raise UsageError(
            f"The self-model has no field {name!r}.", advice=f"It has: {', '.join(one.name for one in shown.fields)}."
        )
    how = "One statement a line." if one.is_list else "A short text."
    head = f"# {TITLES.get(name, name)}. {how} This line is not part of it."
    before = "\n".join(statement.text for statement in one.statements)
    try:
        after = click.edit(f"{head}\n{before}\n", extension=".txt", require_save=True)
    except click.ClickException as error:
        advice = "Name one that can (EDITOR=nano reveries self edit ...), or give the text with --set."
        raise UsageError(f"No editor could be used: {error.message.rstrip('.')}.", advice=advice) from error
    if after is None:
        return None
    kept = "\n".join(row for row in after.splitlines() if row.rstrip() != head).strip()
    return None if kept == before.strip() else kept


def _show_self(shown: "protocol.SelfModelShown", as_json: bool) -> None:
    from reveries.client.render import show, show_json

    if as_json:
        show_json(shown)
    else:
        show(self_page(shown, time.time()))


_SHORT = 8
_EMPTY = line()
TITLES: Final = {
    "narrative": "what it takes itself to be",
    "values": "what it values",
    "tendencies": "what it tends to",
    "owner_facts": "what it knows about you",
    "communication_style": "how you talk with each other",
    "patterns": "what recurs",
    "strengths": "what it does well",
    "limitations": "what it does badly",
    "current_focus": "what it is busy with",
    "unresolved_threads": "what is unresolved",
    "anticipations": "what it expects",
}


def self_page(shown: SelfModelShown, now: float) -> Page:
    """Every field that says something; the empty ones in one line."""
    page: Page = []
    for one in shown.fields:
        if not one.statements:
            continue
        page.append(line(Part(f"  {TITLES.get(one.name, one_line(one.name))}", "strong"), Part(f"  {one.name}", "dim")))
        for statement in one.statements:
            rows = paragraph(statement.text, indent=6 if one.is_list else 4)
            if one.is_list:
                rows[0] = line(Part("    - "), Part(rows[0][0].text.strip()))
            if statement.is_pinned:
                rows[-1] = (*rows[-1], Part("  yours", "accent"))
            page += rows
        page.append(_EMPTY)
    empty = [one.name for one in shown.fields if not one.statements]
    if not page:
        page = [line("It has not made itself a picture of itself or of you yet. Deep sleep does."), _EMPTY]
    elif empty:
        page += paragraph(f"nothing yet in: {', '.join(empty)}", style="dim")
    if shown.refused:
        page.append(
            line(Part(f"  {plural(len(shown.refused), 'statement')} that you took out will not come back", "dim"))
        )
    changed = f"changed {ago(shown.updated_at, now)}, " if shown.updated_at else ""
    return [*page, line(Part(f"  {changed}{plural(shown.changes, 'change')}: reveries self history", "dim"))]


def self_history_page(history: SelfHistory, now: float) -> Page:
    """Each change with what went, what came, and what it was made from. Newest last."""
    if not history.entries:
        return [line("The self-model has not changed yet.")]
    page: Page = []
    if history.total > len(history.entries):
        page += [line(Part(f"  {history.total - len(history.entries)} earlier: --limit", "dim")), _EMPTY]
    for entry in history.entries:
        page += [*_history_rows(entry, now), _EMPTY]
    return [*page, line(Part("  Back to before one, and all after it: reveries self revert N", "dim"))]


def _history_rows(entry: SelfChange, now: float) -> Page:
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
        page.append(line(Part("    nothing that shows", "dim")))
    for one in entry.evidence:
        page += _evidence_rows(one)
    return page


def _signed_rows(sign: str, text: str, style: str) -> Page:
    rows = paragraph(text, indent=8)
    mark = Part(f"      {sign} ", "good" if style == "good" else "bad")
    return [line(mark, rows[0][0].text.strip()), *rows[1:]]


def _evidence_rows(one: SelfEvidence) -> Page:
    merged = f", now in {one_line(one.merged_into)[:_SHORT]}" if one.merged_into else ""
    page: Page = [
        line(
            Part("    from "),
            Part(one_line(one.episode_id)[:_SHORT], "accent"),
            Part(f"{merged}  {one_line(one.summary, 80)}", "dim"),
        )
    ]
    if one.quote:
        page += paragraph(f"“{one_line(one.quote, 240)}”", indent=9, style="dim")
    return page
