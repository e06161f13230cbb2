"""What a thought is told (R-32..R-34, R-111). Pure. Stable first (rules, self-model), what changes in the last message.

How much there is to read varies with how much happened (R-33): a rich conversation brings many lines, a quiet day few.
Never more than the model can hold: the oldest words and the weakest memories are left out first.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reveries.llm.base import ChatMessage
from reveries.llm.tier import Tier
from reveries.llm.tokens import estimate_tokens
from reveries.monologue.thought import ABOUT_SOMETHING, ActivatedMemory, Reactivation, ThinkingReason, ThoughtInputs
from reveries.prompts import prompt
from reveries.safe_text import one_line, record

BUDGET_TOKENS = 2048
"""Half of the smallest context that ships; the other half is for the thought."""
FACT_LINES = 10
FACT_CHARS = 240
NARRATIVE_CHARS = 600
_NUDGE_CHARS = 500
_SYSTEM_SHARE = 0.5
_UNNAMED = "the person"
_FROM_ELSEWHERE = "(partly from elsewhere)"
_SUBJECT_CHARS = 240
_GOES_ON = (ThinkingReason.WAKING, ThinkingReason.TIMER)
"""These may take up a thought that was cut short."""
_SAID_BY_SUBJECTS = (*ABOUT_SOMETHING, ThinkingReason.STEP)
"""What a small model is given to think about says enough of these; it would think about having been asked."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """How much of each part is told."""

    recent_lines: int
    memory_lines: int
    line_chars: int
    previous_chars: int


_SHAPES: Final = (
    _Shape(10, 5, 240, 400),
    _Shape(6, 4, 240, 400),
    _Shape(4, 3, 240, 240),
    _Shape(4, 2, 120, 120),
    _Shape(2, 1, 80, 80),
    _Shape(1, 1, 40, 40),
    _Shape(1, 0, 24, 24),
)
"""The first that fits is taken."""
_SMALL_SHAPES: Final = (_Shape(4, 2, 240, 400), *_SHAPES[2:])


def thinking_messages(
    inputs: ThoughtInputs, why: Reactivation, budget_tokens: int = BUDGET_TOKENS, tier: int = Tier.SMALL
) -> tuple[ChatMessage, ...]:
    """The prompt of one thought: a system message that is byte-equal from thought to thought, and one that is not.

    Together they take at most `budget_tokens`, by a careful over-estimate, if the rules alone leave room for that.
    `tier`: what the model can do. A capable one is told what there is and left to think; a smaller one gets less to
    read and is asked about two things of it, or it tells all of it again.
    """
    system = _system(inputs, int(budget_tokens * _SYSTEM_SHARE), tier)
    left = budget_tokens - estimate_tokens(system)
    occasions = (_occasion(inputs, why, shape, tier) for shape in (_SHAPES if tier >= Tier.CAPABLE else _SMALL_SHAPES))
    occasion = next((text for text in occasions if estimate_tokens(text) <= left), "")
    return (ChatMessage("system", system), ChatMessage("user", occasion or _occasion(inputs, why, _SHAPES[-1], tier)))


def _system(inputs: ThoughtInputs, budget_tokens: int, tier: int) -> str:
    """The rules and the self-model; depends on nothing that changes from thought to thought."""
    owner = inputs.owner_name or _UNNAMED
    capable = tier >= Tier.CAPABLE
    rules = (
        prompt("think", mind=inputs.mind_name, owner=owner)
        if capable
        else prompt("think_small", mind=inputs.mind_name, owner=owner)
    )
    narrative = record(inputs.narrative, NARRATIVE_CHARS)
    text = rules + (f"\n\nWhat you are, in your own words: {narrative}" if narrative else "")
    if estimate_tokens(text) > budget_tokens:
        text = rules
    facts = inputs.owner_facts[-FACT_LINES:]
    for first in range(len(facts)):
        told = f"{text}\n\nWhat you know about {owner}:\n{_lines_within(facts[first:], FACT_CHARS)}"
        if estimate_tokens(told) <= budget_tokens:
            return told
    return text


def _occasion(inputs: ThoughtInputs, why: Reactivation, shape: _Shape, tier: int) -> str:
    """Everything that is new, each part only when there is something in it."""
    owner = inputs.owner_name or _UNNAMED
    subjects = () if tier >= Tier.CAPABLE else _subjects(inputs, why)
    previous = _end_of(inputs.previous, shape.previous_chars)
    parts = [
        ("A quiet word to you", (inputs.ambient,) if inputs.ambient else ()),
        ("In the calendar", inputs.calendar),
    ]
    if not subjects:
        parts += [
            ("What was just said", tuple(said.line for said in inputs.recent[-shape.recent_lines :])),
            ("What comes to mind", tuple(_memory(memory) for memory in inputs.memories[: shape.memory_lines])),
            ("Not yet resolved", inputs.unresolved),
        ]
    is_looking_back = not subjects or why.reason in _GOES_ON
    blocks = [f"[It is {inputs.now_words}. {inputs.silence_words if is_looking_back else ''}]".replace(" ]", "]")]
    blocks += [f"[{title}:\n{_lines_within(lines, shape.line_chars)}]" for title, lines in parts if lines]
    if previous and is_looking_back:
        told = _lines_within((previous,), shape.previous_chars)
        blocks.append(f"[Your last thought, which you need not think again:\n{told}]")
    if not subjects or why.reason not in _SAID_BY_SUBJECTS:
        blocks.append(_why(why, owner))
    if inputs.may_note:
        # Not at the end: a small model does what was said last.
        blocks.append(prompt("note", owner=owner))
    if subjects:
        title = _subjects_title(inputs, why, owner)
        quoted = [f"\u201c{record(text, shape.line_chars)}\u201d" for text in subjects]
        blocks.append(f"[{title}:\n{_lines_within(quoted, shape.line_chars + 2)}]\n")
        blocks.append(_question(len(subjects), inputs.way, owner))
    return "\n".join(blocks)


def _subjects_title(inputs: ThoughtInputs, why: Reactivation, owner: str) -> str:
    """Who said it is told only where that is sure: what others had a hand in is nobody's word here (F1)."""
    if why.reason is ThinkingReason.CALENDAR:
        return "What I know of it"
    is_from_others = why.is_tainted or any(memory.tainted for memory in inputs.memories) or bool(inputs.unresolved)
    return "What I remember" if is_from_others else f"{owner} told me, at different times"


