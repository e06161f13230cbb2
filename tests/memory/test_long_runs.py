"""Messages with long runs without a space, or many dates, are processed in linear time."""

import time
from collections.abc import Callable

from reveries.index.names import subjects_of
from reveries.index.terms import terms_of
from reveries.memory.recall.cues import read_cue
from reveries.memory.recall.turn_features import surface_features
from reveries.memory.sleep.claims.extraction import extract_claims
from reveries.memory.text.appraisal import salience_of, topics_of, valence_of
from reveries.memory.text.denials import find_denial
from reveries.memory.text.entities import entities_of
from reveries.memory.text.extracts import informativeness, summary_of
from tests.memory.kit import NOW, turn
from tests.rows import check_rows

_SHORT_CHARS, _TIMES = 2_000, 16
_STEEPEST = 64.0
"""Of the time for a text that is 16 times as long: its square would be 256."""
_LEAST_SECONDS = 0.001
"""A time below it is taken for it: it says nothing."""
_RUNS = {
    "A": "A", "Chinese": "我昨天去了北京看朋友", "Japanese": "きのうともだちにあいました",
    "base64": "aGVsbG8gd29ybGQxMjM0", "digits": "0123456789", "a@": "a@", "a.": "a.", "quotes": '"', "blanks": " ",
    "lines": "\n", "code": "```a ", "years": "2020 ", "months": "may ", "dates": "3 May 2023, ",
    "addresses": "joe@example.org ", "names": "Anna Berg, ", "never": "I never ", "my": "my a b ",
}  # fmt: skip
_READERS: dict[str, Callable[[str], object]] = {
    "entities": entities_of,
    "salience": salience_of,
    "topics": topics_of,
    "valence": valence_of,
    "telling": informativeness,
    "summary": lambda text: summary_of([turn("t", text)]),
    "cue": lambda text: read_cue(text, NOW),
    "subjects": subjects_of,
    "terms": terms_of,
    "surface": surface_features,
    "claims": lambda text: extract_claims([turn("t", text)]),
    "denial": find_denial,
}


@check_rows("run", _RUNS)
def test_reading_a_long_run_costs_its_length(run: str) -> None:
    short = (_RUNS[run] * _SHORT_CHARS)[:_SHORT_CHARS]
    for name, read in _READERS.items():
        assert _seconds(read, short * _TIMES) < _STEEPEST * max(_LEAST_SECONDS, _seconds(read, short)), name


def test_an_address_is_no_name_and_what_stands_around_it_is() -> None:
    assert entities_of("We wrote to Joe.Smith@Example.org and to Anna in Oslo.") == ("anna", "oslo")


def test_many_dates_are_each_found_where_they_stand() -> None:
    assert entities_of("Seen 3 May 2023, in May, and you may go; on 2 June Anna came.") == (
        "3 may 2023", "may", "2 june", "anna",
    )  # fmt: skip


def _seconds(read: Callable[[str], object], text: str) -> float:
    """Of this process alone; the better of two, for another may have come between."""
    found: list[float] = []
    for _ in range(2):
        began = time.process_time()
        read(text)
        found.append(time.process_time() - began)
    return min(found)
