"""`reveries context`: what the mind was told for the last turn."""

import time

import click

from reveries.client.render import Page, Part, bar, field, line, paragraph
from reveries.client.wording import ago, count, plural
from reveries.protocol import ContextMemory, ContextPart, ToldContext
from reveries.safe_text import one_line


@click.command("context", short_help="What it was told for the last turn.")
@click.option("--conversation", default="", help="Of the conversation with this ID; without, of the latest.")
@click.option("--whole", is_flag=True, help="Cut no part short.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(conversation: str, whole: bool, as_json: bool) -> None:
    """What the mind was told for the last turn, part by part: rules, self-model, folded history, history, recalled
    memories with their sources, its thought; tokens against the budget, and what was left out and why.

    It is kept while the mind is awake, for the last turn of each of the latest eight conversations.
    """
    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask

    told = ask(lambda new_id: protocol.AskContext(new_id, conversation[:100]), protocol.ToldContext)
    if as_json:
        show_json(told)
    else:
        show(context_page(told, time.time(), whole=whole))


_SHORT = 8
_EMPTY = line()
_LONGEST_PART_CHARS = 1200


def context_page(told: ToldContext, now: float, *, whole: bool = False) -> Page:
    """The budget first, then the words of each part; `whole` cuts none of them."""
    room = told.context_tokens - told.reply_tokens
    share = told.total_tokens / room if room > 0 else 0.0
    page: Page = [
        line(Part("  what it was told", "strong"), Part(f"  {ago(told.asked_at, now)}, {one_line(told.model)}", "dim")),
        _EMPTY,
        field(
            "in all",
            f"{count(told.total_tokens)} of {count(room)} tokens",
            Part(f"  {share:.0%}; {count(told.reply_tokens)} more are kept for the reply", "dim"),
        ),
        *(_row(part, max(1, told.total_tokens)) for part in told.parts),
    ]
    for note in told.notes:
        page += paragraph(note, style="warn")
    for part in told.parts:
        if part.text and part.name != "recalled":
            page += _part_rows(part, whole=whole)
        elif part.name == "recalled" and told.memories:
            page += _memory_rows(told.memories)
    return page


def _row(part: ContextPart, total: int) -> tuple[Part, ...]:
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
    cut = "" if len(text) == len(part.text) else "  --whole shows all of it"
    return [_EMPTY, line(Part(f"  {part.name}", "strong"), Part(cut, "dim")), *paragraph(text, indent=4)]


def _memory_rows(memories: list[ContextMemory]) -> Page:
    told = [one for one in memories if one.was_told]
    left = [one for one in memories if not one.was_told]
    page: Page = []
    if told:
        page += [
            _EMPTY,
            line(Part("  recalled", "strong"), Part(f"  {plural(len(told), 'memory', 'memories')} told", "dim")),
        ]
        for one in told:
            page += paragraph(one.line, indent=4)
            turn = f", turn {one_line(one.turn_id)[:_SHORT]}" if one.turn_id else ""
            page.append(
                line(
                    Part(f"      {one_line(one.episode_id)[:_SHORT]}", "accent"),
                    Part(f"{turn}, {one.tokens} tokens", "dim"),
                )
            )
    if left:
        page += [_EMPTY, line(Part("  left out", "strong"), Part("  it surfaced and was not told", "dim"))]
        for one in left:
            page += paragraph(one_line(one.line, 160), indent=4, style="dim")
            page.append(
                line(
                    Part(f"      {one_line(one.episode_id)[:_SHORT]}", "accent"),
                    Part(f"  {one_line(one.why_not)}", "warn"),
                )
            )
    return page
