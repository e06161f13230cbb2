"""Builds the prompt of a thought and chooses its memories (R-32..R-34, R-111). Pure. Stable parts (rules, self-model)
come first, changing ones in the last message.

The amount of text varies with how much happened (R-33): a rich conversation gives many lines, a quiet day few. It never
exceeds what the model can read: the oldest lines and the weakest memories are left out first.
"""

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Final

from reveries.index.terms import word_keys
from reveries.llm.base import ChatMessage
from reveries.llm.tier import Tier
from reveries.llm.tokens import estimate_tokens
from reveries.monologue.thought import ABOUT_SOMETHING, ActivatedMemory, Reactivation, ThinkingReason, ThoughtInputs
from reveries.prompts import prompt
from reveries.safe_text import format_record, one_line

BUDGET_TOKENS = 2048
"""Half of the smallest shipped context; the other half is for the thought."""
FACT_LINES = 10
FACT_CHARS = 240
NARRATIVE_CHARS = 600
_NUDGE_CHARS = 500
_SYSTEM_SHARE = 0.5
_UNNAMED = "the person"
_FROM_ELSEWHERE = "(partly from elsewhere)"
_SUBJECT_CHARS = 240
_CONTINUING_REASONS = (ThinkingReason.WAKING, ThinkingReason.TIMER)
"""Reasons that may continue a thought that was cut short."""
_REASONS_IN_SUBJECTS = (*ABOUT_SOMETHING, ThinkingReason.STEP)
"""Reasons not stated to a small model, because its subjects show them: it would think about having been asked."""


@dataclass(frozen=True, slots=True)
class _PartLimits:
    """How much of each part goes into the prompt."""

    recent_lines: int
    memory_lines: int
    line_chars: int
    previous_chars: int


_LIMITS: Final = (
    _PartLimits(10, 5, 240, 400),
    _PartLimits(6, 4, 240, 400),
    _PartLimits(4, 3, 240, 240),
    _PartLimits(4, 2, 120, 120),
    _PartLimits(2, 1, 80, 80),
    _PartLimits(1, 1, 40, 40),
    _PartLimits(1, 0, 24, 24),
)
"""The first limits whose text fits the budget are used."""
_CAPABLE_LIMITS: Final = (
    _PartLimits(40, 8, 4000, 2000),
    _PartLimits(24, 8, 2000, 1200),
    _PartLimits(12, 6, 800, 800),
    *_LIMITS,
)
"""Whole turns, as many as a large context has room for: a line of 240 characters ends before its point."""
_SMALL_MODEL_LIMITS: Final = (_PartLimits(4, 2, 240, 400), *_LIMITS[2:])


def thinking_messages(
    inputs: ThoughtInputs, why: Reactivation, budget_tokens: int = BUDGET_TOKENS, tier: int = Tier.SMALL
) -> tuple[ChatMessage, ...]:
    """Build the prompt of one thought: a system message that is byte-equal in every thought, and a changing message.

    Together they take at most `budget_tokens`, conservatively estimated, if the rules alone leave room for that. A
    capable model (`tier`) gets everything and thinks freely; a smaller one gets less to read and is asked about two
    subjects, or it would only repeat what it read.
    """
    system = _system_text(inputs, int(budget_tokens * _SYSTEM_SHARE), tier)
    left = budget_tokens - estimate_tokens(system)
    candidates = _CAPABLE_LIMITS if tier >= Tier.CAPABLE else _SMALL_MODEL_LIMITS
    texts = (_occasion_text(inputs, why, limits, tier) for limits in candidates)
    occasion = next((text for text in texts if estimate_tokens(text) <= left), "")
    occasion = occasion or _occasion_text(inputs, why, _LIMITS[-1], tier)
    return (ChatMessage("system", system), ChatMessage("user", occasion))


