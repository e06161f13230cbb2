"""What forgetting would leave that tells of the same thing: for the owner, before they agree to it.

Words and names find what says them. A reply that says "your brother" in the place of his name stays, and is enough for
the mind to tell of him again: a person who asked it to forget should know (docs/explain/forgetting.md).
"""

from reveries import protocol
from reveries.daemon.mind import Mind
from reveries.memory.forgetting.forgetting import ForgetReport
from reveries.plaintext import one_line

_CUES = 8
_CUE_CHARS = 1_000
_SHOWN = 8
_LEAST_WORDS = 4


async def left_behind(mind: Mind, told: ForgetReport) -> list[protocol.ForgottenItem]:
    """The turns that would stay and say nearly the same as what would go, the most alike first."""
    gone = {item.id for item in told.items}
    said = [item.text for item in told.items if item.kind == "turn" and _says_something(item.text)]
    longest = sorted(said, key=len, reverse=True)[:_CUES]
    like = await mind.memory.turns_like([text[:_CUE_CHARS] for text in longest], gone, 2 * _SHOWN)
    return [
        protocol.ForgottenItem(turn.id, "turn", turn.said_at, one_line(f"{turn.speaker}: {turn.text}"))
        for turn in like
        if _says_something(turn.text)
    ][:_SHOWN]


def _says_something(text: str) -> bool:
    """ "I see." is like every other "I see."."""
    return len(text.split()) >= _LEAST_WORDS
