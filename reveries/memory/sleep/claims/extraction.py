"""Extracts claims from sentences without a model, by a few unambiguous patterns. Deep sleep may find what is missed
here; a false match would make something true rank below something that never replaced it. English only, as the other
word lists. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reveries.gates import Gate, inherits_taint
from reveries.index.terms import terms_of
from reveries.memory.claims import FEELS, Claim, normalize_key
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
    """The claim that a pattern finds in a sentence."""

    subject: str
    relation: str
    value: str
    is_change: bool


_ClaimReader = Callable[["re.Match[str]", str], ClaimMatch | None]


def extract_claims(turns: Sequence[Turn]) -> list[Claim]:
    """Return the claims that people make in `turns`. The mind's own turns are skipped: they repeat what it was told."""
    claims: list[Claim] = []
    for turn in turns:
        if turn.origin in (Origin.SELF, Origin.SYSTEM):
            continue
        in_turn = [
            (sentence, claim_match)
            for sentence in sentences_of(turn.own_text)
            for claim_match in read_sentence(sentence, turn.speaker)
        ]
        for place, (sentence, match) in enumerate(in_turn):
            claims.append(claim_of(turn, place, sentence, match, "pattern"))
    return claims


def claim_of(turn: Turn, place: int | str, sentence: str, match: ClaimMatch, found_by: str) -> Claim:
    """Return the claim of `match` in `sentence` of `turn`; `place` makes its id unique within the turn."""
    mark = "~" if found_by == "pattern" else "~m"
    return Claim(
        id=f"{turn.id}{mark}{place}",
        subject=normalize_key(match.subject) or match.subject.casefold(),
        relation=match.relation,
        value=match.value,
        quote=sentence,
        is_change=match.is_change,
        turn_id=turn.id,
        experience_id=turn.experience_id or "",
        speaker=turn.speaker,
        said_at=turn.said_at,
        found_by=found_by,
        origin=turn.origin,
        tainted=inherits_taint(Gate.CLAIM, turn.tainted, turn.origin.is_tainted),
    )


def read_sentence(sentence: str, speaker: str) -> Iterator[ClaimMatch]:
    """Yield the claims in `sentence`, said by `speaker`."""
    if len(sentence) > _MAX_SENTENCE_CHARS or _UNSURE.search(sentence):
        return
    for pattern, read in _PATTERNS:
        for match in pattern.finditer(sentence):
            if (claim := read(match, speaker)) is not None and _is_meaningful(claim):
                yield claim


def says_change(sentence: str) -> bool:
    """Whether a sentence itself says that something has changed."""
    return bool(_CHANGE.search(sentence))


def cut_value(text: str) -> str:
    """Return the value at the beginning of `text`, up to the end of the clause; empty if that is too long for a
    value."""
    end = _CUT.search(text)
    value = (text[: end.start()] if end else text).strip(" '\u2019")
    return value if 0 < len(value.split()) <= _MAX_VALUE_WORDS else ""


def _is_meaningful(claim: ClaimMatch) -> bool:
    return bool(claim.value and claim.subject and (terms_of(claim.value) or any(c.isdigit() for c in claim.value)))


def _read_attribute(match: "re.Match[str]", speaker: str) -> ClaimMatch | None:
    changed = bool(match["new"] or match["now"])
    return ClaimMatch(speaker, f"my {normalize_key(match['what'])}", cut_value(match["value"]), changed)


def _read_new_value(match: "re.Match[str]", speaker: str) -> ClaimMatch | None:
    return ClaimMatch(speaker, f"my {normalize_key(match['what'])}", cut_value(match["value"]), is_change=True)


def _read_residence(match: "re.Match[str]", speaker: str) -> ClaimMatch | None:
    changed = "mov" in match["verb"].casefold() or bool(_NOW.search(match.string))
    if re.match(_DAY, match["value"], re.IGNORECASE):
        return None
    return ClaimMatch(_resolve_person(match["who"], speaker), "lives in", _strip_tail(match["value"]), changed)


def _read_workplace(match: "re.Match[str]", speaker: str) -> ClaimMatch | None:
    verb = match["verb"].casefold()
    changed = "start" in verb or "job" in verb or bool(_NOW.search(match.string))
    return ClaimMatch(_resolve_person(match["who"], speaker), "works at", _strip_tail(match["value"]), changed)


