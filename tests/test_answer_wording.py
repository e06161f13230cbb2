"""A model's answer in words."""

import msgspec
import pytest

from reveries.answer_wording import describe_answer


@pytest.mark.requirement("V-99")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"answer": "yes"}, "answer yes"),
        ({"why": "It does.", "accepted": True}, "accepted: It does."),
        ({"why": "No file.", "accepted": False}, "rejected: No file."),
        (
            {"step": {"tool": "finish", "status": "needs_research", "topic": "Oak", "learnings": []}},
            "finished, needs research: Oak",
        ),
        (
            {"step": {"tool": "finish", "status": "complete", "outcome": "Oak.", "learnings": [{}, {}]}},
            "finished, complete: Oak. (2 learned)",
        ),
        ({"step": {"tool": "read_file", "path": "a.md", "lines": 0, "more": []}}, "read_file: path a.md; lines 0"),
        ({"step": None}, "None"),
        (
            {"step": {"tool": "finish", "status": "complete", "outcome": "Oak.", "learnings": None}},
            "finished, complete: Oak.",
        ),
        (
            {"step": {"tool": "finish", "status": "complete", "outcome": "Oak.", "learnings": 3}},
            "finished, complete: Oak.",
        ),
    ],
)
def test_an_answer_of_a_model_reads_as_a_sentence(answer: object, words: str) -> None:
    assert describe_answer(msgspec.json.encode(answer).decode()) == words


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "",
        '{"cut": "of',
        "[1, 2]",
        "no usable answer: it broke",
        '{"a":' * 5000 + "1" + "}" * 5000,
        '{"\ud800": 1}',
    ],
    ids=lambda text: text[:10],
)
def test_what_is_no_known_answer_stays_as_it_is(text: str) -> None:
    assert describe_answer(text) == text
