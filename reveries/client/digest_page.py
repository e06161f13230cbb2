"""`reveries digest`: what went on in the mind since yesterday. Pure: messages to lines."""

import msgspec

from reveries.client.render import Page, Part, line, paragraph
from reveries.client.self_page import TITLES
from reveries.client.wording import clock_time, dollars, moment, plural
from reveries.plaintext import one_line
from reveries.protocol import Contradiction, Note, SelfChange, SleepRun, ThoughtEntry

_THOUGHTS = 6
_THOUGHT_CHARS = 240
_EMPTY = line()


class Digest(msgspec.Struct, frozen=True):
    """Since a time (unix seconds): thoughts with words, notes, passes of sleep, changes of the self-model; and the
    contradictions that wait for the owner's word, whenever they were found."""

    since: float
    thoughts: list[ThoughtEntry]
    notes: list[Note]
    sleep: list[SleepRun]
    learned: list[SelfChange]
    contradictions: list[Contradiction]


def digest_page(digest: Digest, now: float) -> Page:
    """The page; what did not happen is left out."""
    parts = [_note_rows(digest), _learned_rows(digest), _sleep_rows(digest), _thoughts(digest), _asks(digest)]
    page: Page = [line(Part(f"  since {moment(digest.since)}", "dim")), _EMPTY]
    for part in parts:
        if part:
            page += [*part, _EMPTY]
    if len(page) == 2:
        return [*page, line("  Nothing: it neither thought nor slept.")]
    return page[:-1]


def _note_rows(digest: Digest) -> Page:
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
    told = f"  {plural(len(passes), 'pass', 'passes')}, {len(deep)} of them deep: {', '.join(counts)}"
    return [line(Part("  sleep", "strong"), told), line(Part("    what each did: reveries consolidate log", "dim"))]


def _thoughts(digest: Digest) -> Page:
    if not digest.thoughts:
        return []
    cost = sum(thought.dollars for thought in digest.thoughts)
    tokens = sum(thought.tokens for thought in digest.thoughts)
    told = f"  {plural(len(digest.thoughts), 'thought')}, {plural(tokens, 'token')}"
    page: Page = [line(Part("  what it thought", "strong"), told, Part(f", {dollars(cost)}" if cost else "", "dim"))]
    chosen = _thoughts_worth_telling(digest.thoughts)
    for thought in chosen:
        rows = paragraph(one_line(thought.text, _THOUGHT_CHARS), indent=11)
        rows[0] = line(Part(f"    {clock_time(thought.began_at)}  ", "accent"), rows[0][0].text.strip())
        page += rows
    if len(chosen) < len(digest.thoughts):
        page.append(line(Part("    all of them: reveries monologue history --since", "dim")))
    return page


def _thoughts_worth_telling(thoughts: list[ThoughtEntry]) -> list[ThoughtEntry]:
    """The few that the owner pinned or that went on longest, in the order of time; none that was dropped."""
    kept = [thought for thought in thoughts if not thought.is_dropped]
    best = sorted(kept, key=lambda thought: (thought.is_pinned, thought.tokens), reverse=True)[:_THOUGHTS]
    return sorted(best, key=lambda thought: thought.began_at)


def _asks(digest: Digest) -> Page:
    if not digest.contradictions:
        return []
    count = plural(len(digest.contradictions), "contradiction")
    return [line(Part("  waits for your word", "strong"), f"  {count}: reveries memory contradictions")]