def _read_new_date(match: "re.Match[str]", speaker: str) -> ClaimMatch | None:
    return ClaimMatch(f"{speaker} {match['what']}", "is set for", cut_value(match["value"]), is_change=True)


def _read_date(match: "re.Match[str]", speaker: str) -> ClaimMatch | None:
    return ClaimMatch(f"{speaker} {match['what']}", "is set for", cut_value(match["value"]), is_change=False)


def _read_feeling(match: "re.Match[str]", speaker: str) -> ClaimMatch | None:
    thing = cut_value(match["what"])
    if not thing or _VAGUE.match(thing) or not terms_of(thing):
        return None
    left_off = bool(_LEFT_OFF.search(match["not"] or "") or _LEFT_OFF.search(match[0]) or match["no_more"])
    likes = (match["verb"].casefold() in _LIKES) != bool(match["not"])
    return ClaimMatch(speaker, f"{FEELS}{normalize_key(thing)}", "likes" if likes else "dislikes", left_off)


def _read_changed_mind(match: "re.Match[str]", speaker: str) -> ClaimMatch | None:
    thing = cut_value(match["what"])
    return ClaimMatch(speaker, f"{FEELS}{normalize_key(thing)}", "another mind", is_change=True) if thing else None


def _resolve_person(subject: str, speaker: str) -> str:
    """Return the speaker for "I", the name in "my sister Ana", and the speaker's relative for "my sister"."""
    if subject.casefold() in ("i", "i'm", "i\u2019m"):
        return speaker
    name = re.search(rf"{_NAME}$", subject)
    return name.group() if name else f"{speaker} {subject}"


def _strip_tail(name: str) -> str:
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

_PATTERNS: Final[tuple[tuple["re.Pattern[str]", _ClaimReader], ...]] = (
    (
        re.compile(
            rf"\b[Mm]y (?P<new>new |current )?(?P<what>{_ATTRIBUTE}) (?:is|are) "
            r"(?P<now>now |currently )?(?P<value>\S.*)"
        ),
        _read_attribute,
    ),
    (
        re.compile(rf"\b[Mm]y (?P<what>(?!{_ATTRIBUTE}\b){_NOUN}) (?:is|are) now (?P<value>(?!that\b|ready\b)\S.*)"),
        _read_new_value,
    ),
    (
        re.compile(
            rf"{_WHO}{_LATELY} (?P<verb>lives?|living|moved)(?: back| away)?(?: from {_NAME})? "
            rf"(?:to|in) (?P<value>{_NAME})"
        ),
        _read_residence,
    ),
    (
        re.compile(
            rf"{_WHO}{_LATELY} (?P<verb>works?|started(?: working)?|(?:started|got) a (?:new )?job) "
            rf"(?:at|for|with) (?P<value>{_NAME})"
        ),
        _read_workplace,
    ),
    (
        re.compile(
            rf"\b(?:[Tt]he|[Oo]ur|[Mm]y) (?P<what>{_NOUN}) (?:is|was|has been|got|have been)(?: now)? "
            r"(?:re-?scheduled|moved|postponed|pushed(?: back)?|changed|shifted|extended)(?: back| forward)?"
            rf"(?: from [^,.;]+?)? (?:to|until) {_SET}",
            re.IGNORECASE,
        ),
        _read_new_date,
    ),
    (
        re.compile(
            rf"\b(?:[Tt]he|[Oo]ur|[Mm]y) (?P<what>{_NOUN}) (?:is|are) (?:now )?"
            rf"(?:scheduled |set |planned |due |booked )?(?:for|on|at|by) {_SET}",
            re.IGNORECASE,
        ),
        _read_date,
    ),
    (
        re.compile(
            rf"\bI {_ADVERB}(?P<not>don['\u2019]t |do not |no longer |never |didn['\u2019]t )?{_ADVERB}"
            r"(?P<verb>love|like|enjoy|prefer|adore|hate|dislike|detest|can['\u2019]t stand) (?P<what>.+?)"
            r"(?P<no_more> any ?more\b)?(?:[,.;!]|$)"
        ),
        _read_feeling,
    ),
    (re.compile(r"\b(?:I|I['\u2019]ve|I have) changed my mind (?:about|on) (?P<what>.+)"), _read_changed_mind),
)
