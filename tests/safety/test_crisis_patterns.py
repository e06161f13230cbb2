"""The data of crisis detection: each entry is complete, compiles, and matches its own example."""

import re

import msgspec
import pytest

from reveries.safety.crisis.patterns import Context, CrisisPatterns, StatementGroup, Urgency, load_crisis_patterns
from reveries.safety.crisis.rules import find_crisis, normalise_lines
from tests.rows import check_rows

PATTERNS = load_crisis_patterns()


@check_rows("group", PATTERNS.groups)
def test_a_group_matches_its_example_and_gives_a_reason(group: StatementGroup) -> None:
    assert PATTERNS.compile_statements([group]).search(normalise_lines(group.example))
    assert group.why.endswith(".")
    found = find_crisis(group.example)
    assert found is not None
    assert found.urgency is group.urgency


@check_rows("group", PATTERNS.groups)
def test_every_pattern_of_a_group_compiles_alone_and_matches_no_empty_text(group: StatementGroup) -> None:
    for pattern in group.patterns:
        alone = PATTERNS.compile_statements([msgspec.structs.replace(group, patterns=(pattern,))])
        assert not alone.search("")


@check_rows("context", Context)
def test_a_context_matches_its_example_and_gives_a_reason(context: Context) -> None:
    wordings = PATTERNS.contexts[context]
    assert PATTERNS.compile_context(context).search(wordings.example)
    assert wordings.why.endswith(".")


def test_names_and_patterns_are_unique_and_other_languages_have_only_explicit_groups() -> None:
    names = [group.name for group in PATTERNS.groups]
    patterns = [pattern for group in PATTERNS.groups for pattern in group.patterns]
    assert len(set(names)) == len(names)
    assert len(set(patterns)) == len(patterns)
    assert all(re.fullmatch("[a-z]{2}", group.language) for group in PATTERNS.groups)
    assert all(group.urgency is Urgency.EXPLICIT for group in PATTERNS.groups if group.language != "en")


def test_every_fragment_is_used() -> None:
    patterns = " ".join(pattern for group in PATTERNS.groups for pattern in group.patterns)
    contexts = " ".join(pattern for one in PATTERNS.contexts.values() for pattern in (*one.words, *one.patterns))
    assert [name for name in PATTERNS.fragments if f"{{{name}}}" not in patterns + contexts] == []


@pytest.mark.parametrize(
    "change",
    [
        {"groups": [{"name": "x", "language": "en", "urgency": "urgent", "why": "", "example": "", "patterns": []}]},
        {"groups": [{"name": "x", "language": "en", "urgency": "explicit", "example": "", "patterns": []}]},
        {"contexts": {"a_new_one": {"why": "", "example": ""}}},
        {"pattern": []},
    ],
    ids=["urgency", "no reason", "context", "key"],
)
def test_a_file_with_an_unknown_or_missing_key_is_refused(change: dict[str, object]) -> None:
    content = {"fragments": {}, "groups": [], "contexts": {}, **change}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(content, CrisisPatterns)


def test_a_pattern_with_an_unknown_fragment_is_refused() -> None:
    group = msgspec.structs.replace(PATTERNS.groups[0], patterns=("take {everything}",))
    with pytest.raises(KeyError):
        PATTERNS.compile_statements([group])
