"""Detects whether two chunks contradict each other, and decides which of them holds (V-123, V-124). Pure, no model.

Two sentences are about the same thing if they share their subject and most of their other words, and differ in one
value after the verb: a number, a name, a word or two. The later one then holds, unless the earlier one has more
authority or the two state different conditions. A verb by which a subject has several values at once ("is allergic to",
"bought", "speaks") replaces nothing, unless the value is a number or the later text is another edition of the earlier
one: both hold, and the later one is shown first. Texts that are only similar stay candidates, which a model may judge
or the owner sees as unverified.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import StrEnum
from importlib import resources

from reveries.index.terms import stem, stop_words
from reveries.knowledge.model import OWNER_ANSWER_TAG, Chunk, ChunkSource, ChunkType, Confidence, NewChunk
from reveries.llm.base import Vectors

_WORD = re.compile(r"[^\W_]+(?:['\u2019.,-][^\W_]+)*|[$\u20ac\u00a3%]")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_WORDS = {
    name: frozenset(words.split())
    for name, words in tomllib.loads(
        resources.files(__package__).joinpath("statement_words.toml").read_text(encoding="utf-8")
    ).items()
}
_MOST_VALUE_WORDS = 6
_LEAST_SHARED = 0.7
"""Share of the content words of the longer sentence, without numbers, that both sentences must have."""
_EDITION_SENTENCES = 2
"""A text with the title of an earlier one that repeats so many of its sentences is another edition of it: a value that
changed there is a correction, whatever the verb."""
_MOST_OF_BATCH = 10
_MOST_SENTENCES = 40
_MOST_SENTENCE_WORDS = 80
"""Longer ones are not compared: a text without full stops would take seconds."""


class Resolution(StrEnum):
    """How a contradiction is resolved (V-124)."""

    RECENCY = "recency"
    AUTHORITY = "authority"
    CONDITIONAL = "conditional"
    ESCALATE = "escalate"


@dataclass(frozen=True, slots=True)
class ValueChange:
    """Two sentences that give the same thing two values."""

    subject: str
    old: str
    new: str
    old_sentence: str
    new_sentence: str
    may_both_hold: bool = False
    """Whether the subject can have both values at once."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    words: tuple[str, ...]
    """In their original spelling."""
    keys: tuple[str, ...]
    """Stems, for comparing."""
    distinct: frozenset[str]


@dataclass(frozen=True, slots=True)
class ChunkComparison:
    """The result of comparing a new chunk with a stored one."""

    chunk_id: str
    cosine: float
    change: ValueChange | None
    speaks_alike: bool
    is_stored_together: bool = False
    """Whether both are stored at once: neither is newer, and `chunk_id` is the other's place in the batch."""


def compare_chunks(new: NewChunk, near: Sequence[tuple[Chunk, float]], conflict_floor: float) -> list[ChunkComparison]:
    """Compare a new chunk with stored ones, given with their cosines. From a cosine of `conflict_floor` on, texts that
    speak alike may contradict each other."""
    comparisons, news = [], _sentences(new.content)
    for other, cosine in near:
        is_apart = other.id in new.rests_on or ChunkType.ATTEMPT in (new.type, other.type) or not other.stands
        if not is_apart:
            change = _find_change(other.title, _sentences(other.content), new.title, news)
            is_near = change is None and cosine >= conflict_floor
            is_alike = is_near and speak_alike(other.title, other.content, new.title, new.content)
            comparisons.append(ChunkComparison(other.id, cosine, change, is_alike))
    return comparisons


@dataclass(frozen=True, slots=True)
class BatchComparison:
    """Compares chunks that are stored together: each with the nearest of those before it."""

    chunks: Sequence[NewChunk]
    vectors: Vectors
    """One row each, of length 1."""
    similarity_floor: float
    conflict_floor: float

    def compare(self) -> list[list[ChunkComparison]]:
        """The comparisons of each chunk; the other's place in the batch stands for its id."""
        return [self._compare_one(place) for place in range(len(self.chunks))]

    def _compare_one(self, place: int) -> list[ChunkComparison]:
        cosines = self.vectors[:place] @ self.vectors[place]
        nearest = [int(row) for row in (-cosines).argsort(kind="stable")[:_MOST_OF_BATCH]]
        near = [
            (_stored_form(str(row), self.chunks[row]), float(cosines[row]))
            for row in nearest
            if cosines[row] >= self.similarity_floor
        ]
        comparisons = compare_chunks(self.chunks[place], near, self.conflict_floor)
        return [replace(comparison, is_stored_together=True) for comparison in comparisons]


def _stored_form(name: str, new: NewChunk) -> Chunk:
    return Chunk(
        name, "", new.title, new.content, new.type, new.tags, new.confidence, new.source, tuple(new.rests_on), None, "",
        0.0, new.foreign_sources,
    )  # fmt: skip


