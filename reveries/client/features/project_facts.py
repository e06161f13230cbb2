"""`reveries project facts` and `project conflicts`: what notes say that has a value, and what does not go together."""

from typing import TYPE_CHECKING, Literal

import click

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.features.project_wording import describe_day
from reveries.client.render import Line, Page, Part, line, paragraph
from reveries.client.wording import plural
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries.protocol import FactConflicts, FactEntry, Facts, ValueLine

_DECIDED = {"dismissed": "  both hold", "kept_a": "  a holds", "kept_b": "  b holds"}
_KINDS = ("date", "amount", "measure", "open")


@click.command("facts")
@click.argument("name")
@click.option("--kind", type=click.Choice(_KINDS), default=None, help="Only dates, amounts, measures or open ends.")
@click.option("--ahead", "is_ahead", is_flag=True, help="Only days from today on, in their order.")
@json_option(protocol.Facts)
def list_facts_command(name: str, kind: str | None, is_ahead: bool, as_json: bool) -> None:
    """Show every date, amount, measure and open end of the notes of a project, each with its line. They are read by
    rules, not by a model."""
    from reveries.client.sync_call import ask_mind

    asked = ask_mind(lambda new_id: protocol.AskFacts(new_id, name, kind or "", is_ahead), protocol.Facts)  # type: ignore[arg-type]
    print_answer(asked, as_json)


@click.command("conflicts")
@click.argument("name")
@click.option("--decided", "is_decided", is_flag=True, help="Only what you decided.")
@json_option(protocol.FactConflicts)
def list_conflicts_command(name: str, is_decided: bool, as_json: bool) -> None:
    """Show what does not go together in the notes of a project: one thing with two values."""
    from reveries.client.sync_call import ask_mind

    asked = ask_mind(lambda new_id: protocol.AskFactConflicts(new_id, name, is_decided), protocol.FactConflicts)
    print_answer(asked, as_json)


@click.group("conflict", short_help="Decide what does not go together.")
def conflict_group() -> None:
    """Decide two lines that do not go together; they come back only if one of them changes."""


@conflict_group.command("dismiss")
@click.argument("name")
@click.argument("conflict", metavar="ID")
@click.option("--reason", default="", help="Why they go together.")
@json_option(protocol.FactConflicts)
def dismiss_command(name: str, conflict: str, reason: str, as_json: bool) -> None:
    """Say that both lines hold: reveries project conflict dismiss Fair 4f2a --reason "two tents". ID: see project
    conflicts."""
    from reveries.client.sync_call import ask_mind

    asked = ask_mind(
        lambda new_id: protocol.DecideFactConflict(new_id, name, conflict, "dismiss", reason), protocol.FactConflicts
    )
    print_answer(asked, as_json)


@conflict_group.command("keep")
@click.argument("name")
@click.argument("conflict", metavar="ID")
@click.argument("side", type=click.Choice(["a", "b"], case_sensitive=False))
@click.option("--reason", default="", help="Why.")
@json_option(protocol.FactConflicts)
def keep_command(name: str, conflict: str, side: str, reason: str, as_json: bool) -> None:
    """Say which line holds, the first (a) or the second (b): reveries project conflict keep Fair 4f2a b. The other one
    answers no question any more, and is in no timeline."""
    from reveries.client.sync_call import ask_mind

    decision: Literal["keep_a", "keep_b"] = "keep_a" if side.casefold() == "a" else "keep_b"
    asked = ask_mind(
        lambda new_id: protocol.DecideFactConflict(new_id, name, conflict, decision, reason), protocol.FactConflicts
    )
    print_answer(asked, as_json)


@conflict_group.command("reopen")
@click.argument("name")
@click.argument("conflict", metavar="ID")
@json_option(protocol.FactConflicts)
def reopen_command(name: str, conflict: str, as_json: bool) -> None:
    """Take back what you decided: reveries project conflict reopen Fair 4f2a. ID: see project conflicts --decided."""
    from reveries.client.sync_call import ask_mind

    asked = ask_mind(
        lambda new_id: protocol.DecideFactConflict(new_id, name, conflict, "reopen"), protocol.FactConflicts
    )
    print_answer(asked, as_json)


@page_of(protocol.Facts, "facts")
def facts_page(answer: "Facts") -> Page:
    """Render one row per fact, under its document."""
    if not answer.facts:
        return [line("  Nothing with a value is in its notes.")]
    page: Page = []
    document = ""
    for fact in answer.facts:
        if fact.document != document:
            document = fact.document
            page += [*([line()] if page else []), line(Part(f"  {one_line(document, 160)}", "strong"))]
        page += _fact_rows(fact)
    return page


def _fact_rows(fact: "FactEntry") -> Page:
    value = describe_value(fact)
    called_off = "  called off" if fact.status == "cancelled" else ""
    head = line(Part(f"  {fact.line:>5}  ", "dim"), Part(value, "accent"), Part(called_off, "warn"))
    return [head, *paragraph(fact.text, indent=9, style="dim")]


def describe_value(fact: "ValueLine") -> str:
    """Return the value of a fact as it is shown."""
    if fact.unit is not None:
        return f"{fact.value} {fact.unit}"
    return describe_day(fact.value) if fact.value else "open"


@page_of(protocol.FactConflicts, "what does not go together")
def fact_conflicts_page(answer: "FactConflicts") -> Page:
    """Render each conflict with both lines and their places."""
    if not answer.conflicts:
        return [line("  Nothing was found that does not go together."), *_decided_rows(answer)]
    page: Page = []
    for conflict in answer.conflicts:
        judge = f"  found by {one_line(conflict.model) or 'a model'}" if conflict.found_by == "model" else ""
        name = Part(f"  {one_line(conflict.conflict_id)[:8]}", "accent")
        subject = Part(f"  {one_line(conflict.subject, 100)}", "strong")
        decided = Part(_DECIDED.get(conflict.decision, ""), "dim")
        page += [*([line()] if page else []), line(name, subject, Part(judge, "dim"), decided)]
        page += [row for letter, side in (("a", conflict.a), ("b", conflict.b)) for row in _side_rows(letter, side)]
    return page + _decided_rows(answer)


def _decided_rows(answer: "FactConflicts") -> Page:
    decided = plural(answer.decided, "pair")
    return (
        [line(Part(f"  {decided} decided, and shown again if a line changes (--decided shows them)", "dim"))]
        if answer.decided
        else []
    )


def _side_rows(letter: str, side: "ValueLine") -> Page:
    head: Line = line(
        Part(f"    {letter}  {describe_value(side)}", "warn"),
        Part(f"  {one_line(side.document, 120)}:{side.line}", "dim"),
    )
    return [head, *paragraph(side.text, indent=6)]
