"""Whether an answer of the owner says yes, and what it says beyond that. Mostly English. Pure.

A yes is read piece by piece: yes, thanks, emphasis, and the short sentences that only repeat the question. What is none
of these is a change, or what is missing, and must not be lost.
"""

import re
from typing import Final

_VERY: Final = r"(?:(?:very|really|quite|all|just|absolutely|perfectly|totally|already|pretty) )*"
_PRAISE: Final = r"(?:good|fine|great|perfect|excellent|nice|lovely|wonderful|ok|okay|right|correct|done|reached|there)"
_AS_IT_IS: Final = r"(?: (?:to|by|for|with) (?:me|us)| enough| as it is| as is| so| now| already| for now)*"
_IT: Final = r"(?:it|this|that|(?:the|this|that) (?:draft|text|list|overview|page|file))"
_SUBJECT: Final = (
    rf"(?:(?:{_IT}|everything|all|the goal)(?: is| looks| sounds| seems| reads|'s)|we are|we're|looks|sounds|seems)"
)
_PLAIN_YES: Final = r"yes|yep|yeah|yup|ok|okay|ja|oui|sí|sim"
_PHRASES: Final = (
    r"y|si|sure(?: thing)?|of course|absolutely|definitely|certainly|exactly|agreed|approved?|by all means",
    r"(?:always|once)(?=[\s.!]*\Z)",
    rf"(?:{_SUBJECT} )?{_VERY}{_PRAISE}{_AS_IT_IS}",
    rf"(?:(?:it|that) )?works{_AS_IT_IS}|that(?: is|'s) it",
    rf"i (?:really )?(?:like|love) {_IT}(?: very much| a lot)?",
    rf"(?:i am|i'm) (?:very )?(?:happy|satisfied|pleased)(?: with {_IT})?|i (?:agree|approve|think so)",
    rf"keep(?: {_IT})?{_AS_IT_IS}|(?:write|take|use|accept) {_IT}{_AS_IT_IS}|do (?:so|{_IT})|please do|go ahead",
    r"(?:there is |there's )?nothing (?:is missing|missing|to change|to add|else|more)",
    r"no (?:more )?changes?(?: needed)?",
    r"(?:good|great|nice) (?:job|work)|gut|(?:das |es )?passt(?: so)?|genau|klar|d'accord",
)
_THANKS: Final = (
    r"(?:many )?thanks?(?: you)?(?: (?:very|so) much| a lot| again)?(?: for (?:it|this|that|your (?:work|help)))?",
    r"oh|well|indeed|really|then|well done|bitte|danke(?: schön)?|vielen dank|gerne?|merci|gracias|por favor",
)
_BREAK: Final = r"(?P<after>[\s.,;:!()\-–—👍🙂😊🎉]+|\Z)"
_BUT: Final = re.compile(r"(?:but|and)\b(?! for\b)[\s,]*", re.IGNORECASE)
_FEWEST_WORDS: Final = 2
"""Fewer words say too little without what stands before them."""


def _piece(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(phrases)}){_BREAK}")


_YES: Final = _piece(_PLAIN_YES)
_PLEASE: Final = _piece("please(?! do\\b)")
_PHRASE: Final = _piece(*_PHRASES)
_PIECES: Final = (_YES, _PLEASE, _PHRASE, _piece(*_THANKS))


def is_yes(answer: str) -> bool:
    """Whether an answer is a yes, perhaps with thanks or emphasis, and says nothing else."""
    said = _one_line(answer)
    end, _ = _read_yes(said)
    return bool(said) and end == len(said)


def begins_with_yes(answer: str) -> bool:
    """Whether an answer begins with a yes, whatever it goes on to say."""
    return _read_yes(_one_line(answer)) != (0, 0)


def what_is_beyond_yes(answer: str) -> str:
    """Return what an answer says beyond the yes that it begins with; without one, all of it. Empty for a mere yes."""
    said = _one_line(answer)
    end, place = _read_yes(said)
    if end == len(said):
        return ""
    if place and (but := _BUT.match(said, place)):
        place = but.end()
    rest = said[place:]
    return rest if len(rest.split()) >= _FEWEST_WORDS else said


def _one_line(answer: str) -> str:
    return " ".join(answer.split())


def _read_yes(said: str) -> tuple[int, int]:
    """Return where the yes that `said` begins with ends, and the last place up to there from which on something else
    can be read alone: after a comma, a plain yes or a please, or at a "but". Both 0 without a yes."""
    said = "".join(one.lower() if len(one.lower()) == 1 else one for one in said.replace("’", "'"))
    end, place, says_yes = 0, 0, False
    while found := next((hit for one in _PIECES if (hit := one.match(said, end))), None):
        end = found.end()
        says_yes = says_yes or found.re in (_YES, _PHRASE)
        if found["after"].strip() or found.re in (_YES, _PLEASE) or _BUT.match(said, end):
            place = end
        if end == len(said):
            break
    return (end, place) if says_yes else (0, 0)