def find_change(old_title: str, old: str, new_title: str, new: str) -> ValueChange | None:
    """Find a sentence of `new` that gives the subject of a sentence of `old` another value; None if there is none.
    Equal titles make the subject the same. Texts with different titles are about different things, unless the sentence
    itself names its subject."""
    return _find_change(old_title, _sentences(old), new_title, _sentences(new))


def _find_change(
    old_title: str, olds: Sequence[_Sentence], new_title: str, news: Sequence[_Sentence]
) -> ValueChange | None:
    is_same_title = bool(old_title) and old_title.casefold() == new_title.casefold()
    is_apart = bool(old_title and new_title) and not is_same_title
    said_before = {sentence.keys for sentence in olds}
    is_edition = is_same_title and sum(sentence.keys in said_before for sentence in news) >= _EDITION_SENTENCES
    for stated in news:
        if stated.keys in said_before:
            continue
        for earlier in olds:
            if (
                change := _compare_sentences(earlier, stated, is_same_title=is_same_title, is_edition=is_edition)
            ) and not (is_apart and not _names_subject(change.subject)):
                return change
    return None


def speak_alike(old_title: str, old: str, new_title: str, new: str) -> bool:
    """Whether two similar texts say nearly the same with another number, or with a negation. They may contradict each
    other; only a model or the owner can tell."""
    is_apart = bool(old_title and new_title) and old_title.casefold() != new_title.casefold()
    for stated in _sentences(new):
        for earlier in _sentences(old):
            mine, theirs = set(_telling(stated)), set(_telling(earlier))
            shared = mine & theirs
            if len(shared) < 2 or len(shared) < _LEAST_SHARED * max(len(mine), len(theirs)) or _is_anaphoric(stated):
                continue
            if is_apart and not _names_subject(stated.text):
                continue
            if _negated(stated) != _negated(earlier) or (
                _numbers_in(stated) and _differ(_numbers_in(stated), _numbers_in(earlier))
            ):
                return True
    return False


def statements_of(text: str) -> list[frozenset[str]]:
    """The stems of the content words of each sentence, and "not" for a negation: equal ones say the same."""
    statements, stops, negations = [], stop_words(), _WORDS["negations"]
    for part in _SENTENCE.split(text.casefold())[:_MOST_SENTENCES]:
        words = _WORD.findall(part)
        if len(words) > _MOST_SENTENCE_WORDS:
            continue
        keys = {stem(word) for word in words if word not in stops and (len(word) > 1 or word.isdigit())}
        if keys and any(word in negations or word.endswith("n't") for word in words):
            keys.add("not")
        if keys:
            statements.append(frozenset(keys))
    return statements


def resolve(older: Chunk, newer: Chunk, change: ValueChange) -> Resolution:
    """Decide which of two contradicting chunks holds: the newer one, unless they state different conditions or the
    older one has more authority. Only the owner replaces the owner's own word. If both were found side by side,
    neither is newer: the owner decides."""
    if _conditions(change.old_sentence, change.old) != _conditions(change.new_sentence, change.new):
        return Resolution.CONDITIONAL
    if {change.old.casefold(), change.new.casefold()} <= _WORDS["times"]:
        return Resolution.CONDITIONAL
    if are_side_by_side(older, newer):
        return Resolution.ESCALATE
    if has_authority(newer, older):
        return Resolution.RECENCY
    return Resolution.ESCALATE if _is_owners(older) else Resolution.AUTHORITY


def are_side_by_side(older: Chunk, newer: Chunk) -> bool:
    """Whether both became valid at the same moment, for example two files of a folder on its first reading."""
    return older.valid_from is not None and older.valid_from == newer.valid_from


def has_authority(newer: Chunk, older: Chunk) -> bool:
    """Whether the newer of two chunks may replace the older one."""
    return _authority(newer) >= _authority(older)


def _authority(chunk: Chunk) -> int:
    if _is_owners(chunk):
        return 3
    return {Confidence.VERIFIED: 2, Confidence.INFERRED: 1, Confidence.SPECULATIVE: 0}[chunk.confidence]


def _is_owners(chunk: Chunk) -> bool:
    """Whether the owner said it. An answer is the owner's word, whatever the question was made from; its chunk stays
    tainted, because it quotes the question."""
    return chunk.source is ChunkSource.USER and (not chunk.foreign_sources or OWNER_ANSWER_TAG in chunk.tags)


def _sentences(text: str) -> list[_Sentence]:
    sentences = []
    for part in _SENTENCE.split(text)[:_MOST_SENTENCES]:
        words = tuple(_WORD.findall(part))
        if 0 < len(words) <= _MOST_SENTENCE_WORDS:
            keys = tuple(stem(word.casefold()) for word in words)
            sentences.append(_Sentence(part.strip(), words, keys, frozenset(keys)))
    return sentences


