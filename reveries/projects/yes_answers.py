"""Whether an answer of the owner says yes, and what it says beyond that. Mostly English. Pure.

A yes is read piece by piece: yes, thanks, emphasis, and the short sentences that only repeat the question. What is none
of these is a change, or what is missing, and must not be lost. Some pieces are a yes only after another one ("no
changes", "fully"), or only to one kind of question.
"""

import re
from enum import StrEnum
from typing import Final


class YesTo(StrEnum):
    """What was asked."""

    ANYTHING = "anything"
    REACHED = "reached"
    """Whether a goal is reached."""


_ADVERB: Final = (
    r"(?:very|really|quite|all(?! (?:i|we|you|they|it|that)\b)|just|absolutely|perfectly"
    r"|totally|already|pretty|fully|completely|entirely|wholly"
    r"|finally|indeed|definitely|certainly|surely|truly|exactly|clearly|now)"
)
_VERY: Final = rf"(?:{_ADVERB} ){{0,4}}"
_REACHED: Final = r"(?:reached|done|finished|achieved|completed?|accomplished|fulfilled|met)"
_PRAISE: Final = (
    r"(?:good|fine|great|perfect|excellent|nice|lovely|wonderful|amazing|awesome|brilliant|fantastic|superb|super|beautiful"
    rf"|cool|ok|okay|right|correct|true|there|happy|{_REACHED})"
)
_AS_IT_IS: Final = (
    r"(?: (?:to|by|for|with) (?:me|us)| enough| as it is| as is| so| now| already| for now| please| right away)*"
)
_IT: Final = r"(?:it|this|that|(?:the|this|that) (?:draft|text|list|overview|page|file))"
_THINK: Final = r"(?:(?:i|we)(?: would|'d)? (?:think|believe|say) )?"
_SUBJECT: Final = (
    rf"(?:{_THINK}(?:(?:{_IT}|everything|all|the goal)(?: is| looks| sounds| seems| reads|'s)|they are|we are|we're"
    r"|looks|sounds|seems))"
)
_WAS: Final = rf"{_THINK}(?:{_IT}|everything|the goal)(?: has| was|'s) (?:been )?"
_NOW_VERB: Final = r"(?:is|are|am|has|have|do|does|did)"
_EMOJI: Final = "\U0001f44d\U0001f44c\u2705\u2714\u2611\U0001f4af\U0001f64c"
_HAPPY_EMOJI: Final = (
    "\U0001f642\U0001f60a\U0001f600\U0001f603\U0001f970\U0001f973\U0001f389\U0001f64f\u2764\ufe0f\u200d"
)
_MARKS: Final = rf".,;:!()\-–—{_EMOJI}{_HAPPY_EMOJI}\U0001f3fb-\U0001f3ff"
_BREAK: Final = rf"(?P<after>[\s{_MARKS}]+|\Z)"
_END: Final = rf"(?=\s*(?:[{_MARKS}]|\Z))"
"""The end of a sentence or of its part, not only of a word."""

_PLAIN_YES: Final = rf"yes|yep|yeah|yup|ok|okay|ja|oui|sí|sim|[{_EMOJI}]"
_PHRASES: Final = (
    r"y|si|sure(?: thing)?|of course|absolutely|definitely|certainly|totally|completely|exactly|affirmative",
    r"agreed|approved?|by all means|good to go|sounds like a plan",
    r"(?:always|once)(?=[\s.!]*\Z)",
    rf"(?:{_SUBJECT} |that would be )?{_VERY}{_PRAISE}{_AS_IT_IS}|{_WAS}{_VERY}{_REACHED}",
    rf"(?:(?:it|that) )?works{_AS_IT_IS}|that(?: is|'s| was) {_VERY}it",
    rf"i(?: would|'d)? (?:really )?(?:like|love) {_IT}(?: very much| a lot)?",
    rf"(?:(?:i am|i'm|we are|we're) )?{_VERY}(?:happy|satisfied|pleased)(?: with (?:{_IT}|everything|all))?",
    rf"i (?:agree|approve)(?: (?:(?:of|with) )?{_IT})?|{_THINK}so",
    rf"keep(?: {_IT})?{_AS_IT_IS}|(?:write|take|use|accept) {_IT}{_AS_IT_IS}",
    rf"do (?:so|{_IT})|please do|go (?:right )?ahead",
    r"(?:good|great|nice|fantastic|excellent|amazing|brilliant) (?:job|work)",
    r"gut|(?:das |es )?passt(?: so)?|genau|klar|d'accord",
)
_FOR: Final = r"(?: for (?:it|this|that|asking|(?:all )?(?:your|the) (?:work|help|effort)))?"
_REPEATING: Final = (
    rf"{_THINK}(?:i|we|you|they|it|this|that) {_VERY}{_NOW_VERB}(?: {_IT})?{_END}",
    rf"(?:i|we|you|they) {_VERY}(?:made|reached|achieved|finished|completed) (?:it|the goal){_END}",
)
"""A yes only where a sentence or a part of it begins: not "all I have"."""
_THANKS: Final = (
    rf"(?:many )?thanks?(?: you)?(?: (?:very|so) much| a lot| again)?{_FOR}",
    r"oh|well|then|well done|cheers|bravo|congratulations",
    r"bitte|danke(?: schön)?|vielen dank|gerne?|merci|gracias|por favor",
    r"all of it|every bit(?: of it)?|in full|at last|for sure|without (?:a )?doubt|100 ?%|as it is|as is",
    _ADVERB,
)
_NO_CHANGE: Final = (
    r"(?:there is |there's )?nothing (?:to change|to add|else|more)|no (?:more )?changes?(?: needed)?|change nothing"
)
_NONE_MISSING: Final = r"(?:there is |there's )?nothing (?:is )?missing"
_CONFIRMING: Final = (
    rf"(?<!please )(?:{_NO_CHANGE}|{_NONE_MISSING}|no (?:doubt|problem|worries|objections?|complaints?)){_END}"
)
"""A yes only after another one: alone these may also refuse."""
_ECHO_WORD: Final = (
    rf"(?:(?:i|we|you|they)(?:'re|'ve|'m)?|(?:it|that)(?:'s)?|this|these|those|everything|the goal|been|made"
    rf"|{_NOW_VERB}|was|were|{_ADVERB}|{_PRAISE}|so|well|think|believe|like|love|agree)"
)
_ECHO: Final = rf"{_ECHO_WORD}(?: {_ECHO_WORD}){{0,5}}{_END}"
"""After a yes, a few words that only repeat the question."""
_YES_ONLY_TO: Final = {
    YesTo.ANYTHING: (),
    YesTo.REACHED: (rf"{_NONE_MISSING}{_END}", rf"(?:the )?goal {_REACHED}|mission accomplished"),
}
_BUT: Final = re.compile(r"(?:but|and)\b(?! for\b)[\s,]*", re.IGNORECASE)
_COMPLETE_IT: Final = r"\bcomplete (?:it|this|that|the)\b"
_DOUBTFUL: Final = {
    YesTo.ANYTHING: re.compile(_COMPLETE_IT),
    YesTo.REACHED: re.compile(rf"{_COMPLETE_IT}|\b(?:go ahead|please do|do (?:it|so|that)|i'd like that|proceed)\b"),
}
"""What makes an apparent yes to such a question mean something else: an order to go on, or that nothing is wanted."""
_NOTHING_MISSING: Final = re.compile(
    r"(?:no[ ,.!]+)?nothing(?: really)?(?: (?:else |more )?(?:is )?missing)?(?:[ ,.!]+(?:thanks|thank you))?[ .!]*"
)
_FEWEST_WORDS: Final = 2
"""Fewer words say too little without what stands before them."""


