"""`reveries digest`: what it thought and learned since yesterday."""

import time
from typing import TYPE_CHECKING

import click
import msgspec

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.features.self_model import TITLES
from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import clock_time, dollars, moment, plural
from reveries.protocol import Contradiction, Note, SelfChange, SleepRun, ThoughtEntry
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries.client.connection import AskCallback


class Digest(msgspec.Struct, frozen=True):
    """Since a time (unix seconds): thoughts with text, notes, passes of sleep, changes of the self-model; and all
    contradictions that the owner has not settled."""

    since: float
    thoughts: list[ThoughtEntry]
    notes: list[Note]
    sleep: list[SleepRun]
    learned: list[SelfChange]
    contradictions: list[Contradiction]


@click.command("digest", short_help="What it thought and learned since yesterday.")
@click.option("--since", "since_text", default="1d", show_default=True, help="How long ago (12h, 3d), or an ISO time.")
@json_option(Digest)
def command(since_text: str, as_json: bool) -> None:
    """Show what happened in the mind: thoughts, notes to you, sleep, changes of the self-model, and what waits for your
    decision. Reading it changes nothing."""
    from reveries.client.sync_call import call_mind
    from reveries.client.wording import since

    began = since(since_text, time.time())
    digest = call_mind(lambda mind: collect_digest(mind.ask, began))
    print_answer(digest, as_json)


_THOUGHTS = 6
_THOUGHT_CHARS = 240
_EMPTY = line()


@page_of(Digest, "digest")
def digest_page(digest: Digest, now: float) -> Page:
    """Render the digest; empty sections are left out."""
    parts = [
        _digest_note_rows(digest),
        _learned_rows(digest),
        _sleep_rows(digest),
        _digest_thought_rows(digest),
        _contradiction_rows(digest),
    ]
    page: Page = [line(Part(f"  since {moment(digest.since)}", "dim")), _EMPTY]
    for part in parts:
        if part:
            page += [*part, _EMPTY]
    if len(page) == 2:
        return [*page, line("  Nothing: it neither thought nor slept in this period.")]
    return page[:-1]


def _digest_note_rows(digest: Digest) -> Page:
    if not digest.notes:
        return []
    page: Page = [line(Part("  for you", "strong"))]
    for note in digest.notes:
        page += paragraph(one_line(note.text, 1000), indent=4)
    return page


def _learned_rows(digest: Digest) -> Page:
    page: Page = []
    for change in digest.learned:
        for of_field in change.changes:
            title = TITLES.get(of_field.field, one_line(of_field.field))
            for sign, style, statements in (("+", "good", of_field.added), ("-", "dim", of_field.removed)):
                for statement in statements:
                    rows = paragraph(one_line(statement, 1000), indent=6)
                    rows[0] = line(Part(f"    {sign} ", "good" if style == "good" else "dim"), rows[0][0].text.strip())
                    rows[-1] = (*rows[-1], Part(f"  {title}{', by you' if change.by_owner else ''}", "dim"))
                    page += rows
    return [line(Part("  what it learned", "strong")), *page] if page else []


def _sleep_rows(digest: Digest) -> Page:
    passes = [run for run in digest.sleep if run.processed]
    if not passes:
        return []
    deep = [run for run in passes if run.depth == "deep"]
    counts = [
        plural(sum(run.processed for run in passes), "experience"),
        plural(sum(run.created for run in passes), "new episode"),
        *([f"{sum(run.merged for run in passes)} merged"] if any(run.merged for run in passes) else []),
    ]
    summary = f"  {plural(len(passes), 'pass', 'passes')}, {len(deep)} of them deep: {', '.join(counts)}"
    return [line(Part("  sleep", "strong"), summary), line(Part("    details: reveries consolidate log", "dim"))]


def _digest_thought_rows(digest: Digest) -> Page:
    if not digest.thoughts:
        return []
    cost = sum(thought.dollars for thought in digest.thoughts)
    tokens = sum(thought.tokens for thought in digest.thoughts)
    counts = f"  {plural(len(digest.thoughts), 'thought')}, {plural(tokens, 'token')}"
    page: Page = [line(Part("  what it thought", "strong"), counts, Part(f", {dollars(cost)}" if cost else "", "dim"))]
    chosen = _select_thoughts(digest.thoughts)
    for thought in chosen:
        rows = paragraph(one_line(thought.text, _THOUGHT_CHARS), indent=11)
        rows[0] = line(Part(f"    {clock_time(thought.began_at)}  ", "accent"), rows[0][0].text.strip())
        page += rows
    if len(chosen) < len(digest.thoughts):
        page.append(line(Part("    show all: reveries monologue history --since", "dim")))
    return page


def _select_thoughts(thoughts: list[ThoughtEntry]) -> list[ThoughtEntry]:
    """Select pinned thoughts, then the longest ones, in order of time; dropped ones are left out."""
    kept = [thought for thought in thoughts if not thought.is_dropped]
    best = sorted(kept, key=lambda thought: (thought.is_pinned, thought.tokens), reverse=True)[:_THOUGHTS]
    return sorted(best, key=lambda thought: thought.began_at)


def _contradiction_rows(digest: Digest) -> Page:
    if not digest.contradictions:
        return []
    count = plural(len(digest.contradictions), "contradiction")
    return [line(Part("  waits for your decision", "strong"), f"  {count}: reveries memory contradictions")]


DIGEST_SINCE = "1d"
_MOST = 1000
_NOTES = 100
_CHANGES = 200


async def collect_digest(ask: "AskCallback", since: float) -> Digest:
    """Collect what happened since a time (unix seconds)."""
    thoughts = await ask(lambda new_id: protocol.AskThoughts(new_id, since, _MOST), protocol.Thoughts)
    notes = await ask(lambda new_id: protocol.AskNotes(new_id, _NOTES), protocol.Notes)
    passes = await ask(lambda new_id: protocol.AskSleepLog(new_id, _MOST), protocol.SleepLog)
    changes = await ask(lambda new_id: protocol.AskSelfHistory(new_id, _CHANGES), protocol.SelfHistory)
    doubts = await ask(protocol.AskContradictions, protocol.Contradictions)
    return Digest(
        since=since,
        thoughts=[thought for thought in thoughts.thoughts if thought.text.strip()],
        notes=[note for note in notes.notes if note.written_at >= since],
        sleep=[run for run in passes.runs if run.began_at >= since],
        learned=[change for change in changes.entries if change.at >= since],
        contradictions=doubts.contradictions,
    )
