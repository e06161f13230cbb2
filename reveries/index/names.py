"""Names in a text, by spelling alone: what it is about, and which known names it mentions. They link texts about the
same person, place or thing. Works for English and other languages that capitalise names. Pure, no model."""

import re
import unicodedata
from collections.abc import Container, Iterator

from reveries.index.terms import stop_words

_WORD = re.compile(r"[^\W_]+(?:['\u2019.][^\W_]+)*")
_COPULA = re.compile(r"\b(?:is|was|are|were|refers|has been|had been|may refer|became)\b")
_DEFINES = re.compile(r"(?:is|was|are|were) (?:an?|the|one|both|two|three)\b")
_ASIDE = re.compile(r"\s*[(\[][^()\[\]]*(?:[)\]]|\Z)")
_ALIAS = re.compile(r",?\s+(?:aka|a\.k\.a\.|also known as|better known as|or)\s+")
_KNOWN_AS = re.compile(
    r"\b(?:known (?:simply |professionally |commonly )?(?:as|by)|nicknamed|also called|aka|born as|n\u00e9e|stage name)"
    r"\s+[\"'\u201c]?\s*((?:[A-Z][\w.'\u2019-]*\s*){1,5})"
)
_APPOSITION = re.compile(r",\s+(?:a|an|the|born|also|known|formerly|originally|officially|son|daughter|[0-9])\b")
_LEADING = re.compile(r"^(?:the|a|an|my|our)\s+", re.IGNORECASE)
_NICKNAME = re.compile(r"[\"\u201c]\s*([A-Z][\w. ]{1,20}?)\s*[\"\u201d]")
_LIFE = re.compile(r"^\s*[(,]\s*(?:born|[^()]{0,40}\b1[0-9]{3}\b|[^()]{0,40}\b20[0-2][0-9]\b)")
HONORIFICS = frozenset(
    [
        "sir",
        "dame",
        "dr",
        "mr",
        "mrs",
        "ms",
        "jr",
        "sr",
        "ii",
        "iii",
        "iv",
        "prince",
        "princess",
        "king",
        "queen",
        "lord",
        "lady",
        "saint",
        "st",
        "obe",
        "mbe",
        "ao",
    ]
)
JOINERS = frozenset(
    ["of", "the", "de", "la", "van", "von", "der", "den", "du", "da", "di", "del", "and", "in", "for", "at", "on", "to"]
)
_QUOTES = "\"'\u201c\u201d\u2018\u2019\u00ab\u00bb` "
_MAX_SUBJECT_WORDS = 9
_MAX_HEADING_CHARS = 100
_SEARCHED_CHARS = 400
MAX_NAME_WORDS = 8


def name_words(text: str) -> list[str]:
    """Return the words by which names are compared: lower case, without accents, possessives and initials."""
    plain = (text if text.isascii() else _strip_accents(text.replace("\u2019", "'"))).casefold()
    words = [word.removesuffix("'s").replace(".", "") for word in _WORD.findall(plain)]
    return [word for word in words if len(word) > 1 or word.isdigit()]


def _strip_accents(text: str) -> str:
    return "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))


def subjects_of(text: str) -> tuple[str, ...]:
    """Return the names of the subject of `text` as keys (see `name_words`), most exact first; () if it has none.

    The sources are a heading (a short first line over more text), a name before the first sentence's verb "to be", and
    the subject's other names ("also known as"). Shorter forms follow: without brackets, and without titles and middle
    names of a person.
    """
    heading, rest = _split_heading(text)
    start = " ".join(rest[:_SEARCHED_CHARS].split())
    keys: dict[str, None] = {}
    for form in [heading, *_name_before_comma(heading)] if heading else []:
        _add_forms(keys, form, is_person=False)
    subjects, after = _split_at_copula(start)
    is_person = bool(_LIFE.match(after))
    for form in subjects:
        _add_forms(keys, form, is_person)
    if subjects:
        for match in _KNOWN_AS.finditer(start):
            _add_forms(keys, match.group(1), is_person=False)
    return tuple(key for key in keys if len(key) > 2)


