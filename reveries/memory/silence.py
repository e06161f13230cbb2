"""What a silence between two conversations means, by rule and in plain words (R-75, RA-17). Pure.

Its length counts against the owner's own rhythm, and so does what stood there before it: words that felt strongly, a
question without an answer, something put off. RA-17 asks a model when a silence ends; that is the moment at which the
owner waits for a reply, and the rule says as much."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from reveries.memory.model import Origin, Turn
from reveries.memory.sleep.encoding import valence_of

LONG_SECONDS = 24 * 3600.0
"""From here on a silence may mean something by its length alone."""
TENSE_SECONDS = 6 * 3600.0
"""From here on where what was said before it weighs."""
STRONG_VALENCE = 0.4
UNUSUAL = 2.0
"""So many times as long as usual is unusual."""
COUNTED_SECONDS = 3600.0
"""Shorter silences are pauses of one talk, and say nothing of the owner's rhythm."""
COUNTED = 20
_FEWEST = 3
_PUT_OFF = re.compile(
    r"\b(?:tomorrow|tonight|later|soon|next (?:time|week|month)|to be continued|let you know|get back to you"
    r"|wish me luck|fingers crossed|(?:will|'ll) (?:tell|see|ask|decide|find out))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class RestedConversation:
    """How a conversation stood when it came to rest."""

    felt: float = 0.0
    """Valence of the owner's last words, -1 to 1."""
    is_open: bool = False
    """A question stayed without an answer, or something was put off."""


def leaving_of(turns: Sequence[Turn]) -> RestedConversation:
    """How the conversation stands whose last turns these are, oldest first."""
    own = [turn for turn in turns if turn.origin is Origin.OWNER]
    if not own:
        return RestedConversation()
    felt = valence_of("\n".join(turn.text for turn in own))
    last = turns[-1]
    unanswered = last.origin is Origin.OWNER and "?" in last.text
    broken_off = last.origin is Origin.SELF and last.is_partial and "?" in own[-1].text
    return RestedConversation(felt, unanswered or broken_off or bool(_PUT_OFF.search(own[-1].text)))


def usual_of(lengths: Sequence[float]) -> float | None:
    """The usual silence, in seconds, out of the latest ones; None while too few are known."""
    counted = [seconds for seconds in lengths if seconds >= COUNTED_SECONDS][-COUNTED:]
    return median(counted) if len(counted) >= _FEWEST else None


def meaning_of(seconds: float, usual_seconds: float | None = None, leaving: RestedConversation | None = None) -> str:
    """What a silence of this length means, in plain words; empty for one that means nothing."""
    leaving = leaving or RestedConversation()
    is_tense = leaving.is_open or abs(leaving.felt) >= STRONG_VALENCE
    is_unusual = usual_seconds is not None and seconds >= UNUSUAL * usual_seconds
    is_long = seconds >= LONG_SECONDS and (usual_seconds is None or is_unusual)
    if not is_long and not (is_tense and seconds >= max(TENSE_SECONDS, usual_seconds or 0.0)):
        return ""
    told = f"{silence_length(seconds)} of silence"
    if is_unusual and usual_seconds is not None:
        told += f", where {silence_length(usual_seconds)} is usual"
    return told + what_was_left(leaving)


def what_was_left(leaving: RestedConversation) -> str:
    """How it stood before the silence, to be added to a phrase; empty when there is nothing to say."""
    told = ""
    if abs(leaving.felt) >= STRONG_VALENCE:
        told += f", after words that felt {'good' if leaving.felt > 0 else 'bad'}"
    if leaving.is_open:
        told += ", with something left open"
    return told


def silence_length(seconds: float) -> str:
    """A length in whole days, or in hours below one and a half."""
    days = round(seconds / LONG_SECONDS)
    if seconds < 1.5 * LONG_SECONDS:
        hours = round(seconds / 3600.0)
        return "a day" if hours >= 23 else "an hour" if hours <= 1 else f"{hours} hours"
    return f"{days} days"
