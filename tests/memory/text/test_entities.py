"""Names and dates by their spelling: against a small sample marked by hand, and on any text."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.text.entities import entities_of, entity_key

SAMPLES = ("entities_sample.txt", "entities_second.txt", "entities_unseen.txt")


def sample(name: str = SAMPLES[0]) -> list[tuple[str, set[str]]]:
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if not line.startswith("#")]
    return [(text, set(names.split("|")) - {""}) for text, _, names in (line.partition("\t") for line in lines)]


def counts(name: str) -> tuple[int, int, int]:
    """Found and right, found, marked."""
    right = found = marked = 0
    for text, names in sample(name):
        said = {entity_key(name) for name in entities_of(text)}
        wanted = {entity_key(name) for name in names}
        right, found, marked = right + len(said & wanted), found + len(said), marked + len(wanted)
    return right, found, marked


@pytest.mark.parametrize("name", SAMPLES)
def test_most_of_what_is_found_is_a_name_and_most_names_are_found(name: str) -> None:
    right, found, marked = counts(name)
    assert right / found >= 0.8, f"precision {right}/{found}"
    assert right / marked >= 0.8, f"recall {right}/{marked}"


@pytest.mark.parametrize(
    ("text", "name"),
    [("on 3 May", "3 may"), ("May 3rd", "3 may"), ("the 3rd of May, 2024", "3 may 2024"), ("2024-05-03", "2024-05-03")],
)
def test_a_date_has_one_form_however_it_is_written(text: str, name: str) -> None:
    assert entities_of(text) == (name,)


def test_two_spellings_of_a_name_have_one_key() -> None:
    assert entity_key("Jos\u00e9\u2019s") == entity_key("jose") == "jose"
    assert entity_key("dr okafor") == "okafor"


@given(st.text(max_size=300))
@pytest.mark.requirement("R-94")
def test_no_text_breaks_it_and_what_it_names_is_lower_case(text: str) -> None:
    for name in entities_of(text):
        assert name
        assert name == name.casefold()


@given(st.sampled_from([text for text, _ in sample()]), st.sampled_from([text for text, _ in sample()]))
def test_what_a_text_names_it_names_beside_another_text_too(one: str, other: str) -> None:
    if any(word.isupper() and len(word) > 3 for word in one.split() + other.split()):
        return
    with_capitals = [text for text in (one, other) if text.casefold() != text]
    joined = set(entities_of("\n".join(with_capitals)))
    assert all(set(entities_of(text)) <= joined for text in with_capitals)
