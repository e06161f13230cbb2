"""Claims found in sentences without a model: few patterns, each of which can hardly mean anything else. What is missed
here deep sleep may find; what is found wrongly would make something true rank under something that never replaced it.
English only, as the other word lists are. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reveries.gates import Gate, inherited
from reveries.index.terms import terms_of
from reveries.memory.claims import FEELS, Claim, key_of
from reveries.memory.model import Origin, Turn
from reveries.memory.text.extracts import sentences_of

_MAX_SENTENCE_CHARS = 300
_MAX_VALUE_WORDS = 7
_UNSURE = re.compile(
    r"\?|\b(?:if|would|could|might|maybe|perhaps|wish|wonder|imagine|suppose|pretend|dreamed|joke|kidding|unless|"
    r"what if|hope|thinking of|thinking about|considering|planning to|want to|used to|years? ago|back then|"
    r"when i was|as a (?:kid|child)|someone|people who)\b",
    re.IGNORECASE,
)
_CUT = re.compile(
    r"\s*(?:[,;:.!?\u2026()\u201c\u201d\"]|\s[\u2013\u2014-]\s|\b(?:and|but|because|so|which|that|since|when|while|after|"
    r"before|where|who|with my|for now|these days|right now|at the moment|actually|anymore|any more|too|instead|"
    r"now|again|already|last (?:week|month|year)|this (?:week|month|year)|yesterday|today)\b)",
    re.IGNORECASE,
)
_NOUN = r"[a-z][\w'\u2019-]*(?: [a-z][\w'\u2019-]*){0,2}"
_NAME = r"[A-Z][\w'\u2019.-]*(?: (?:of |the |de |la )?[A-Z][\w'\u2019.-]*){0,3}"
_KIN = (
    "sister|brother|mother|father|mom|mum|dad|wife|husband|partner|girlfriend|boyfriend|son|daughter|aunt|uncle|cousin|"
    "grandmother|grandfather|grandma|grandpa|friend|best friend|boss|neighbour|neighbor|roommate|dog|cat"
)
_ATTRIBUTE = (
    rf"favou?rite {_NOUN}|(?:(?:{_KIN})'s |(?:first|last|full|middle) )?name|(?:phone |mobile )?number|"
    r"e-?mail(?: address)?|(?:home |new )?address|birthday|job title|boss|manager|doctor|dentist|landlord|"
    r"(?:wifi |wi-fi )?password|salary|rent|deadline|shoe size|due date|goal weight"
)
_ADVERB = r"(?:(?:really|absolutely|totally|still|just|always|so|actually|kind of|honestly) )?"


@dataclass(frozen=True, slots=True)
class ClaimMatch:
    """What a pattern makes of a sentence."""

    subject: str
    relation: str
    value: str
    is_change: bool


_Read = Callable[["re.Match[str]", str], ClaimMatch | None]


def claims_in(turns: Sequence[Turn]) -> list[Claim]:
    """What people say of things in `turns`. Not what the mind says itself: it has everything from somebody."""
    found: list[Claim] = []
    for turn in turns:
        if turn.origin in (Origin.SELF, Origin.SYSTEM):
            continue
        in_turn = [
            (sentence, one) for sentence in sentences_of(turn.fresh) for one in read_sentence(sentence, turn.speaker)
        ]
        for place, (sentence, one) in enumerate(in_turn):
            found.append(claim_of(turn, place, sentence, one, "pattern"))
    return found


def claim_of(turn: Turn, place: int | str, sentence: str, found: ClaimMatch, found_by: str) -> Claim:
    """`found` in `sentence` of `turn` as a claim; `place` tells those of one turn apart."""
    mark = "~" if found_by == "pattern" else "~m"
    return Claim(
        id=f"{turn.id}{mark}{place}",
        subject=key_of(found.subject) or found.subject.casefold(),
        relation=found.relation,
        value=found.value,
        quote=sentence,
        is_change=found.is_change,
        turn_id=turn.id,
        experience_id=turn.experience_id or "",
        speaker=turn.speaker,
        said_at=turn.said_at,
        found_by=found_by,
        origin=turn.origin,
        tainted=inherited(Gate.CLAIM, turn.tainted, turn.origin.is_tainted),
    )


def read_sentence(sentence: str, speaker: str) -> Iterator[ClaimMatch]:
    """What `sentence`, said by `speaker`, claims."""
    if len(sentence) > _MAX_SENTENCE_CHARS or _UNSURE.search(sentence):
        return
    for pattern, read in _PATTERNS:
        for match in pattern.finditer(sentence):
            if (found := read(match, speaker)) is not None and _says_something(found):
                yield found


def says_change(sentence: str) -> bool:
    """Whether it says itself that something is different from now on."""
    return bool(_CHANGE.search(sentence))


def cut_value(text: str) -> str:
    """The value at the beginning of `text`: up to where the clause ends; empty when that is too long to be one."""
    end = _CUT.search(text)
    value = (text[: end.start()] if end else text).strip(" '\u2019")
    return value if 0 < len(value.split()) <= _MAX_VALUE_WORDS else ""


def _says_something(found: ClaimMatch) -> bool:
    return bool(found.value and found.subject and (terms_of(found.value) or any(c.isdigit() for c in found.value)))


def _attribute(match: "re.Match[str]", speaker: str) -> ClaimMatch | None:
    changed = bool(match["new"] or match["now"])
    return ClaimMatch(speaker, f"my {key_of(match['what'])}", cut_value(match["value"]), changed)


def _is_now(match: "re.Match[str]", speaker: str) -> ClaimMatch | None:
    return ClaimMatch(speaker, f"my {key_of(match['what'])}", cut_value(match["value"]), is_change=True)


def _lives(match: "re.Match[str]", speaker: str) -> ClaimMatch | None:
    changed = "mov" in match["verb"].casefold() or bool(_NOW.search(match.string))
    if re.match(_DAY, match["value"], re.IGNORECASE):
        return None
    return ClaimMatch(_who(match["who"], speaker), "lives in", _without_tail(match["value"]), changed)


def _works(match: "re.Match[str]", speaker: str) -> ClaimMatch | None:
    verb = match["verb"].casefold()
    changed = "start" in verb or "job" in verb or bool(_NOW.search(match.string))
    return ClaimMatch(_who(match["who"], speaker), "works at", _without_tail(match["value"]), changed)


def _moved_to(match: "re.Match[str]", speaker: str) -> ClaimMatch | None:
    return ClaimMatch(f"{speaker} {match['what']}", "is set for", cut_value(match["value"]), is_change=True)


def _set_for(match: "re.Match[str]", speaker: str) -> ClaimMatch | None:
    return ClaimMatch(f"{speaker} {match['what']}", "is set for", cut_value(match["value"]), is_change=False)


def _feels(match: "re.Match[str]", speaker: str) -> ClaimMatch | None:
    thing = cut_value(match["what"])
    if not thing or _VAGUE.match(thing) or not terms_of(thing):
        return None
    left_off = bool(_LEFT_OFF.search(match["not"] or "") or _LEFT_OFF.search(match[0]) or match["no_more"])
    likes = (match["verb"].casefold() in _LIKES) != bool(match["not"])
    return ClaimMatch(speaker, f"{FEELS}{key_of(thing)}", "likes" if likes else "dislikes", left_off)


def _changed_mind(match: "re.Match[str]", speaker: str) -> ClaimMatch | None:
    thing = cut_value(match["what"])
    return ClaimMatch(speaker, f"{FEELS}{key_of(thing)}", "another mind", is_change=True) if thing else None


def _who(subject: str, speaker: str) -> str:
    """ "I" is the speaker; a name given beside a kinship is who is meant."""
    if subject.casefold() in ("i", "i'm", "i\u2019m"):
        return speaker
    name = re.search(rf"{_NAME}$", subject)
    return name.group() if name else f"{speaker} {subject}"


def _without_tail(name: str) -> str:
    return re.sub(r"['\u2019.]+$", "", name)


_NOW = re.compile(r"\bnow\b", re.IGNORECASE)
_LIKES: Final = frozenset({"love", "like", "enjoy", "prefer", "adore"})
_LEFT_OFF = re.compile(r"\b(?:no longer|anymore|any more|stopped|not .* now)\b", re.IGNORECASE)
_VAGUE = re.compile(
    r"(?:to|that|it|this|these|those|how|when|what|the way|the idea|you|your|him|her|his|them|their|being|having|"
    r"seeing|hearing|knowing|my|our|one|both|all|some|any|every\w*|nothing|something|most)\b",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:now|no longer|anymore|any more|moved|changed|switched|instead of|renamed|rescheduled|postponed)\b",
    re.IGNORECASE,
)
_WHO = rf"(?P<who>\bI(?:['\u2019]m)?\b|\b[Mm]y (?:{_KIN})(?: [A-Z][\w'\u2019-]*)?|\b{_NAME})"
_LATELY = r"(?: have| has|['\u2019]ve)?(?: now| just| recently| finally| currently)?"
_DAY = (
    r"(?:(?:next |this )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|noon|midnight|"
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)\b|\d)"
)
_SET = rf"(?P<value>(?:the )?{_DAY}[^,;.!?]*)"

_PATTERNS: Final[tuple[tuple["re.Pattern[str]", _Read], ...]] = (
    (
        re.compile(
            rf"\b[Mm]y (?P<new>new |current )?(?P<what>{_ATTRIBUTE}) (?:is|are) "
            r"(?P<now>now |currently )?(?P<value>\S.*)"
        ),
        _attribute,
    ),
    (
        re.compile(rf"\b[Mm]y (?P<what>(?!{_ATTRIBUTE}\b){_NOUN}) (?:is|are) now (?P<value>(?!that\b|ready\b)\S.*)"),
        _is_now,
    ),
    (
        re.compile(
            rf"{_WHO}{_LATELY} (?P<verb>lives?|living|moved)(?: back| away)?(?: from {_NAME})? "
            rf"(?:to|in) (?P<value>{_NAME})"
        ),
        _lives,
    ),
    (
        re.compile(
            rf"{_WHO}{_LATELY} (?P<verb>works?|started(?: working)?|(?:started|got) a (?:new )?job) "
            rf"(?:at|for|with) (?P<value>{_NAME})"
        ),
        _works,
    ),
    (
        re.compile(
            rf"\b(?:[Tt]he|[Oo]ur|[Mm]y) (?P<what>{_NOUN}) (?:is|was|has been|got|have been)(?: now)? "
            r"(?:re-?scheduled|moved|postponed|pushed(?: back)?|changed|shifted|extended)(?: back| forward)?"
            rf"(?: from [^,.;]+?)? (?:to|until) {_SET}",
            re.IGNORECASE,
        ),
        _moved_to,
    ),
    (
        re.compile(
            rf"\b(?:[Tt]he|[Oo]ur|[Mm]y) (?P<what>{_NOUN}) (?:is|are) (?:now )?"
            rf"(?:scheduled |set |planned |due |booked )?(?:for|on|at|by) {_SET}",
            re.IGNORECASE,
        ),
        _set_for,
    ),
    (
        re.compile(
            rf"\bI {_ADVERB}(?P<not>don['\u2019]t |do not |no longer |never |didn['\u2019]t )?{_ADVERB}"
            r"(?P<verb>love|like|enjoy|prefer|adore|hate|dislike|detest|can['\u2019]t stand) (?P<what>.+?)"
            r"(?P<no_more> any ?more\b)?(?:[,.;!]|$)"
        ),
        _feels,
    ),
    (re.compile(r"\b(?:I|I['\u2019]ve|I have) changed my mind (?:about|on) (?P<what>.+)"), _changed_mind),
)