def _compare_sentences(old: _Sentence, new: _Sentence, *, is_same_title: bool, is_edition: bool) -> ValueChange | None:
    """Return the one value in which two sentences differ; None if they differ otherwise."""
    shared = len(old.distinct & new.distinct)
    if max(len(old.distinct), len(new.distinct)) - shared > _MOST_VALUE_WORDS:
        return None
    codes = SequenceMatcher(None, old.keys, new.keys, autojunk=False).get_opcodes()
    changed = [code for code in codes if code[0] != "equal"]
    if len(changed) != 1 or changed[0][0] != "replace":
        return None
    _, start, end, new_start, new_end = changed[0]
    was, now = old.words[start:end], new.words[new_start:new_end]
    before, after = old.words[:start], old.words[end:]
    if max(len(was), len(now)) > _MOST_VALUE_WORDS or not (_is_value(was) and _is_value(now)):
        return None
    telling = [word for word in (*before, *after) if _is_telling(word)]
    spoken = {word.casefold() for word in before}
    has_subject = is_same_title or not _is_anaphoric(old)
    # A value follows the verb: a difference before it is another subject.
    if (
        not has_subject
        or not (spoken & _WORDS["verbs"] or _has_verb(before))
        or (not is_same_title and any(word.casefold() in _WORDS["verbs"] for word in after))
    ):
        return None
    if len(telling) < (1 if is_same_title else 2):
        return None
    is_exact = (_is_measured(was) and _is_measured(now)) or _is_trait(before, was, now)
    may_both_hold = not is_edition and not is_exact and _is_many_valued(before)
    return ValueChange(" ".join(before), " ".join(was), " ".join(now), old.text, new.text, may_both_hold)


def _is_anaphoric(sentence: _Sentence) -> bool:
    """Whether it refers by a pronoun to something that another sentence names."""
    return bool({word.casefold() for word in sentence.words} & _WORDS["pronouns"])


def _names_subject(text: str) -> bool:
    """Whether the text contains a name: a capitalised word that is not the first."""
    return any(word[:1].isupper() and word.casefold() not in stop_words() for word in _WORD.findall(text)[1:])


def _differ(numbers: frozenset[str], others: frozenset[str]) -> bool:
    return bool(numbers ^ others) and bool(others)


def _is_value(words: Sequence[str]) -> bool:
    return any(_is_telling(word) for word in words) and not any(word.casefold() in _WORDS["verbs"] for word in words)


def _has_verb(words: Sequence[str]) -> bool:
    """Whether a word after the first looks like a verb in the past tense or the third person."""
    return any(
        word in _WORDS["past_forms"] or (word.islower() and word.endswith(("ed", "es", "s"))) for word in words[1:]
    )


def _is_many_valued(before: Sequence[str]) -> bool:
    """Whether what stands before a value lets its subject have several at once, by the last word that says how they
    are related: "is allergic to", "sells", but not "the rent is"."""
    return _relating_word(before) in _WORDS["many_valued"]


def _relating_word(before: Sequence[str]) -> str:
    relating = _WORDS["many_valued"] | _WORDS["verbs"]
    return next((word for word in map(str.casefold, reversed(before)) if word in relating), "")


def _is_trait(before: Sequence[str], was: Sequence[str], now: Sequence[str]) -> bool:
    """Whether one thing that the subject has is given another trait: "has a red door", "has a blue door"."""
    words = {word.casefold() for word in (*was, *now)}
    return _relating_word(before) in _WORDS["possessions"] and words <= _WORDS["traits"]


def _is_measured(words: Sequence[str]) -> bool:
    """Whether a value is a number or a day."""
    exact = _WORDS["numbers"] | _WORDS["dates"]
    return any(word[:1].isdigit() or word.casefold() in exact for word in words)


def _is_telling(word: str) -> bool:
    return word[:1].isdigit() or (word.casefold() not in stop_words() and len(word) > 1)


def _telling(sentence: _Sentence) -> list[str]:
    return [
        key
        for word, key in zip(sentence.words, sentence.keys, strict=True)
        if _is_telling(word) and not word[:1].isdigit() and word.casefold() not in _WORDS["negations"]
    ]


def _negated(sentence: _Sentence) -> bool:
    return any(word.casefold() in _WORDS["negations"] or word.casefold().endswith("n't") for word in sentence.words)


def _numbers_in(sentence: _Sentence) -> frozenset[str]:
    return frozenset(word for word in sentence.words if word[:1].isdigit())


def _conditions(sentence: str, value: str) -> frozenset[str]:
    """The content words after a word of condition, without the value: "in winter", "if it rains"."""
    words = [word.casefold() for word in _WORD.findall(sentence)]
    left = [word.casefold() for word in _WORD.findall(value)]
    for place in range(len(words)):
        if words[place : place + len(left)] == left:
            del words[place : place + len(left)]
            break
    stems: set[str] = set()
    for place, word in enumerate(words[:-1]):
        if word in _WORDS["conditions"]:
            stems.update(
                stem(condition_word) for condition_word in words[place + 1 : place + 4] if _is_telling(condition_word)
            )
    return frozenset(stems)
