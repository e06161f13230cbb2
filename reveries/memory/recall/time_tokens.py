"""Splits a text into tokens with the tags of `time_words`, in the language that most of its words speak. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from reveries.memory.text.time_words import Language, bare_word, languages

_TOKEN = re.compile(
    r"(?P<iso>\b\d{4}([-/.])\d{1,2}\2\d{1,2}\b)"
    r"|(?P<ym>\b\d{4}-\d{2}\b(?!-))"
    r"|(?P<full>\b\d{1,2}([-/.])\d{1,2}\5(?:\d{4}|\d{2})\b|\b\d{1,2}\.\s\d{1,2}\.\s?\d{4}\b)"
    r"|(?P<short>\b\d{1,2}/\d{1,2}\b(?![/.\d])|\b\d{1,2}\.\s?\d{1,2}\.(?!\d)"
    # Without the last point, and with a hyphen, only behind a word that stands before days.
    r"|(?:(?<=\bam\s)|(?<=\bvom\s)|(?<=\bzum\s))\d{1,2}\.\d{1,2}\b(?![.\d-])"
    r"|(?:(?<=\bon\s)(?=\d+-\d+\s*(?:$|[?!.,;:]))|(?<=\bop\s)|(?<=\ble\s)|(?<=\bel\s)|(?<=\bil\s))\d{1,2}-\d{1,2}\b(?![-\d]))"
    r"|(?P<cjk>(?:\d{4}\u5e74)?\d{1,2}\u6708\d{1,2}\u65e5)"
    r"|(?P<ordinal>\b\d{1,2}(?:st|nd|rd|th|er|\u00e8re|re|e|de|ste|\u00ba|\u00aa|\u00b0)(?![^\W_]))"
    r"|(?P<number>\d+)"
    r"|(?P<word>[^\W\d_]+)"
    r"|(?P<mark>[^\w\s])",
    re.IGNORECASE,
)
_JOINING = "'\u2019-"
_DATES = {"iso": "D", "full": "D", "cjk": "D", "short": "z", "ym": "Y"}
LATEST_YEAR, FIRST_YEAR = 2099, 1900


@dataclass(frozen=True, slots=True)
class TimeToken:
    """A word, number, date in figures or mark, or a phrase, with its tag."""

    tag: str
    """One character of `time_words`; d day or number, y year, D z Y dates in figures, x another word, or the mark."""
    value: str
    start: int
    end: int
    text: str
    is_capital: bool = False


@dataclass(frozen=True)
class TaggedText:
    """A text's tokens in one language."""

    tokens: Sequence[TimeToken]
    language: Language

    @cached_property
    def tags(self) -> str:
        """The tags of all tokens, one character each."""
        return "".join(token.tag for token in self.tokens)


def tag_text(text: str) -> TaggedText:
    """Return the tokens of `text` in the language that it seems to be in, in a tie English or the first."""
    raw = [_raw_token(match) for match in _TOKEN.finditer(text)]
    words = [token for place, token in enumerate(raw) if not _is_joining(raw, place)]
    tagged = [TaggedText(_tag(words, language), language) for language in languages()]
    return max(tagged, key=_count_votes)


def _raw_token(match: re.Match[str]) -> TimeToken:
    kind, text = match.lastgroup or "mark", match.group()
    if kind == "word":
        return TimeToken("x", bare_word(text), *match.span(), text, text[0].isupper())
    if kind == "mark":
        return TimeToken(text if text in ",.-:" else "?", text, *match.span(), text)
    if kind == "number":
        is_year = len(text) == 4 and FIRST_YEAR <= int(text) <= LATEST_YEAR
        tag = "y" if is_year else "d" if len(text) < 3 else "c" if len(text) == 3 else "x"
        return TimeToken(tag, str(int(text)) if len(text) < 5 else text, *match.span(), text)
    if kind == "ordinal":
        digits = re.match(r"\d+", text)
        return TimeToken("o", str(int(digits.group())) if digits else "", *match.span(), text)
    return TimeToken(_DATES[kind], text, *match.span(), text)


def _is_joining(tokens: Sequence[TimeToken], place: int) -> bool:
    """Whether a mark joins two words: "aujourd'hui", "week-end"."""
    token = tokens[place]
    if token.text not in _JOINING or not 0 < place < len(tokens) - 1:
        return False
    before, after = tokens[place - 1], tokens[place + 1]
    is_elision = token.text != "-" and after.tag == "d" and len(before.text) == 1  # Italian "l'8".
    is_one_word = before.tag == "x" and (after.tag == "x" or is_elision)
    return is_one_word and before.end == token.start and token.end == after.start


def _tag(words: Sequence[TimeToken], language: Language) -> list[TimeToken]:
    tagged: list[TimeToken] = []
    place = 0
    while place < len(words):
        token, length = _match_phrase(words, place, language)
        if language.code == "de" and token.tag == "d" and place + 1 < len(words) and words[place + 1].text == ".":
            token, length = replace(token, tag="o", end=words[place + 1].end), 2
        if token.tag == "z" and "-" in token.text and _is_month(words[place + 1 : place + 3], language):
            tagged += _split_days(token)
            place += 1
            continue
        if token.tag == "r":
            token = replace(token, tag="P" if tagged and tagged[-1].tag in "WwRN" else "R", value="1")
        if token.tag == "w" and not token.is_capital:
            token = replace(token, tag="x")
        tagged.append(token)
        place += length
    return tagged


def _is_month(words: Sequence[TimeToken], language: Language) -> bool:
    """Whether the first of `words` is a month, or the second behind a small word: "10-11 de noviembre"."""
    tags = [language.phrases.get((word.value,), ("", ""))[0] for word in words]
    return tags[:1] in (["M"], ["m"]) or (tags[:1] == ["q"] and tags[1:] in (["M"], ["m"]))


def _split_days(token: TimeToken) -> list[TimeToken]:
    """Return "10-11" as the days from 10 to 11."""
    first, last = token.text.split("-")
    between = token.start + len(first)
    return [
        TimeToken("d", str(int(first)), token.start, between, first),
        TimeToken("-", "-", between, between + 1, "-"),
        TimeToken("d", str(int(last)), between + 1, token.end, last),
    ]


def _match_phrase(words: Sequence[TimeToken], place: int, language: Language) -> tuple[TimeToken, int]:
    """Return the longest phrase that begins at `place`, and how many words it has; the word itself if none does."""
    longest = language.longest.get(words[place].value, 0)
    for length in range(min(longest, len(words) - place), 0, -1):
        part = words[place : place + length]
        meaning = language.phrases.get(tuple(token.value for token in part))
        if meaning is not None and (length > 1 or part[0].tag == "x"):
            text = " ".join(token.text for token in part)
            return TimeToken(*meaning, part[0].start, part[-1].end, text, part[0].is_capital), length
    return words[place], 1


def _count_votes(tagged: TaggedText) -> int:
    """Count the words of the language; a time outweighs a small word that several languages have."""
    times = (token for token in tagged.tokens if token.tag not in "xv,.-:?" and token.text[0].isalpha())
    own = sum(2 * len(token.text.split()) for token in times)
    return own + sum(token.tag == "v" or token.value in tagged.language.plain for token in tagged.tokens)
