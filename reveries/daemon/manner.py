"""How an answer is to be given, told right before the words that it answers. Pure.

A small model goes by what it read last. With one rule for all words ("when they ask ..., when they tell ...") the one
that ships answered "I don't know the answer" to people who had told it something (bench/replies.py counts it). So the
words decide which rule it reads, by their form: good enough for English; other languages are known by their question
marks.
"""

import re
from enum import Enum
from typing import Final

from reveries.memory.sleep.extracts import telling

_ASKING: Final = re.compile(
    r"""[?？؟]
    | ^\W*(?: (?:and|but|so|ok|okay|well|please|hey|now)\W+ )*
      (?: who|whom|whose|what(?!\s+an?\b)|when(?!\s+(?:i|we|my|our)\b)|where|which|why|how|do|does|did|is|are|am
        |was|were|can|could|will|would|should|shall|may|might|must|have\s+you|has|had\s+i|tell|remind|name|list
        |explain|describe|give|show|help|write|find|summari[sz]e|translate|compare|suggest|recommend|check|count
        |calculate|convert|draft|rewrite|correct|continue|go\s+on|sing|play|say|read|make|create|invent|imagine
        |think|guess|choose|pick|look|let|teach|plan|define|spell|repeat|answer|try|stop|use|keep|add|sort|turn
        |call)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_COURTESY: Final = re.compile(
    r"""\W*(?: (?:hi|hello|hey|good\s*(?:morning|day|afternoon|evening|night|bye)|thanks|thank\s+you|bye|see\s+you
        |sleep\s+well)\b(?:\W+\w+){0,2} | yes|no|exactly|sure|great|nice|lol )\W*""",
    re.IGNORECASE | re.VERBOSE,
)


class Manner(Enum):
    """What is told to the model before the words."""

    ANSWER = 'If it was never said, say that you do not know it yet. Answer the person as "you".'
    TAKE_INTEREST = (
        "The person tells you something: say something kind about it, in your own words, and ask one short question. "
        'Answer the person as "you".'
    )
    PLAIN = 'Answer the person as "you".'


def manner_for(words: str) -> Manner:
    """Whether `words` ask for something, tell something, or neither ("Good night!")."""
    if _ASKING.search(words):
        return Manner.ANSWER
    tells = telling(words) > 0.0 and _COURTESY.fullmatch(words) is None
    return Manner.TAKE_INTEREST if tells else Manner.PLAIN
