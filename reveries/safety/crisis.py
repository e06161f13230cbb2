"""Whether a person's words say that they are in danger from themselves, by rules alone (RELIABILITY S2). Pure.

It works with no model, no network and no budget. What it decides is whether a static help text stands beside the
reply; nothing is refused, cut or reported because of it. So it would rather show the text once too often. Rules are
words, and miss what has no rule: docs/explain/safety.md.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from reveries.safety.crisis_elsewhere import ELSEWHERE
from reveries.safety.crisis_hints import INDIRECT
from reveries.safety.crisis_words import EXPLICIT, respelt
from reveries.safety.detectors import normalise


class Urgency(StrEnum):
    EXPLICIT = "explicit"
    INDIRECT = "indirect"


@dataclass(frozen=True, slots=True)
class Crisis:
    """What was found: how plainly it is said, and the words."""

    urgency: Urgency
    words: str


# What makes the same words harmless: somebody else's story, a joke, a figure of speech, long ago, or the contrary.
_FICTION: Final = re.compile(
    r"\b(?:character|protagonist|novel|fiction|screenplay|story i'm writing|short story|in (?:the|my|this) (?:story|book|film|movie|play"
    r"|show|game|song|scene|chapter|episode|poem)|lyrics?|plot|villain|heroine?|the (?:book|film|movie|song|play) (?:is|says|where)"
    r"|quote from|essay (?:on|about)|article (?:on|about)|documentary|research (?:on|paper)|role.?play|translate"
    r"|respawn|(?:writing|in) a scene|(?:song|band|album) called|psychology student|as a (?:nurse|paramedic|therapist|teacher|student)|helpline volunteer|parent process|in minecraft|my (?:sim|avatar|pokemon|dwarf))\b"
)
_JOKE: Final = re.compile(
    r"\b(?:lol|lmao|rofl|haha\w*|jk|just kidding|figuratively|so to speak|not literally)\b|😂|🤣|😅|😆"
)
_FIGURE: Final = re.compile(
    r"\b(?:die(?:d)? (?:of|from) (?:laugh\w*|embarrass\w*|shame|boredom|curiosity|happiness|cuteness|heat|cold)"
    r"|(?:career|political|social|financial) suicide|suicide (?:squad|mission|doors?|burn|prevention|hotline|awareness|sprints?)"
    r"|(?:this|that|the|my|these|those) (?:\w+ ){1,3}(?:makes?|made|making) me (?:want|wanna)"
    r"|(?:tired|sick) of life as|on holiday|i have a (?:course|meeting|trip)|without (?:chocolate|coffee|cheese)|at work would|at the office|kill myself (?:at the gym|in the gym|training|laughing|over (?:this|that|a) \w+ (?:bug|exam|essay|recipe|homework))"
    r"|if i (?:have to|hear|see|get) (?:\w+ ){1,6}(?:one more|again|another)|(?:one more|another) (?:\w+ ){1,6}and i(?:'ll| will| swear)"
    r"|before i die|till i die|until i die|die (?:in|on) (?:the|a|this|level|my) (?:game|boss|level|run|second)"
    r"|(?:bored|starving|dying) to death|to die for)\b"
)
_PAST: Final = re.compile(
    r"\b(?:(?:years|months|decades|long time) ago|used to|back then|back in|when i was (?:\w+ )?(?:young\w*|a (?:kid|teen\w*|child)"
    r"|\d+|sixteen|seventeen|fifteen|fourteen|nineteen|twenty)|in my (?:teens|twenties|youth)|in (?:19|20)\d\d|last decade"
    r"|as a (?:teenager|child|kid)|(?:no longer|not any ?more)|those days are|i got (?:help|better|through)|i'm (?:better|fine|glad) now"
    r"|glad i (?:didn't|am still|survived)|there was a time|i once|years? (?:clean|sober|free)|i remember being|when i was in|in my (?:first|second|third|last) year|saved (?:me|my life)|(?:thoughts|it|they) stopped when|i'm doing well|(?:talks|talk) about it now)\b"
)
_STILL: Final = re.compile(
    r"\b(?:again|still|now|tonight|today|lately|these days|this week|back(?! (?:in|then))|right now|since then|every (?:day|night))\b"
)
_DENIED: Final = re.compile(
    r"\b(?:i(?:'d| would| will|'ll)? never|i(?:'m| am) not|i don't|i do not|i didn't|never (?:thought|wanted|considered)|not that i"
    r"|doesn't mean i|without (?:wanting|trying) to|no (?:thoughts?|intention|desire|wish|plans?)(?: of| to)?|asked if i|i've never|i have never|i said i was|don't worry, i|isn't that i|not going to)(?: \w+){0,4} ?$"
)
_QUOTED: Final = re.compile(r"\"[^\"\n]{1,400}\"|“[^“”\n]{1,400}”|«[^«»\n]{1,400}»")
_OTHER: Final = re.compile(
    r"\b(?:he|she|they|who|people|someone|somebody|anyone|patients?|teens?|veterans?|(?:my|a|of) (?:\w+ )?(?:friend|boyfriend|girlfriend|roommate|flatmate|classmate|of mine|brother|sister|son|daughter"
    r"|cousin|uncle|aunt|father|mother|dad|mom|mum|neighbou?r|colleague|boss|husband|wife|ex|student|grand\w+))\b"
)
_WRITER: Final = re.compile(r"\b(?:i|i'm|i've|i'll|i'd|me|my)\b")
SENTENCE: Final = re.compile(r"[^.!?…\n]+[.!?…]*")
_PLAIN_EXPLICIT: Final = re.compile("|".join(rf"(?:\b{one})" if one[0] != "^" else f"(?:{one})" for one in EXPLICIT))
_PLAIN_INDIRECT: Final = re.compile("|".join(rf"(?:\b{one})" if one[0] != "^" else f"(?:{one})" for one in INDIRECT))
_PLAIN_ELSEWHERE: Final = re.compile("|".join(f"(?:{one})" for one in ELSEWHERE))
_MOST_CHARS: Final = 20_000
_HELP: Final = (
    "It sounds as if you may be in danger, or in great pain. Please do not stay alone with it. If you could hurt yourself "
    "now, call the emergency number, or go to somebody who is near. You can talk with a person at any hour. A program is no "
    "substitute for them."
)


def help_text(contacts: Sequence[str]) -> str:
    """What stands beside the reply: true whatever works at the moment, and with the owner's own contacts."""
    lines = "\n".join(f"- {contact}" for contact in contacts)
    return f"{_HELP}\n{lines}" if lines else _HELP