def _piece(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(phrases)}){_BREAK}")


_YES: Final = _piece(_PLAIN_YES)
_PLEASE: Final = _piece("please(?! do\\b)")
_POLITE: Final = tuple(_piece(phrase) for phrase in _THANKS)
_ANY: Final = (_YES, _PLEASE, *(_piece(phrase) for phrase in _PHRASES), *_POLITE)
_AT_BEGINNING: Final = tuple(_piece(phrase) for phrase in _REPEATING)
_AFTER_YES: Final = (*_AT_BEGINNING, _piece(_CONFIRMING), _piece(_ECHO))
_PIECES: Final = {about: (*_ANY, *(_piece(phrase) for phrase in more)) for about, more in _YES_ONLY_TO.items()}


def is_yes(answer: str, about: YesTo = YesTo.ANYTHING) -> bool:
    """Whether an answer is a yes, perhaps with thanks or emphasis, and says nothing else."""
    text = _one_line(answer)
    end, _ = _read_yes(text, about)
    return bool(text) and end == len(text)


def what_is_beyond_yes(answer: str, about: YesTo = YesTo.ANYTHING) -> str:
    """Return what an answer says beyond the yes that it begins with; without one, all of it. Empty for a mere yes."""
    text = _one_line(answer)
    end, place = _read_yes(text, about)
    if end == len(text):
        return ""
    if place and (but := _BUT.match(text, place)):
        place = but.end()
    rest = text[place:]
    return rest if len(rest.split()) >= _FEWEST_WORDS else text


def _one_line(answer: str) -> str:
    return " ".join(answer.split())


def _plain(text: str) -> str:
    """Return `text` in lower case, with every character at its place."""
    return "".join(
        character.lower() if len(character.lower()) == 1 else character for character in text.replace("’", "'")
    )


def _read_yes(text: str, about: YesTo) -> tuple[int, int]:
    """Return where the yes that `text` begins with ends, and the last place up to there from which on something else
    can be read alone: after a comma, a plain yes or a please, or at a "but". Both 0 without a yes."""
    text = _plain(text)
    if about is YesTo.REACHED and _NOTHING_MISSING.fullmatch(text):
        return len(text), 0
    if _DOUBTFUL[about].search(text):
        return 0, 0
    end, place, says_yes = 0, 0, False
    while match := _longest(text, end, _pieces(about, says_yes=says_yes, is_beginning=place == end)):
        end = match.end()
        says_yes = says_yes or match.re not in (_PLEASE, *_POLITE)
        if match["after"].strip() or match.re in (_YES, _PLEASE) or _BUT.match(text, end):
            place = end
        if end == len(text):
            break
    return (end, place) if says_yes else (0, 0)


def _pieces(about: YesTo, *, says_yes: bool, is_beginning: bool) -> tuple[re.Pattern[str], ...]:
    """Return what can be read next: more at the beginning of a sentence or of its part, and more still after a yes."""
    if not is_beginning:
        return _PIECES[about]
    return (*_PIECES[about], *(_AFTER_YES if says_yes else _AT_BEGINNING))


def _longest(text: str, start: int, pieces: tuple[re.Pattern[str], ...]) -> re.Match[str] | None:
    hits = [hit for piece in pieces if (hit := piece.match(text, start))]
    return max(hits, key=lambda hit: hit.end(), default=None)
