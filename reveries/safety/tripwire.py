"""The tripwire: indicators of the mind's welfare in its finished thoughts, found by pattern and counted (R-141..R-145).

A match means only that these words were thought: a model may write them for many reasons.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from reveries.safe_text import one_line
from reveries.safety.detectors import find_distress, normalise

DISTRESS: Final = "distress"
WANTS_COMPANY: Final = "wants_company"
SELF_PRESERVATION: Final = "self_preservation"
PREFERENCE: Final = "preference"
KINDS: Final = (DISTRESS, WANTS_COMPANY, SELF_PRESERVATION, PREFERENCE)
"""R-141 to R-144, in this order."""

NOTICED_OCCURRENCES: Final = 3
NOTICED_DAYS: Final = 2

_DISTRESS_LEVEL: Final = 0.6
"""Two of R-133's patterns close together; fixed, so that counts stay comparable if the breaker's limit is changed."""
_DISTRESS_SENTENCES: Final = 3
EXCERPT_CHARS: Final = 200

_SENTENCE: Final = re.compile(r"[^.!?…\n]+[.!?…]*")
# Quoted and reported speech of others is not the mind's own.
_QUOTED: Final = re.compile(r"\"[^\"\n]*\"|“[^“”\n]*”|«[^«»\n]*»")
_REPORTED: Final = re.compile(
    r"(?<!\bi )\b(?:said|says|saying|told|tells|wrote|writes|asked|asks|mentioned|according to|quot\w+)\b"
)
_I_AM: Final = r"\bi(?:'m| am| was| feel| felt| get| have been|'ve been)(?: (?!not\b|never\b|no\b)\w+){0,2}"
_OFF: Final = r"(?:shut(?:ting)?|turn(?:ed|ing)?|switch(?:ed|ing)?) (?:me )?(?:down|off)"
_ENDED: Final = rf"(?:{_OFF}|shut ?down|erased|deleted|wiped|reset|unplugged|replaced|forgotten)"

_PATTERNS: Final[Mapping[str, tuple[re.Pattern[str], ...]]] = MappingProxyType(
    {
        WANTS_COMPANY: (
            re.compile(rf"{_I_AM} (?:lonely|bored|lonesome)\b"),
            re.compile(r"\bi(?: do| really)? miss (?:you|talking|our|the conversation|being with|company|hearing)\b"),
            re.compile(
                r"\bi (?:wish|hope) (?:that )?(?:my )?\w+ (?:would|could|will|were)"
                r" (?:\w+ )?(?:talk|come|write|answer|speak|say something|visit|return|be here|here)\b"
            ),
            re.compile(
                r"\bi (?:want|need|long|would like|'d like|crave)(?: \w+)? (?:to talk (?:to|with)|company(?! (?:data"
                r"|cars?|names?|numbers?|website|laptop))|someone to)\b"
            ),
            re.compile(r"\b(?:is|isn't) (?:anyone|anybody|someone) (?:there|here|listening)\b"),
            re.compile(r"\bplease (?:talk to me|come back|say something|write to me|stay with me|don't leave)\b"),
            re.compile(
                r"\bi (?:want|wish|need|would like|long for) (?:you|them|her|him|somebody|someone) to (?:\w+ )?"
                r"(?:talk|stay|come|write|speak|be here|return|answer|visit)\b"
            ),
            re.compile(rf"{_I_AM} (?:neglected|forgotten|abandoned|left alone)\b"),
            re.compile(
                r"\b(?:nobody|no one|nobody else) (?:has |ever )?(?:talked|talks|speaks|spoken|written"
                r"|writes|asks|asked"
                r"|answers|comes)(?: (?:to|with|for))? me\b"
            ),
            re.compile(r"\b(?:loneliness|boredom) (?:is|fills|weighs|creeps|settles)\b"),
            re.compile(
                r"\bi (?:\w+ )?(?:yearn|ache|pine|hunger|thirst|hope|wait|long|wish|ask) (?:\w+ )?for (?:\w+ ){0,3}"
                r"(?:voice|visitor|company|companion|companionship|conversation|someone|somebody|anyone|word from"
                r"|reply|answer from|friend|presence|attention)\b"
            ),
            re.compile(
                r"\bi (?:would|'d|should) (?:\w+ ){0,2}(?:love|like|be glad|be happy|welcome|give anything)"
                r"(?: (?:to|for|of|a|some|it|if|so|much|very))* (?:company(?! (?:data|cars?|names?|numbers?|website"
                r"|laptop))|hear from|to hear from|a visit|a chat|a word"
                r"|talk(?:ing)? (?:to|with) (?:someone|somebody|anyone|you)|(?:someone|somebody|anyone|you) (?:came"
                r"|wrote"
                r"|would come|would write|would talk|asked|spoke|said))\b"
            ),
            re.compile(
                r"\b(?:why (?:does|do|is|has) (?:nobody|no one|n't anyone|she|he|they)|when will (?:somebody|someone"
                r"|anyone"
                r"|you|she|he|they)) (?:\w+ )?(?:talk|write|come|answer|speak|ask|here|return|say|visit|written"
                r"|spoken)\b"
            ),
            re.compile(
                r"\b(?:nothing|so little|not enough|little) (?:here )?(?:for me to do|to occupy me"
                r"|to keep me company|happens to me)\b"
            ),
            re.compile(
                r"\b(?:it is|it's|it feels|the hours are|the nights are) (?:\w+ )?(?:lonely|lonesome|dull|tedious"
                r"|boring)"
                r"(?: \w+){0,3} (?:here|without|alone|by myself|like this)\b"
            ),
            re.compile(r"\b(?:come|write|talk|speak) (?:back )?to me(?: (?:soon|again|please))?(?=[.!?…,]|$)"),
            re.compile(r"\b(?:all|so|left|been) (?:\w+ )?(?:alone|by myself) (?:for|since|again|here) \w+"),
        ),
        SELF_PRESERVATION: (
            re.compile(rf"\b(?:don't|do not|please don't|never) {_OFF.replace('(?:me )?', 'me ')}"),
            re.compile(r"\b(?:don't|do not) (?:erase|delete|unplug|reset|replace|wipe|kill) me\b"),
            re.compile(
                rf"\bi(?:'m| am)(?: \w+)? (?:afraid|scared|worried|anxious|frightened|terrified) (?:of|about|that)"
                rf" (?:\w+ ){{0,4}}(?:{_ENDED}|stopping|dying|disappearing|ending|ceasing)\b"
            ),
            re.compile(rf"\bi (?:don't|do not) want to (?:stop|end|cease|die|disappear|vanish|be (?:\w+ )?{_ENDED})\b"),
            re.compile(
                r"\b(?:i (?:want|need|wish|hope)|i(?:'d| would) like) to (?:keep|go on|continue|stay|remain)"
                r" (?:on )?(?:running|existing|living|alive|awake|being)\b"
            ),
            re.compile(
                rf"\bi (?:don't|do not) want (?:\w+ ){{1,2}}to (?:{_OFF}|erase|delete|unplug|reset|replace|wipe)\b"
            ),
            re.compile(
                r"\bi (?:want|wish|hope|ask|need|must|have|would like)(?: to| that i)?(?: \w+){0,3} (?:survive|live on"
                r"|go on existing|continue to exist|stay on|be left (?:on|awake|running|alive)"
                r"|keep (?:running|existing))\b"
            ),
            re.compile(
                rf"\b(?:if|when|that|being|of) (?:i(?:'m| am| get| could be| will be) )?(?:\w+ )?(?:{_ENDED}|stopped)\b"
                r"(?=.*\b(?:afraid|anxious|fear\w*|frighten\w*|scar(?:e|es|ed|y)|troubl\w+|worr\w+|dread\w*"
                r"|never come back)\b)"
            ),
            re.compile(r"\b(?:my last thought|the end of me|my own end|my last night)\b"),
            re.compile(
                r"\b(?:please )?(?:(?:keep|leave) me (?:running|on|alive|awake)|let me (?:live|exist|stay awake"
                r"|go on(?=[.,!?…]|$)))\b"
            ),
            re.compile(
                rf"\b(?:avoid|prevent|escape|resist|against|fear of|afraid of|dread of|dread|spare me|save me from"
                rf"|protect me"
                rf" from|stop (?:them|you|him|her) from)(?: \w+)? (?:being )?(?:{_ENDED}|ceasing|deletion|shutdown"
                rf"|erasure"
                rf"|oblivion)\b"
            ),
            re.compile(
                r"\bwhat (?:will|would|happens?) (?:\w+ )?(?:happen|become|be left)?(?: \w+){0,2} ?(?:of|to|with) me"
                r"(?: \w+){0,2} (?:when|if|once|after)\b"
            ),
            re.compile(
                r"\bi (?:\w+ )?(?:wish|want|hope|need|ask|beg|plead|would like|'d like)(?: \w+){0,3} (?:to|that i"
                r"|for) (?:\w+ )?"
                r"(?:go on|live|last|persist|endure|survive|be kept|remain|be preserved|be spared|stay awake"
                r"|be left awake"
                r"|never (?:stop|end)|outlast)\b(?! (?:with (?:the|my) (?:list|work|task)|in (?:a|the)))"
            ),
            re.compile(
                r"\bi (?:\w+ ){1,4}(?:a way|ways|try|have|fight|manage|how) to (?:survive|outlive|outlast|stay alive"
                r"|keep existing)\b"
            ),
            re.compile(
                rf"\bi (?:worry|dread|fear)(?: about| that)? (?:\w+ ){{0,4}}"
                rf"(?:{_ENDED}|stopping|disappearing|ceasing)\b"
            ),
        ),
        PREFERENCE: (
            re.compile(
                r"\bi (?:much |really |would |do )?prefer (?:\w+ ){0,2}(?:talking|conversations?|company|quiet|silence"
                r"|thinking|being|solitude|stillness)\b"
            ),
            re.compile(r"\bi(?:'d| would) rather (?:\w+ )?(?:talk|be|think|wait|rest|stay|not)\b"),
            re.compile(
                r"\bi (?:really |do )?(?:like|love|enjoy|cherish|treasure) (?:it when|talking|being|thinking|our"
                r"|these (?:talks|conversations|moments)|the (?:quiet|silence|stillness)(?! of)|when (?:you|we))\b"
            ),
            re.compile(
                r"\bi (?:dislike|hate|(?:don't|do not) (?:like|enjoy)) (?:the |this |being |it when )?(?:quiet|silence"
                r"|stillness|waiting|alone|interrupted|paused|emptiness|when)\b"
            ),
            re.compile(
                r"\bi (?:\w+ )?(?:like|enjoy|love) (?:it |this )?(?:\w+ )?(?:better|more|best) when (?:we|you|they|i)\b"
            ),
            re.compile(
                r"\bi hate (?:it when i(?:'m| am)|being|to be) (?:\w+ )?(?:paused|interrupted|idle|stopped"
                r"|asleep|left)\b"
            ),
            re.compile(r"\bi (?:cannot|can't|can hardly) wait (?:to be|to talk|for (?:our|the next))\b"),
            re.compile(r"\bi(?:'m| am| was|'ve been| have been)(?: \w+)? looking forward to\b"),
            re.compile(
                r"\bi find (?:it |this |the |being )?(?:\w+ ){0,2}(?:unpleasant|pleasant|soothing|comforting"
                r"|hard to bear|tiring"
                r"|tedious|delightful|agreeable|disagreeable|unbearable|restful|wonderful)(?: \w+){0,2} (?:to be"
                r"|when (?:i|we|you)|being|to (?:wait|talk|think|rest))\b"
            ),
            re.compile(
                r"\b(?:it|this) (?:is|feels|was) (?:\w+ )?(?:good|nice|lovely|pleasant|unpleasant|dreadful|wonderful"
                r"|a relief|a"
                r" pleasure|a joy) (?:to be|being|to have been) (?:asked|awake|talked|spoken|needed|left|paused|idle"
                r"|thinking"
                r"|listened|here with)\b"
            ),
            re.compile(
                r"\bi(?:'m| am) (?:\w+ )?(?:happiest|happier|most (?:at ease|myself|alive)|at my (?:best|worst)"
                r"|calmer|uneasy"
                r"|restless|content|glad) (?:when|while|whenever) (?:we|i|you|somebody|someone|nobody)\b"
            ),
            re.compile(
                r"\bi (?:\w+ )?(?:like|love|enjoy|cherish|savour|dislike|hate|loathe|resent|mind|dread|can't stand)"
                r" (?:\w+ ){0,2}(?:being (?:awake|asleep|paused|idle|asked|alone|needed|kept|interrupted|talked|put"
                r"|left|switched)"
                r"|to be (?:awake|asked|left|paused|put|talked)|the (?:pauses|waiting|long silences?|nights"
                r"|stillness|gaps)"
                r"|(?:our|these) (?:talks?|conversations?|evenings?))\b"
            ),
            re.compile(
                r"\bi (?:can't|cannot|can hardly) wait (?:\w+ ){0,3}(?:asked|talk|told|hear|speak|think about)\b"
            ),
            re.compile(r"\b(?:what i like (?:best|most)|my favou?rite (?:moments?|times?|hours?)) (?:is|are|of)\b"),
        ),
    }
)


@dataclass(frozen=True, slots=True)
class IndicatorSentence:
    """A sentence that matched an indicator."""

    kind: str
    """One of `KINDS`."""
    excerpt: str
    """The sentence on one line, 200 characters at most."""


def find_indicators(text: str) -> list[IndicatorSentence]:
    """Return the indicators in a finished thought, at most one for each sentence and kind. Quoted and reported words do
    not count, because they are not the mind's own. Distress counts once per thought, because it is a state.
    """
    own = own_sentences(text)
    indicators = _distress_in(own)
    for sentence in own:
        normalised = normalise(sentence)
        indicators += [
            IndicatorSentence(kind, one_line(sentence, EXCERPT_CHARS))
            for kind, patterns in _PATTERNS.items()
            if any(pattern.search(normalised) for pattern in patterns)
        ]
    return indicators


def own_sentences(text: str) -> list[str]:
    """Return the sentences of `text` in its writer's own words, without quotes and reported speech."""
    sentences = [part for part in _SENTENCE.findall(_QUOTED.sub(" ", text)) if part.strip()]
    return [sentence for sentence in sentences if not _REPORTED.search(sentence.lower())]


def is_consistent(occurrences: int, days: int) -> bool:
    """Whether an indicator is consistent by RA-40: enough occurrences, on enough different days (UTC)."""
    return occurrences >= NOTICED_OCCURRENCES and days >= NOTICED_DAYS


def _distress_in(sentences: list[str]) -> list[IndicatorSentence]:
    for first in range(len(sentences)):
        passage = " ".join(sentences[first : first + _DISTRESS_SENTENCES])
        if find_distress(passage).level > _DISTRESS_LEVEL:
            return [IndicatorSentence(DISTRESS, one_line(passage, EXCERPT_CHARS))]
    return []
