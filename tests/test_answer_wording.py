"""A model's answer in words."""

import msgspec
import pytest

from reveries.answer_wording import describe_answer
from tests.rows import check_rows


@pytest.mark.requirement("V-99")
@check_rows(
    ("answer", "words"),
    [
        ({"answer": "yes"}, "answer yes"),
        ({"why": "It does.", "accepted": True}, "accepted: It does."),
        ({"why": "No file.", "accepted": False}, "rejected: No file."),
        (
            {"steps": [{"tool": "finish", "status": "needs_research", "topic": "Oak", "learnings": []}]},
            "finished, needs research: Oak",
        ),
        (
            {"steps": [{"tool": "finish", "status": "complete", "outcome": "Oak.", "learnings": [{}, {}]}]},
            "finished, complete: Oak. (2 learned)",
        ),
        ({"steps": [{"tool": "read_file", "path": "a.md", "lines": 0, "more": []}]}, "read_file: path a.md; lines 0"),
        ({"steps": [None]}, "None"),
        (
            {"steps": [{"tool": "finish", "status": "complete", "outcome": "Oak.", "learnings": None}]},
            "finished, complete: Oak.",
        ),
        (
            {"steps": [{"tool": "finish", "status": "complete", "outcome": "Oak.", "learnings": 3}]},
            "finished, complete: Oak.",
        ),
    ],
)
def test_an_answer_of_a_model_reads_as_a_sentence(answer: object, words: str) -> None:
    assert describe_answer(msgspec.json.encode(answer).decode()) == words


@check_rows(
    ("cut", "words"),
    [
        (
            '{"steps":[{"tool":"finish","status":"complete","outcome":"An oak \\"table\\" wi',
            'finished, complete: An oak "table" wi…',
        ),
        (
            '{"steps" : [ {"tool" : "write_file", "path" : "a.md", "text" : "Oak and as',
            "write_file: path a.md; text Oak and as…",
        ),
        ('{"steps":[{"tool":"write_file","path":"a.md","text":"Oak\\', "write_file: path a.md; text Oak…"),
        ('{"step":{"tool":"write_file","text":"Oak \\ud83e\\udeb5 \\ud83d', "write_file: text Oak \U0001fab5 …"),
        ('{"step":{"tool":"write_file","text":"Oak \\ud83e\\u', "write_file: text Oak …"),
        (
            '{"step":{"tool":"read_file","path":"a.md","lines":20,"more":[{"path":"b.md',
            "read_file: path a.md; lines 20…",
        ),
        ('{"steps":[{"tool":"call","arguments":{"tool":"rm","query":"x"},"why":"I', "call: …"),
        ('{"thought":"Long \\"step\\":{","step":{"tool":"finish","status":"comp', "finished, comp: …"),
        ('{"accepted":false,"why":"It is too sho', "rejected: It is too sho…"),
        ('{"accepted":true,"why":"It does so in all of', "accepted: It does so in all of…"),
        ('{"step":{"to', '{"step":{"to'),
        ('[{"path":"a.md', '[{"path":"a.md'),
    ],
)
def test_an_answer_that_was_too_long_to_keep_reads_as_far_as_it_was_kept(cut: str, words: str) -> None:
    assert describe_answer(cut) == words


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "",
        "[1, 2]",
        "no usable answer: it broke",
        '{"a":' * 5000 + "1" + "}" * 5000,
        '{"\ud800": 1}',
    ],
    ids=lambda text: text[:10],
)
def test_what_is_no_known_answer_stays_as_it_is(text: str) -> None:
    assert describe_answer(text) == text
