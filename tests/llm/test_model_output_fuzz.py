"""Whatever a model writes, each reader of it gives a checked value or its own declared error (D6)."""

import json
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reveries.llm.structured import parse
from reveries.memory.sleep.questions import DeepAnswer, QuoteAnswer, SelfAnswer, check_deep_answer
from tests.memory.kit import turn

SAID = "My sister Marta moved to Lisbon in May. She likes it."
_TURNS = (turn("t", SAID),)
_WORDS = st.text(max_size=40) | st.sampled_from(
    ["NaN", "Infinity", "-0", "1e999", "\ud800", "\x00", "\u202e", SAID[:20]]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_WORDS, inner, max_size=4),
    max_leaves=12,
)
_FIELDS = st.sampled_from([*DeepAnswer.__struct_fields__, *SelfAnswer.__struct_fields__, "quote", "significance", "x"])
_OBJECTS = st.dictionaries(_FIELDS, _VALUES, max_size=8).map(json.dumps)


@st.composite
def _damaged(draw: st.DrawFn) -> str:
    """An object damaged as a model may do it: cut, fenced, surrounded by prose, with an inserted or repeated piece."""
    text = draw(_OBJECTS)
    place = draw(st.integers(0, len(text)))
    piece = draw(_WORDS | st.sampled_from(["{", "}", '"', "\\", "```", "```json\n", ",,", "[" * 50]))
    return draw(
        st.sampled_from([text[:place], text[:place] + piece + text[place:], f"Sure!\n```json\n{text}\n```", text * 2])
    )


_OUTPUT = st.text(max_size=200) | _OBJECTS | _damaged()


@pytest.mark.requirement("D6", "R-113")
@settings(max_examples=250)
@given(_OUTPUT)
@example("{" * 100_000)
@example('{"summary":' * 100_000)
@example('{"summary": "a", "salience": ' + "9" * 5000 + "}")
@example('{"summary": "a", "salience": "' + "9" * 5000 + '"}')
@example('{"summary": "a", "salience": NaN}')
@example('{"summary": "\\ud800", "salience": 0.1}')
def test_only_a_checked_answer_or_the_declared_error(text: str) -> None:
    for type_ in (DeepAnswer, SelfAnswer, QuoteAnswer):
        try:
            answer = parse(text, type_)
        except UnicodeError as error:
            pytest.fail(f"not the declared error: {error!r}")
        except ValueError:
            continue
        assert isinstance(answer, type_)


@pytest.mark.requirement("D6", "R-72", "R-113")
@settings(max_examples=250)
@given(
    st.builds(
        DeepAnswer,
        summary=_WORDS,
        salience=st.floats(),
        topics=st.lists(_WORDS, max_size=9),
        exemplars=st.lists(st.builds(QuoteAnswer, quote=_WORDS, significance=_WORDS), max_size=5),
        patterns=st.lists(_WORDS, max_size=5),
        reasoning=_WORDS,
    )
)
def test_what_is_believed_is_in_range_and_verbatim(answer: DeepAnswer) -> None:
    made = check_deep_answer(answer, _TURNS)
    assert 0.0 <= made.salience <= 1.0
    assert not math.isnan(made.salience)
    assert 0.0 <= made.confidence <= 1.0
    assert all(exemplar.quote in SAID for exemplar in made.exemplars)
    assert len(made.topics) <= 5
    assert len(made.patterns) <= 2
