"""`reveries context`: what the model was given for the last turn."""

import time

import click

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.render import Page, Part, bar, field, line, paragraph
from reveries.client.wording import ago, count, plural
from reveries.protocol import ContextMemory, ContextPart, ToldContext
from reveries.safe_text import one_line


@click.command("context", short_help="What the model was given for the last turn.")
@click.option("--conversation", default="", help="The conversation with this ID. Default: the latest.")
@click.option("--whole", is_flag=True, help="Show every part in full.")
@json_option(protocol.ToldContext)
def command(conversation: str, whole: bool, as_json: bool) -> None:
    """Show what the model was given for the last turn, part by part: rules, self-model, folded history, history,
    recalled memories with their sources, its thought; the tokens used of the budget; and what was left out, and why.

    Kept while the mind is awake, for the last turn of each of the latest eight conversations.
    """
    from reveries.client.sync_call import ask_mind

    context = ask_mind(lambda new_id: protocol.AskContext(new_id, conversation[:100]), protocol.ToldContext)
    print_answer(context, as_json, lambda: context_page(context, time.time(), whole=whole))


_SHORT = 8
_EMPTY = line()
_LONGEST_PART_CHARS = 1200


@page_of(protocol.ToldContext, "prompt context")
def context_page(context: ToldContext, now: float, *, whole: bool = False) -> Page:
    """Render the token budget, then the text of each part; `whole` shows them in full."""
    budget = context.context_tokens - context.reply_tokens
    share = context.total_tokens / budget if budget > 0 else 0.0
    page: Page = [
        line(Part("  context", "strong"), Part(f"  {ago(context.asked_at, now)}, {one_line(context.model)}", "dim")),
        _EMPTY,
        field(
            "total",
            f"{count(context.total_tokens)} of {count(budget)} tokens",
            Part(f"  {share:.0%}; {count(context.reply_tokens)} more reserved for the reply", "dim"),
        ),
        *(_part_budget_row(part, max(1, context.total_tokens)) for part in context.parts),
    ]
    for note in context.notes:
        page += paragraph(note, style="warn")
    for part in context.parts:
        if part.text and part.name != "recalled":
            page += _part_rows(part, whole=whole)
        elif part.name == "recalled" and context.memories:
            page += _recalled_rows(context.memories)
    return page


def _part_budget_row(part: ContextPart, total: int) -> tuple[Part, ...]:
    of = f" of {count(part.budget)}" if part.budget else ""
    note = f"  {one_line(part.note)}" if part.note else ""
    return field(
        part.name,
        Part(f"{bar(part.tokens / total, 10)} ", "accent"),
        f"{count(part.tokens):>6}{of}",
        Part(note, "dim"),
    )


def _part_rows(part: ContextPart, *, whole: bool) -> Page:
    text = part.text if whole or len(part.text) <= _LONGEST_PART_CHARS else part.text[:_LONGEST_PART_CHARS] + "…"
    cut = "" if len(text) == len(part.text) else "  show it all: --whole"
    return [_EMPTY, line(Part(f"  {part.name}", "strong"), Part(cut, "dim")), *paragraph(text, indent=4)]


def _recalled_rows(memories: list[ContextMemory]) -> Page:
    included = [memory for memory in memories if memory.was_told]
    omitted = [memory for memory in memories if not memory.was_told]
    page: Page = []
    if included:
        page += [
            _EMPTY,
            line(
                Part("  recalled", "strong"), Part(f"  {plural(len(included), 'memory', 'memories')} included", "dim")
            ),
        ]
        for recalled in included:
            page += paragraph(recalled.line, indent=4)
            turn = f", turn {one_line(recalled.turn_id)[:_SHORT]}" if recalled.turn_id else ""
            page.append(
                line(
                    Part(f"      {one_line(recalled.episode_id)[:_SHORT]}", "accent"),
                    Part(f"{turn}, {recalled.tokens} tokens", "dim"),
                )
            )
    if omitted:
        page += [_EMPTY, line(Part("  left out", "strong"), Part("  recalled but not included", "dim"))]
        for recalled in omitted:
            page += paragraph(one_line(recalled.line, 160), indent=4, style="dim")
            page.append(
                line(
                    Part(f"      {one_line(recalled.episode_id)[:_SHORT]}", "accent"),
                    Part(f"  {one_line(recalled.why_not)}", "warn"),
                )
            )
    return page
