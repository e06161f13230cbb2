"""Reads whether an owner asks for a fact of the own life, by words of seven languages (`personal_words.toml`). Pure.

Such a question is answered from what was said or not at all: a small model makes up a husband where none was told of.
"What is the capital of Norway?", "What can I cook?" and "Translate ..." are none.
"""

import itertools
import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

from reveries.daemon.talk.added_facts import AskedWords
from reveries.index.terms import word_keys
from reveries.memory.text.extracts import sentences_of

QUESTION_MARKS: Final = frozenset("?\u037e\u061f\uff1f")
"""Latin, Greek, Arabic and Chinese."""
MOST_WORDS: Final = 24
"""A longer sentence is a story with a question in it."""
MOST_WORDS_UNMARKED: Final = 10
"""Without a question mark a sentence that begins with a question word is a question only if it is short."""
MOST_WORDS_REMARK: Final = 10
"""What follows a question may be longer than this only in a story: "They want it on the form." """
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_CLAUSE = re.compile(r"[.,;:!?\u2026\u2013\u2014\n]+|\b(?:and|und|et|y|e|en|og)\b")
_GENITIVE = re.compile(r"['\u2019]s$")
_QUOTED = re.compile(
    r"\"[^\"]*\"|\u201c[^\u201d]*\u201d|\u201e[^\u201c\u201d]*[\u201c\u201d]|\u00ab[^\u00bb]*\u00bb"
    r"|(?<!\w)['\u2018][^'\u2018\u2019]*['\u2019](?!\w)"
)
_ADDRESS = re.compile(r",\s*\w+(?: \w+)?\s*[?!.]*$")
"""At the end of a question: whom it is put to."""
_FIGURES = re.compile(r"\d+(?:[.,:]\d+)*")


@dataclass(frozen=True, slots=True)
class PersonalWords:
    """The words of one language; phrases stand as their words joined by blanks."""

    language: str
    own: tuple[str, ...]
    plural: tuple[str, ...]
    household: tuple[str, ...]
    whose: frozenset[str]
    frames: tuple[str, ...]
    asks: tuple[str, ...]
    general: tuple[str, ...]
    articles: frozenset[str]
    places: frozenset[str]
    inside: frozenset[str]
    not_names: frozenset[str]
    untold: str
    untold_whole: str


@dataclass(frozen=True, slots=True)
class PersonalQuestion:
    """A question for a fact of the owner's life."""

    asked: AskedWords
    untold: str
    """How an answer begins, in the question's language, that says that this was not told."""
    untold_whole: str
    """The same as a whole sentence."""

    @property
    def words(self) -> str:
        return self.asked.words


def _load() -> tuple[PersonalWords, ...]:
    text = resources.files(__package__).joinpath("personal_words.toml").read_text(encoding="utf-8")
    return tuple(
        PersonalWords(
            language,
            tuple(table["self"]),
            tuple(table["plural"]),
            tuple(table["household"]),
            frozenset(table["whose"]),
            tuple(table["frames"]),
            tuple(table["asks"]),
            tuple(table["general"]),
            frozenset(table["articles"]),
            frozenset(table["places"]),
            frozenset(table["inside"]),
            frozenset(table["not_names"]),
            table["untold"],
            table["untold_whole"],
        )
        for language, table in tomllib.loads(text).items()
    )


LANGUAGES: Final = _load()


def is_question(words: str) -> bool:
    """Whether the last sentence of `words` is a question, by its mark or, in a short one, by its first words."""
    asked = _last_sentence(words)
    tokens = _tokens(asked)
    return _is_marked(asked) or (len(tokens) <= MOST_WORDS_UNMARKED and _begins_question(_language_of(tokens), tokens))


def read_personal_question(words: str, owner_texts: Sequence[str]) -> PersonalQuestion | None:
    """Return the question if the last sentence of `words`, or the one before a short remark, asks for a fact of the
    owner's life, or of somebody named in `owner_texts`, which the owner said before; else None."""
    asked = _asked_sentence(words)
    tokens, is_marked = _tokens(asked), _is_marked(asked)
    if len(tokens) > (MOST_WORDS if is_marked else MOST_WORDS_UNMARKED):
        return None
    language = _language_of(tokens)
    is_asked = _has_phrase(language.asks, tokens) if is_marked else _begins_question(language, tokens)
    if not is_asked or _has_phrase(language.general, tokens) or _is_sum(asked):
        return None
    if not _is_of_owner(_own_tokens(asked, language), owner_texts, language) and not _names_somebody(
        asked, owner_texts, language
    ):
        return None
    asked_words = AskedWords(words, language.language, language.not_names)
    return PersonalQuestion(asked_words, language.untold, language.untold_whole)


def _is_of_owner(own_tokens: Sequence[str], owner_texts: Sequence[str], language: PersonalWords) -> bool:
    """Whether the words of a question stand for the owner, or for people of whom the owner is one and not everybody."""
    if _has_phrase((*language.own, *language.household), own_tokens):
        return True
    if not _has_phrase(language.plural, own_tokens):
        return False
    grammar = {word for phrase in (*language.plural, *language.asks) for word in phrase.split()}
    asked = word_keys(" ".join(token for token in own_tokens if token not in grammar | language.articles))
    return any(asked & word_keys(text) for text in owner_texts)


def _last_sentence(words: str) -> str:
    """Return the last sentence; empty if it exclaims something."""
    sentences = sentences_of(words)
    return sentences[-1] if sentences and not sentences[-1].endswith("!") else ""