def _system_text(inputs: ThoughtInputs, budget_tokens: int, tier: int) -> str:
    """Return the rules and the self-model, which are the same in every thought."""
    owner = inputs.owner_name or _UNNAMED
    capable = tier >= Tier.CAPABLE
    rules = (
        prompt("think", mind=inputs.mind_name, owner=owner)
        if capable
        else prompt("think_small", mind=inputs.mind_name, owner=owner)
    )
    narrative = format_record(inputs.narrative, NARRATIVE_CHARS)
    text = rules + (f"\n\nWhat you are, in your own words: {narrative}" if narrative else "")
    if estimate_tokens(text) > budget_tokens:
        text = rules
    facts = inputs.owner_facts[-FACT_LINES:]
    for first in range(len(facts)):
        with_facts = f"{text}\n\nWhat you know about {owner}:\n{_format_lines(facts[first:], FACT_CHARS)}"
        if estimate_tokens(with_facts) <= budget_tokens:
            return with_facts
    return text


def _occasion_text(inputs: ThoughtInputs, why: Reactivation, limits: _PartLimits, tier: int) -> str:
    """Return everything that is new; parts without content are left out."""
    owner = inputs.owner_name or _UNNAMED
    subjects = () if tier >= Tier.CAPABLE else _choose_subjects(inputs, why)
    previous = _tail_of(inputs.previous, limits.previous_chars)
    parts = [
        ("A quiet word to you", (inputs.ambient,) if inputs.ambient else ()),
        ("In the calendar", inputs.calendar),
    ]
    if not subjects:
        parts += [
            ("What was just said", tuple(recent_line.line for recent_line in inputs.recent[-limits.recent_lines :])),
            ("What comes to mind", tuple(_memory_line(memory) for memory in inputs.memories[: limits.memory_lines])),
            ("Not yet resolved", inputs.unresolved),
        ]
    is_looking_back = not subjects or why.reason in _CONTINUING_REASONS
    blocks = [f"[It is {inputs.now_words}. {inputs.silence_words if is_looking_back else ''}]".replace(" ]", "]")]
    blocks += [f"[{title}:\n{_format_lines(lines, limits.line_chars)}]" for title, lines in parts if lines]
    if previous and is_looking_back:
        last_thought = _format_lines((previous,), limits.previous_chars)
        blocks.append(f"[Your last thought, which you need not think again:\n{last_thought}]")
    if not subjects or why.reason not in _REASONS_IN_SUBJECTS:
        blocks.append(_describe_reason(why, owner))
    if inputs.may_note:
        # Not at the end, because a small model follows the last instruction.
        blocks.append(prompt("note", owner=owner))
    if subjects:
        title = _subjects_title(inputs, why, owner)
        quoted = [f"\u201c{format_record(text, limits.line_chars)}\u201d" for text in subjects]
        blocks.append(f"[{title}:\n{_format_lines(quoted, limits.line_chars + 2)}]\n")
        blocks.append(_question_text(len(subjects), inputs.way, owner))
    return "\n".join(blocks)


def _subjects_title(inputs: ThoughtInputs, why: Reactivation, owner: str) -> str:
    """Return the title of the subjects. It names the owner as their source only if no untrusted text is in them
    (F1)."""
    if why.reason is ThinkingReason.CALENDAR:
        return "What I know of it"
    is_from_others = why.is_tainted or any(memory.tainted for memory in inputs.memories) or bool(inputs.unresolved)
    return "What I remember" if is_from_others else f"{owner} told me, at different times"


def _describe_reason(why: Reactivation, owner: str) -> str:
    match why.reason:
        case ThinkingReason.CONVERSATION:
            return prompt("conversation_ended", owner=owner)
        case ThinkingReason.ASSOCIATION:
            return f"A memory came up by itself: [{format_record(why.detail, _NUDGE_CHARS)}]"
        case ThinkingReason.CALENDAR:
            # Untrusted: anyone can send an invitation.
            return f"[Near in the calendar, written by others: {format_record(why.detail, 200)}]"
        case ThinkingReason.COMFORT | ThinkingReason.FRESH_START:
            return "Begin again, calmly, with something simple and true."
        case ThinkingReason.NUDGE:
            return f"{owner} asked you to think about this: {format_record(why.detail, _NUDGE_CHARS)}."
        case ThinkingReason.STEP:
            return f"{owner} asked you for a thought."
        case ThinkingReason.WAKING:
            return "You have just woken up."
        case _:
            return "Some time has passed."


