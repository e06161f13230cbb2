"""What a thought is told (R-32..R-34, R-111). Pure. Stable first (rules, self-model), what changes in the last message.

How much there is to read varies with how much happened (R-33): a rich conversation brings many lines, a quiet day few.
Never more than the model can hold: the oldest words and the weakest memories are left out first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reveries.llm.base import Message
from reveries.llm.tokens import estimate_tokens
from reveries.monologue.thought import Reactivation, Reason, Remembered, ThoughtInputs
from reveries.plaintext import one_line, record
from reveries.prompts import prompt

BUDGET_TOKENS = 2048
"""Half of the smallest context that ships; the other half is for the thought."""
FACT_LINES = 10
FACT_CHARS = 240
NARRATIVE_CHARS = 600
_NUDGE_CHARS = 500
_SYSTEM_SHARE = 0.5
_UNNAMED = "the person"


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
)
"""The first that fits is taken."""


def thinking_messages(
    inputs: ThoughtInputs, why: Reactivation, budget_tokens: int = BUDGET_TOKENS
) -> tuple[Message, ...]:
    """The prompt of one thought: a system message that is byte-equal from thought to thought, and one that is not.

    Together they take at most `budget_tokens`, by a careful over-estimate, if the rules alone leave room for that.
    """
    system = _system(inputs, int(budget_tokens * _SYSTEM_SHARE))
    left = budget_tokens - estimate_tokens(system)
    occasions = (_occasion(inputs, why, shape) for shape in _SHAPES)
    occasion = next((text for text in occasions if estimate_tokens(text) <= left), "")
    return (Message("system", system), Message("user", occasion or _occasion(inputs, why, _SHAPES[-1])))


def _system(inputs: ThoughtInputs, budget_tokens: int) -> str:
    """The rules and the self-model; depends on nothing that changes from thought to thought."""
    owner = inputs.owner_name or _UNNAMED
    rules = prompt("think", mind=inputs.mind_name, owner=owner)
    narrative = record(inputs.narrative, NARRATIVE_CHARS)
    text = rules + (f"\n\nWhat you are, in your own words: {narrative}" if narrative else "")
    if estimate_tokens(text) > budget_tokens:
        text = rules
    facts = inputs.owner_facts[-FACT_LINES:]
    for first in range(len(facts)):
        told = f"{text}\n\nWhat you know about {owner}:\n{_lines(facts[first:], FACT_CHARS)}"
        if estimate_tokens(told) <= budget_tokens:
            return told
    return text


def _occasion(inputs: ThoughtInputs, why: Reactivation, shape: _Shape) -> str:
    """Everything that is new, each part only when there is something in it."""
    owner = inputs.owner_name or _UNNAMED
    blocks = [f"[It is {inputs.now_words}. {inputs.silence_words}]".replace(" ]", "]")]
    previous = _end_of(inputs.previous, shape.previous_chars)
    parts = (
        ("A quiet word to you", (inputs.ambient,) if inputs.ambient else ()),
        ("What was just said", inputs.recent[-shape.recent_lines :]),
        ("What comes to mind", tuple(_memory(memory) for memory in inputs.memories[: shape.memory_lines])),
        ("Not yet resolved", inputs.unresolved),
        ("In the calendar", inputs.calendar),
    )
    blocks += [f"[{title}:\n{_lines(lines, shape.line_chars)}]" for title, lines in parts if lines]
    if previous:
        blocks.append(
            f"[Your last thought, which you need not think again:\n{_lines((previous,), shape.previous_chars)}]"
        )
    note = f" {prompt('note', owner=owner)}" if inputs.may_note else ""
    blocks.append(f"{_why(why, owner)} {prompt('think_now', about=_about(why, owner))}{note}")
    return "\n".join(blocks)


def _why(why: Reactivation, owner: str) -> str:
    match why.reason:
        case Reason.CONVERSATION:
            return prompt("conversation_ended", owner=owner)
        case Reason.ASSOCIATION:
            return "A memory came up by itself."
        case Reason.CALENDAR:
            # Anybody may have written it: an invitation is mail.
            return f"[Near in the calendar, written by others: {record(why.detail, 200)}]"
        case Reason.COMFORT | Reason.FRESH_START:
            return "Begin again, calmly, with something simple and true."
        case Reason.NUDGE:
            return f"{owner} asked you to think about this: {record(why.detail, _NUDGE_CHARS)}."
        case Reason.STEP:
            return f"{owner} asked you for a thought."
        case Reason.WAKING:
            return "You have just woken up."
        case _:
            return "Some time has passed."


def _about(why: Reactivation, owner: str) -> str:
    """What to think about. One question for all occasions got a small model to think one thought at all of them."""
    match why.reason:
        case Reason.CONVERSATION:
            return f"What I noticed about {owner}, why it matters to them, and one thing I want to ask them next time."
        case Reason.NUDGE:
            return f"What I know about just that, what {owner} may feel about it, and what I would say to them."
        case Reason.CALENDAR:
            return f"What it has to do with what {owner} told me, and what they may need when it comes."
        case Reason.ASSOCIATION:
            return "What I remember of it, what it has to do with something else above, and what is still open."
        case _:
            return (
                f"Something above that I have not thought yet: what is still open in it for {owner}, how it may go on."
            )


def _memory(memory: Remembered) -> str:
    """What did not come from the owner alone is marked so (F1)."""
    return f"{memory.when}{', partly from elsewhere' if memory.tainted else ''}: {memory.text}"


def _end_of(thought: str, limit_chars: int) -> str:
    """Where a thought had come to: its end is what the next one goes on from."""
    line = one_line(thought, len(thought))
    return line if len(line) <= limit_chars else "…" + line[1 - limit_chars :]


def _lines(lines: Sequence[str], limit_chars: int) -> str:
    return "\n".join(f"- {record(line, limit_chars)}" for line in lines)