def _asked_sentence(words: str) -> str:
    """Return the last sentence, or the question that stands before a short remark ("They want it on the form.")."""
    last, before = _last_sentence(words), sentences_of(words)[-2:-1]
    is_remark = bool(last) and not is_question(last) and len(_tokens(last)) <= MOST_WORDS_REMARK
    return before[0] if is_remark and before and _is_marked(before[0]) else last


def _is_marked(asked: str) -> bool:
    return not QUESTION_MARKS.isdisjoint(asked)


def _begins_question(language: PersonalWords, tokens: Sequence[str]) -> bool:
    """Whether a sentence without a mark begins as a question."""
    text = " ".join(tokens) + " "
    return any(text.startswith(f"{phrase} ") for phrase in language.asks)


def _language_of(tokens: Sequence[str]) -> PersonalWords:
    """Return the language of which a sentence has most words."""
    return max(LANGUAGES, key=lambda language: _score(language, tokens))


def _tokens(text: str) -> list[str]:
    return [token.replace("\u2019", "'") for token in _TOKEN.findall(text.casefold())]


def _own_tokens(asked: str, language: PersonalWords) -> list[str]:
    """Return the words that stand for themselves: neither quoted nor, by a capital, part of a name ("My Way", "the US",
    "Elizabeth I"), nor of "tell me" and "my friend"."""
    text = _QUOTED.sub(" ", _ADDRESS.sub("", asked))
    for frame in language.frames:
        text = re.sub(rf"^\W*(?:\w+\W+)?{frame}\b", "", text, flags=re.IGNORECASE)
    words = _TOKEN.findall(text)
    is_capital = [place > 0 and word[0].isupper() and not asked.isupper() for place, word in enumerate(words)]
    return [
        token
        for word, is_name, follows_name in zip(words, is_capital, [False, *is_capital], strict=False)
        for token in _tokens(word)
        if not (follows_name if token.partition("'")[0] == "i" else is_name)
    ]


def _is_sum(asked: str) -> bool:
    """Whether something is to be computed: its result was never said."""
    return "%" in asked or len(_FIGURES.findall(asked)) > 1


def _score(language: PersonalWords, tokens: Collection[str]) -> int:
    """How many of its words a sentence has."""
    articles = [word for word in language.articles if len(word) > 1]  # "a" is a word of most languages.
    phrases = (*language.own, *language.plural, *language.household, *language.asks, *language.general, *articles)
    words = {word for phrase in phrases for word in phrase.split()}
    return sum(token in words for token in tokens)


def _has_phrase(phrases: Sequence[str], tokens: Sequence[str]) -> bool:
    text = f" {' '.join(tokens)} "
    return any(f" {phrase} " in text for phrase in phrases)


def _names_somebody(asked: str, owner_texts: Sequence[str], language: PersonalWords) -> bool:
    """Whether the question names somebody of whom the owner told: with a capital or a genitive, after no article. Of a
    name that may be a place's, the owner must have told as of a person."""
    people: set[str] = set()
    anybody: set[str] = set()
    tokens = _TOKEN.findall(asked)
    for before, token, after in zip(tokens, tokens[1:], [*tokens[2:], ""], strict=False):
        if not _may_be_name(token, language) or _precedes_noun(before.casefold(), language):
            continue
        if after[:1].isupper() and not _told_of({_without_genitive(after)}, owner_texts, language):
            continue  # Of another with the same first name: "Who is Tom Hanks?"
        (people if before.casefold() in language.places else anybody).add(_without_genitive(token))
    told_of = {_bare(name) for text in owner_texts for name in _people_in(text, language) if people}
    return bool({_bare(name) for name in people} & told_of) or (
        bool(anybody) and _told_of(anybody, owner_texts, language)
    )


def _told_of(names: Collection[str], owner_texts: Sequence[str], language: PersonalWords) -> bool:
    """Whether the owner wrote one of `names`, which is no place for all that was told ("in Norway"). A name with a
    capital is none of the owner's words without one: an apple is not Apple."""
    texts = [["", *_TOKEN.findall(text)] for text in owner_texts]
    pairs = [pair for text in texts for pair in itertools.pairwise(text)]
    written = {_without_genitive(token) for _, token in pairs}
    written |= {_bare(token) for token in written}
    # "At Anna's" is a person's.
    inside = {
        _bare(token) for before, token in pairs if before.casefold() in language.inside and not _GENITIVE.search(token)
    }
    return any(name in written and _bare(name) not in inside for name in names)


def _may_be_name(token: str, language: PersonalWords) -> bool:
    has_mark = token[0].isupper() or bool(_GENITIVE.search(token))
    return (
        has_mark
        and token.casefold() not in language.articles
        and token.casefold() not in (*language.own, *language.plural)
    )


def _people_in(text: str, language: PersonalWords) -> Iterator[str]:
    """Yield the words of `text` that stand where somebody is named: at the beginning of a clause ("Karim burned the
    lentils"), or behind whose they are ("my sister Lena"). Other capitals are places as often."""
    for clause in _CLAUSE.split(text):
        tokens = _TOKEN.findall(clause)
        yield from (token for token in tokens[:1] if token.casefold() not in language.articles)
        for whose, _, name in zip(tokens, tokens[1:], tokens[2:], strict=False):
            if whose.casefold() in language.whose:
                yield name


def _precedes_noun(word: str, language: PersonalWords) -> bool:
    """Whether `word` is an article, or an adjective of a language that writes all nouns with a capital."""
    return word in language.articles or (language.language == "de" and word.endswith(("e", "en", "er", "es", "em")))


def _without_genitive(token: str) -> str:
    return _GENITIVE.sub("", token).rstrip("s")


def _bare(token: str) -> str:
    """Return a name as it is compared: without case and genitive."""
    return _without_genitive(token.casefold())