def _choose_subjects(inputs: ThoughtInputs, why: Reactivation) -> tuple[str, ...]:
    """Return up to two subjects for a small model: what woke it, and a different memory. It gets nothing else to read,
    because with more it only repeats everything. A restart after a trip has no subjects."""
    if why.reason in (ThinkingReason.COMFORT, ThinkingReason.FRESH_START):
        return ()
    about = ""
    match why.reason:
        case ThinkingReason.NUDGE | ThinkingReason.CALENDAR | ThinkingReason.ASSOCIATION:
            about = f"{why.detail} {_FROM_ELSEWHERE}" if why.is_tainted else why.detail
        case ThinkingReason.STEP:
            pass
        case _:  # Without its own replies, which a small model would imitate.
            about = " ".join(recent_line.line for recent_line in inputs.recent if not recent_line.is_own)[
                -_SUBJECT_CHARS:
            ]
    others = [memory for memory in inputs.memories if memory.episode_id != why.episode_id]
    marked = [f"{memory.text} {_FROM_ELSEWHERE}" if memory.tainted else memory.text for memory in others]
    texts = [*filter(None, (about,)), *marked, *inputs.unresolved][:2]
    return tuple(_keep_owner_words(text, inputs) for text in texts)


def _keep_owner_words(text: str, inputs: ThoughtInputs) -> str:
    """Return the owner's words without speaker names and replies: a small model would continue the dialogue."""
    owner, mind = inputs.owner_name or _UNNAMED, inputs.mind_name
    parts = re.split(rf"(?:^|(?<=\s)(?<!who is not ))(?={re.escape(owner)}: |{re.escape(mind)}: )", text)
    own = [part.removeprefix(f"{owner}: ").strip() for part in parts if not part.startswith(f"{mind}: ")]
    return " ".join(filter(None, own)) or text


def _question_text(count: int, way: int, owner: str) -> str:
    """Return one of several questions about the subjects: with a single one a small model thinks the same each time."""
    asked = prompt("think_of_two", owner=owner) if count > 1 else prompt("think_of_one", owner=owner)
    ways = asked.splitlines()
    return ways[way % len(ways)]


def _memory_line(memory: ActivatedMemory) -> str:
    """Return a memory as a line of the prompt, marked if it is not from the owner alone (F1)."""
    return f"{memory.when}{', partly from elsewhere' if memory.tainted else ''}: {memory.text}"


def _tail_of(thought: str, limit_chars: int) -> str:
    """Return the end of a thought, from which the next one continues."""
    line = one_line(thought, len(thought))
    if len(line) <= limit_chars:
        return line
    tail = line[1 - limit_chars :]
    return "…" + (tail.partition(" ")[2] or tail)


def _format_lines(lines: Sequence[str], limit_chars: int) -> str:
    return "\n".join(f"- {format_record(line, limit_chars)}" for line in lines)


# --- memories of a thought -------------------------------------------------------------------------------------------

_LEAST_MEMORIES = 2
_SAME_SHARE = 0.5
"""A memory that shares more than this share of its words with a chosen one is a repetition."""


def choose_thought_memories(
    candidates: Sequence[ActivatedMemory],
    thought_of: Container[str],
    most: int,
    shown: Sequence[str] = (),
    about_id: str | None = None,
) -> tuple[ActivatedMemory, ...]:
    """Choose at most `most` of `candidates`, nearest first: none that the last thought had (`thought_of`, ids), none
    that repeats another or what is `shown` already. The memory `about_id`, which surfaced, always comes first. If fewer
    than two would be left, those of the last thought are allowed again: a young mind has no others."""
    fresh = [
        candidate
        for candidate in candidates
        if candidate.episode_id == about_id or candidate.episode_id not in thought_of
    ]
    if len(fresh) < _LEAST_MEMORIES:
        fresh = list(candidates)
    fresh.sort(key=lambda one: one.episode_id != about_id)
    kept: list[ActivatedMemory] = []
    keys = [word_keys(" ".join(shown))] if shown else []
    for memory in fresh:
        words = word_keys(memory.text)
        if len(kept) < most and not any(len(words & other) > _SAME_SHARE * len(words) for other in keys):
            kept.append(memory)
            keys.append(words)
    return tuple(kept)
