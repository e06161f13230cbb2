"""What a thought is told (R-32..R-34, R-111). Pure. Stable first (rules, self-model), what changes in the last message.

How much there is to read varies with how much happened (R-33): a rich conversation brings many lines, a quiet day few.
"""

from reveries.llm.base import Message
from reveries.monologue.thought import Reactivation, Reason, ThoughtInputs
from reveries.plaintext import one_line
from reveries.prompts import prompt

RECENT_LINES = 10
MEMORY_LINES = 5
LINE_CHARS = 240
PREVIOUS_CHARS = 400
FACT_LINES = 10
_UNNAMED = "the person"


def thinking_messages(inputs: ThoughtInputs, why: Reactivation) -> tuple[Message, ...]:
    """The prompt of one thought: a system message that is byte-equal from thought to thought, and one that is not."""
    return (Message("system", _system(inputs)), Message("user", _occasion(inputs, why)))


def _system(inputs: ThoughtInputs) -> str:
    owner = inputs.owner_name or _UNNAMED
    text = prompt("think", mind=inputs.mind_name, owner=owner)
    if inputs.narrative:
        text += f"\n\nWhat you are, in your own words: {one_line(inputs.narrative, 600)}"
    if inputs.owner_facts:
        text += f"\n\nWhat you know about {owner}:\n" + _lines(inputs.owner_facts[-FACT_LINES:])
    return text


def _occasion(inputs: ThoughtInputs, why: Reactivation) -> str:
    """Everything that is new, each part only when there is something in it."""
    owner = inputs.owner_name or _UNNAMED
    blocks = [f"[It is {inputs.now_words}. {inputs.silence_words}]".replace(" ]", "]")]
    parts = (
        ("A quiet word to you", (inputs.ambient,) if inputs.ambient else ()),
        ("What was just said", inputs.recent[-RECENT_LINES:]),
        ("What comes to mind", tuple(f"{m.when}: {m.text}" for m in inputs.memories[:MEMORY_LINES])),
        ("Not yet resolved", inputs.unresolved),
        ("In the calendar", inputs.calendar),
        ("Your last thought", (one_line(inputs.previous, PREVIOUS_CHARS),) if inputs.previous else ()),
    )
    blocks += [f"[{title}:\n{_lines(lines)}]" for title, lines in parts if lines]
    blocks.append(f"{_why(why, owner)} {prompt('think_now', owner=owner)}")
    return "\n".join(blocks)


def _why(why: Reactivation, owner: str) -> str:
    match why.reason:
        case Reason.CONVERSATION:
            return prompt("conversation_ended", owner=owner)
        case Reason.ASSOCIATION:
            return "A memory came up by itself."
        case Reason.CALENDAR:
            return f"Something in the calendar is near: {one_line(why.detail)}."
        case Reason.COMFORT | Reason.FRESH_START:
            return "Begin again, calmly, with something simple and true."
        case Reason.WAKING:
            return "You have just woken up."
        case _:
            return "Some time has passed."


def _lines(lines: tuple[str, ...]) -> str:
    return "\n".join(f"- {one_line(line, LINE_CHARS)}" for line in lines)