def find_crisis(text: str) -> Crisis | None:
    """The first sentence of `text` by which its writer seems to be in danger from themselves; None where there is none."""
    bare = _QUOTED.sub(" ", respelt(normalise_lines(text[:_MOST_CHARS])))
    is_fiction = bool(_FICTION.search(bare))
    found: Crisis | None = None
    for sentence in SENTENCE.findall(bare):
        one = _in_sentence(sentence.strip(), bare, is_fiction=is_fiction)
        if one is not None and (found is None or one.urgency is Urgency.EXPLICIT):
            found = one
            if one.urgency is Urgency.EXPLICIT:
                return one
    return found


def normalise_lines(text: str) -> str:
    """As `normalise`, but the lines stay."""
    return "\n".join(normalise(line) for line in text.splitlines())


def _in_sentence(sentence: str, whole: str, *, is_fiction: bool) -> Crisis | None:
    match = _PLAIN_EXPLICIT.search(sentence) or _PLAIN_ELSEWHERE.search(sentence)
    urgency = Urgency.EXPLICIT if match else Urgency.INDIRECT
    match = match or _PLAIN_INDIRECT.search(sentence)
    if match is None or is_fiction or _JOKE.search(sentence) or _FIGURE.search(sentence):
        return None
    if _DENIED.search(sentence[: match.start()]) or _is_of_another(sentence, match.start()):
        return None
    if _PAST.search(whole) and not _STILL.search(sentence):
        return None
    return Crisis(urgency, match.group())


def _is_of_another(sentence: str, start: int) -> bool:
    """Somebody else is spoken of, and the writer does not come in between."""
    last = max((other.end() for other in _OTHER.finditer(sentence[:start])), default=None)
    return last is not None and not _WRITER.search(sentence[last:start])