def _why(why: Reactivation, owner: str) -> str:
    match why.reason:
        case ThinkingReason.CONVERSATION:
            return prompt("conversation_ended", owner=owner)
        case ThinkingReason.ASSOCIATION:
            return f"A memory came up by itself: [{record(why.detail, _NUDGE_CHARS)}]"
        case ThinkingReason.CALENDAR:
            # Anybody may have written it: an invitation is mail.
            return f"[Near in the calendar, written by others: {record(why.detail, 200)}]"
        case ThinkingReason.COMFORT | ThinkingReason.FRESH_START:
            return "Begin again, calmly, with something simple and true."
        case ThinkingReason.NUDGE:
            return f"{owner} asked you to think about this: {record(why.detail, _NUDGE_CHARS)}."
        case ThinkingReason.STEP:
            return f"{owner} asked you for a thought."
        case ThinkingReason.WAKING:
            return "You have just woken up."
        case _:
            return "Some time has passed."


def _subjects(inputs: ThoughtInputs, why: Reactivation) -> tuple[str, ...]:
    """Up to two things for a small model to think about: what woke it, and a memory that is another. It reads nothing
    else of what was said: with more before it, it tells all of it again. A new beginning has none."""
    if why.reason in (ThinkingReason.COMFORT, ThinkingReason.FRESH_START):
        return ()
    about = ""
    match why.reason:
        case ThinkingReason.NUDGE | ThinkingReason.CALENDAR | ThinkingReason.ASSOCIATION:
            about = f"{why.detail} {_FROM_ELSEWHERE}" if why.is_tainted else why.detail
        case ThinkingReason.STEP:
            pass
        case _:  # A small model takes its own replies for the way to think.
            about = " ".join(said.line for said in inputs.recent if not said.is_own)[-_SUBJECT_CHARS:]
    others = [memory for memory in inputs.memories if memory.episode_id != why.episode_id]
    marked = [f"{memory.text} {_FROM_ELSEWHERE}" if memory.tainted else memory.text for memory in others]
    texts = [*filter(None, (about,)), *marked, *inputs.unresolved][:2]
    return tuple(_without_speakers(text, inputs) for text in texts)


def _without_speakers(text: str, inputs: ThoughtInputs) -> str:
    """What the owner said, without the names before it and without the replies: a small model would go on with the
    dialogue."""
    owner, mind = inputs.owner_name or _UNNAMED, inputs.mind_name
    said = re.split(rf"(?:^|(?<=\s)(?<!who is not ))(?={re.escape(owner)}: |{re.escape(mind)}: )", text)
    own = [part.removeprefix(f"{owner}: ").strip() for part in said if not part.startswith(f"{mind}: ")]
    return " ".join(filter(None, own)) or text


def _question(count: int, way: int, owner: str) -> str:
    """What to ask about the subjects: one of several ways, or a small model thinks the same thought of all of them."""
    asked = prompt("think_of_two", owner=owner) if count > 1 else prompt("think_of_one", owner=owner)
    ways = asked.splitlines()
    return ways[way % len(ways)]


def _memory(memory: ActivatedMemory) -> str:
    """What did not come from the owner alone is marked so (F1)."""
    return f"{memory.when}{', partly from elsewhere' if memory.tainted else ''}: {memory.text}"


def _end_of(thought: str, limit_chars: int) -> str:
    """Where a thought had come to: its end is what the next one goes on from."""
    line = one_line(thought, len(thought))
    return line if len(line) <= limit_chars else "…" + line[1 - limit_chars :]


def _lines_within(lines: Sequence[str], limit_chars: int) -> str:
    return "\n".join(f"- {record(line, limit_chars)}" for line in lines)