def find_mentions(
    text: str, names: Container[str], openers: Container[str] | None = None, longest: int = MAX_NAME_WORDS
) -> Iterator[str]:
    """Yield those of `names` that `text` contains: the longest at each position, without overlaps. `openers`, the first
    words of the names, save time: most words of a text begin no name."""
    words = name_words(text)
    place = 0
    while place < len(words):
        if openers is not None and words[place] not in openers:
            place += 1
            continue
        for length in range(min(longest, len(words) - place), 0, -1):
            key = " ".join(words[place : place + length])
            if key in names:
                yield key
                place += length - 1
                break
        place += 1


def _split_heading(text: str) -> tuple[str, str]:
    first, line, rest = text.partition("\n")
    first = first.strip()
    is_short = 0 < len(first) <= _MAX_HEADING_CHARS and len(first.split()) <= _MAX_SUBJECT_WORDS + 3
    if not line or not rest.strip() or not is_short:
        return "", text
    return ("", text) if first[-1] in ".?!:,;" or _DEFINES.search(first) else (first, rest)


def _name_before_comma(name: str) -> list[str]:
    before, comma, _ = name.partition(",")
    return [before] if comma and len(before.split()) > 1 else []


def _split_at_copula(start: str) -> tuple[list[str], str]:
    """Return the names before the verb ("A aka B is ..." has two), and the text after the name."""
    aside = start.find("(")
    verb = _COPULA.search(_ASIDE.sub(lambda match: " " * len(match.group()), start))
    ends = [at for at in (verb.start() if verb else -1, aside) if at > 0]
    if not ends:
        return [], ""
    end = min(ends)
    before = start[:end].strip()
    defines = end == aside or bool(_DEFINES.match(start[end:]))
    whole = _APPOSITION.split(before)[0].rstrip(",; ")
    subjects = [
        part
        for part in dict.fromkeys([whole, *_ALIAS.split(whole), *_name_before_comma(whole)])
        if part and _is_name(part, defines)
    ]
    return subjects, start[end:] if whole == before.rstrip(",; ") else start[len(whole) :]


def _add_forms(keys: dict[str, None], name: str, is_person: bool) -> None:
    """Add the name, the name without brackets, and its shorter forms to `keys`."""
    for form in (name, _ASIDE.sub("", name)):
        words = name_words(_LEADING.sub("", form.strip(_QUOTES)))
        if not 1 <= len(words) <= _MAX_SUBJECT_WORDS or all(word in stop_words() for word in words):
            continue
        keys.setdefault(" ".join(words), None)
        plain = [word for word in words if word not in HONORIFICS]
        if is_person or (len(words) == 3 and JOINERS.isdisjoint(words) and not any(word.isdigit() for word in words)):
            for short in _person_forms(plain):
                keys.setdefault(short, None)
    for match in _NICKNAME.finditer(name):
        nick, last = name_words(match.group(1)), name_words(name)[-1:]
        if nick and last and nick != last:
            keys.setdefault(" ".join([*nick, *last]), None)


def _person_forms(words: list[str]) -> list[str]:
    """Return the shorter forms of a person's name: first and last name, and adjacent pairs."""
    if len(words) < 2:
        return []
    forms = [" ".join(words), f"{words[0]} {words[-1]}"]
    if len(words) > 2:
        forms += [" ".join(words[:2]), " ".join(words[-2:]), " ".join([words[0], *words[2:]])]
    return [form for form in forms if form.split()[-1] not in JOINERS and form.split()[0] not in JOINERS]


def _is_name(text: str, defines: bool) -> bool:
    """Whether most words of `text` that could be capitalised are (one is enough if a definition follows: "X is a
    film"), and no sentence ends inside."""
    text = _LEADING.sub("", text.strip(_QUOTES))
    words = text.split()
    if not 1 <= len(words) <= _MAX_SUBJECT_WORDS or re.search(r"[a-z]{3}\. |[!?] |, [a-z]", text):
        return False
    telling = [word for word in words if word.casefold() not in stop_words()]
    if not telling:
        return False
    capitals = sum(word.lstrip(_QUOTES)[:1].isupper() or word[:1].isdigit() for word in telling)
    first_is = words[0].lstrip(_QUOTES)[:1].isupper() or words[0][:1].isdigit()
    return capitals >= max(1.0, 0.6 * len(telling)) or (defines and first_is)
