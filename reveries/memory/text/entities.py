"""Extracts the people, places, things and dates that a text names, by spelling, without a model.

Capitals mark names in English and similar languages; if a writer uses none, a few phrases do ("my sister anna", "moved
to lisbon"). In scripts without capitals nothing is found. Two spellings with the same `entity_key` are the same name.
Pure.
"""

import re
import unicodedata
from collections.abc import Container

from reveries.index.names import HONORIFICS, name_words
from reveries.index.terms import stop_words
from reveries.memory.text.word_lists import after_subjects, no_names, openers

# Anchored to the start of a run and bounded: otherwise a long run without blanks takes quadratic time.
_URL = re.compile(r"https?://\S+|(?<!\S)[^\s@]{1,64}@[^\s@]{1,255}\.\w+")
_HONORIFIC_STOP = re.compile(r"\b((?:Dr|Mr|Mrs|Ms|St|Prof|Jr|Sr|[A-Z]))\.(?=\s+[A-Z])")
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019.&-][^\W_]+)*|[.!?\u2026:;\n\"\u201c\u201d(),\u2013\u2014]")
_STARTS = frozenset('.!?\u2026:\n"\u201c(\u2014')
_MARKS = _STARTS | frozenset(";),\u201d\u2013")
_ADDRESSED = frozenset(["dr", "mr", "mrs", "ms", "prof", "professor", "doctor", "miss", "sir", "madam"])
_JOINERS = frozenset(["of", "the", "de", "la", "van", "von", "der", "den", "du", "da", "di", "del", "af", "al", "bin"])
_NAMES_BEGIN = frozenset(["new", "great", "hot", "long", "little"])
"""Ordinary words that can also begin a name of several words ("New York")."""
WEEKDAYS = frozenset(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"])
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH = "|".join(_MONTHS)
_DATE = re.compile(
    rf"\b(?:(?P<iso>(?:19|20)\d\d-\d\d-\d\d)"
    rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+(?P<month>{_MONTH})\b(?:,?\s+(?P<year>(?:19|20)\d\d))?"
    rf"|(?P<month2>{_MONTH})\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+(?P<year2>(?:19|20)\d\d))?"
    rf"|(?P<month3>{_MONTH})\b(?:\s+(?P<year3>(?:19|20)\d\d))?"
    rf"|(?P<year4>(?:19|20)\d\d))\b",
    re.IGNORECASE,
)
_ALSO_A_VERB = frozenset(["may", "march"])
_BEFORE_A_MONTH = re.compile(
    r"\b(?:in|since|until|till|by|of|last|next|this|early|late|mid|every|during|from)[ -]$", re.IGNORECASE
)
_LONGEST_BEFORE_CHARS = 16
"""Longer than any match of `_BEFORE_A_MONTH`."""
_RELATION = (
    "sister|brother|wife|husband|friend|boss|manager|colleague|neighbou?r|cousin|uncle|aunt|son|daughter|dog|cat|puppy|"
    "kitten|horse|girlfriend|boyfriend|partner|fianc\u00e9e?|teacher|nephew|niece|flatmate|roommate|"
    "grand(?:ma|pa|son|daughter)"
)
_PERSON_PHRASE = re.compile(
    rf"\b(?:(?:my|our|his|her|their)\s+(?:[a-z]+\s+)?(?:{_RELATION})|named|called|name(?:'s| is))\s+([^\W\d_]{{2,}})"
)
_PLACE_PHRASE = re.compile(
    r"\b(?:(?:live|lives|lived|living|moved?|moving|flew|fly|flying|travell?(?:ed|ing)|trip|flight|drove|went|been|born|"
    r"grew up|back|is|are|was|were|i'm|holidays?)\s+(?:to|in|from)|from)\s+([^\W\d_]{3,})"
)


def entities_of(text: str, known_names: Container[str] = ()) -> tuple[str, ...]:
    """Return the names and dates in `text`, lower case, in order: capitalised spans, and dates in one normal form.

    The first word of a sentence counts as a name only if another capitalised word follows it, or if it is not an
    ordinary word and is a subject or `known_names` (by its key).
    """
    text = unicodedata.normalize("NFKC", _URL.sub(" ", text))
    dates = _dates(text)
    rest = _mask_spans(text, [(start, end) for start, end, _ in dates])
    entities = list(dates)
    if _has_no_capitals(rest):
        entities += _uncapitalised_names(rest)
    elif not _is_shouted(rest):
        entities += _capitalised_names(rest, known_names)
    return tuple(dict.fromkeys(name for _, _, name in sorted(entities)))


def entity_key(entity: str) -> str:
    """Normalize a name, without accents, possessive and title, so that spellings can be compared. May be empty."""
    words = name_words(entity)
    while len(words) > 1 and (words[0] in HONORIFICS or words[0] == "the"):
        words = words[1:]
    return " ".join(words)


def _dates(text: str) -> list[tuple[int, int, str]]:
    spans: list[tuple[int, int, str]] = []
    for match in _DATE.finditer(text):
        parts = match.groupdict()
        month = (parts["month"] or parts["month2"] or parts["month3"] or "").casefold()
        day = parts["day"] or parts["day2"] or ""
        year = parts["year"] or parts["year2"] or parts["year3"] or parts["year4"] or ""
        is_bare = bool(month) and not day and not year
        before = text[max(0, match.start() - _LONGEST_BEFORE_CHARS) : match.start()]
        if is_bare and month in _ALSO_A_VERB and not _BEFORE_A_MONTH.search(before):
            continue
        name = parts["iso"] or " ".join(part for part in (day.lstrip("0"), month, year) if part)
        spans.append((match.start(), match.end(), name))
    return spans


def _mask_spans(text: str, spans: list[tuple[int, int]]) -> str:
    """Replace each span by commas of the same length, so that all positions stay the same."""
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces += (text[at:start], "," * (end - start))
        at = end
    return "".join([*pieces, text[at:]])


def _has_no_capitals(text: str) -> bool:
    return not any(word[0].isupper() for word in re.findall(r"[^\W\d_]{2,}", text))


def _is_shouted(text: str) -> bool:
    words = re.findall(r"[^\W\d_]{2,}", text)
    return len(words) >= 3 and sum(word.isupper() for word in words) > 0.6 * len(words)


def _uncapitalised_names(text: str) -> list[tuple[int, int, str]]:
    """Find names in a text without capitals, by the words before them."""
    spans: list[tuple[int, int, str]] = []
    for phrase in (_PERSON_PHRASE, _PLACE_PHRASE):
        for match in phrase.finditer(text):
            word = match.group(1)
            if word in no_names() or word in stop_words() or word in openers() or word.endswith(("ing", "ed")):
                continue
            if word not in WEEKDAYS:
                spans.append((match.start(1), match.end(1), word.casefold()))
    return spans


def _capitalised_names(text: str, known_names: Container[str]) -> list[tuple[int, int, str]]:
    """Find runs of capitalised words ("Isle of Skye", "LH 438")."""
    text = _HONORIFIC_STOP.sub(lambda match: f"{match.group(1)} ", text)
    tokens = [(match.group(), match.start()) for match in _TOKEN.finditer(text)]
    spans: list[tuple[int, int, str]] = []
    run: list[str] = []
    start, began_sentence, starts = 0, True, True
    for token, at in [*tokens, (".", len(text))]:
        if run and _is_possessive(run[-1]):
            spans += _span_of_run(run, began_sentence, start, at)
            run = []
        if token not in _MARKS and (_is_name_like(token) or (run and _continues_run(run, token))):
            if not run:
                start, began_sentence = at, starts
            run.append(token)
        elif run and token.casefold() in _JOINERS:
            run.append(token)
        else:
            # A single word at the beginning of a sentence is a name only if it is a subject or followed by a mark.
            is_subject = token in _MARKS or token.casefold() in after_subjects() or token.endswith(("s", "ed"))
            if not began_sentence or len(run) > 1 or is_subject or entity_key(run[0] if run else "") in known_names:
                spans += _span_of_run(run, began_sentence, start, at)
            run = []
        starts = token in _STARTS
    return spans


def _is_possessive(token: str) -> bool:
    return token.endswith(("'s", "\u2019s"))


def _span_of_run(run: list[str], began_sentence: bool, start: int, end: int) -> list[tuple[int, int, str]]:
    name = _name_of_run(run, began_sentence)
    return [(start, end, name)] if name else []


def _continues_run(run: list[str], token: str) -> bool:
    """Whether a number after a capitalised word is part of the name: "LH 438", "Terminal 2"."""
    return token.isdigit() and len(run) == 1 and run[0].isupper()


def _name_of_run(run: list[str], began_sentence: bool) -> str:
    while run and run[-1].casefold() in _JOINERS:
        run = run[:-1]
    while run and (run[0].casefold() in _ADDRESSED | _JOINERS or (began_sentence and _is_only_opening(run))):
        run = run[1:]
    if not run or (len(run) == 1 and len(run[0]) < 2):
        return ""
    name = " ".join(word.replace("\u2019", "'").removesuffix("'s").removesuffix("'") for word in run).casefold()
    return name if name not in WEEKDAYS else ""


def _is_only_opening(run: list[str]) -> bool:
    return _is_ordinary(run[0]) and (len(run) == 1 or run[0].casefold() not in _NAMES_BEGIN)


def _is_ordinary(word: str) -> bool:
    """Whether the word can begin a sentence without being a name."""
    plain = word.casefold().replace("\u2019", "'").removesuffix("'s")
    return plain in openers() or plain in stop_words() or (plain.endswith(("ing", "ly", "ed")) and len(plain) > 5)


def _is_name_like(token: str) -> bool:
    plain = token.casefold().replace("\u2019", "'")
    is_filler = plain in stop_words() or plain.split("'")[0] in stop_words()
    return token[0].isupper() and not is_filler and plain.removesuffix("'s") not in WEEKDAYS
