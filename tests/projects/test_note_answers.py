"""`project know`: the line of the notes that answers a question, or those that come nearest."""

import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from reveries.client.features.knowledge import know_page
from reveries.client.render import Page
from reveries.daemon.requests.knowledge import note_answer_entry
from reveries.llm.tier import Tier
from reveries.projects.note_answers import NoteAnswers, NoteVerdict, answer_from_notes
from reveries.protocol import AnswerStanding, Chunks
from tests.projects.kit import open_work
from tests.projects.test_facts_view import facts_of, say

TODAY = date(2026, 11, 27)
_FOLDERS = tomllib.loads((Path(__file__).parent / "note_questions.toml").read_text(encoding="utf-8"))["folders"]


def ask(question: str, **documents: str) -> NoteAnswers:
    return answer_from_notes(facts_of(**documents), question, TODAY)


def text_of(page: Page) -> str:
    return "\n".join("".join(part.text for part in row) for row in page)


def first_line(answers: NoteAnswers) -> str:
    return answers.answers[0].text if answers.answers else ""


def is_right(answers: NoteAnswers, asked: dict[str, str]) -> bool:
    if "file" not in asked:
        return answers.verdict is not NoteVerdict.SAID
    return (
        answers.verdict in (NoteVerdict.SAID, NoteVerdict.UNSURE)
        and answers.answers[0].document == asked["file"]
        and asked["says"] in first_line(answers)
    )


def judge_all(folder: dict[str, Any]) -> list[tuple[dict[str, str], bool]]:
    found = facts_of(**{name: text.lstrip() for name, text in folder["files"].items()})
    return [(item, is_right(answer_from_notes(found, item["q"], TODAY), item)) for item in folder["questions"]]


@pytest.mark.parametrize("folder", _FOLDERS, ids=lambda folder: folder["name"])
def test_the_first_line_shown_is_the_right_one_and_nothing_is_told_as_the_answer_that_the_notes_do_not_say(
    folder: dict[str, Any],
) -> None:
    wrong = [item["q"] for item, is_well in judge_all(folder) if not is_well]
    assert len(wrong) <= len(folder["questions"]) // 10, wrong


def test_what_only_comes_near_is_three_candidates_and_neither_an_answer_nor_a_denial() -> None:
    notes = (
        "The ferry to Oban costs 62 GBP.\n\nThe ferry leaves at 9:40.\n\nFerry tickets: 18 GBP each.\n\n"
        "Ferry, dogs: 5 GBP each.\n\nThe hut is open.\n"
    )
    asked = ask("How much does the breakfast on the ferry cost?", trip_md=notes)
    assert asked.verdict is NoteVerdict.UNSURE
    assert len(asked.answers) == 3
    assert all("erry" in item.text for item in asked.answers)
    assert ask("How much does the piano tuner cost?", trip_md="The hut is open.\n").verdict is NoteVerdict.NOT_SAID


def test_a_value_that_was_called_off_or_replaced_since_is_not_the_answer_but_is_shown_as_what_it_is() -> None:
    notes = {
        "a_md": "# 2 October 2026\n\nThe rehearsal is on 4 December 2026.\nThe hall costs 180 EUR.\n",
        "b_md": "# 9 November 2026\n\nThe rehearsal on 4 December 2026 is cancelled.\nThe hall now costs 210 EUR.\n",
    }
    price = ask("How much does the hall cost?", **notes)
    assert [(item.value, item.standing) for item in price.answers] == [
        ("210", AnswerStanding.HOLDS), ("180", AnswerStanding.REPLACED),
    ]  # fmt: skip
    moved = ask("When is the rehearsal?", a_md="The rehearsal: not on 4 December 2026, now on 11 December 2026.\n")
    assert [(item.value, item.standing) for item in moved.answers] == [("2026-12-11", AnswerStanding.HOLDS)]
    only = ask("When is the rehearsal?", b_md=notes["b_md"])
    assert [item.standing for item in only.answers] == [AnswerStanding.CANCELLED]


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("When is the ferry in March?", "The ferry goes on 14 March 2027."),
        ("When is the ferry?", "The ferry goes on 3 February 2027."),
        ("When was the ferry?", "The ferry went on 1 September 2026."),
        ("What is the cheapest cabin?", "Cabin inside: 90 EUR."),
    ],
)
def test_the_month_the_tense_and_the_extreme_of_a_question_choose_among_lines_about_one_thing(
    question: str, line: str
) -> None:
    notes = (
        "The ferry goes on 3 February 2027.\n\nThe ferry goes on 14 March 2027.\n\n"
        "The ferry went on 1 September 2026.\n\n"
        "Cabin with window: 140 EUR.\n\nCabin inside: 90 EUR.\n"
    )
    assert first_line(ask(question, trip_md=notes)) == line


async def test_an_answer_of_the_owner_stands_above_any_note(tmp_path: Path) -> None:
    async with open_work(tmp_path, lambda _: "", tier=Tier.SMALL) as work:
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes" / "shelf.md").write_text("The shelf is 80 cm wide.\n")
        project = await work.store.create("Shelf", str(tmp_path / "notes"), may_write=False)
        await work.work.follow_folder(project.id)
        await say(work, project.id, "How wide is the shelf to be?", "The shelf is 74 cm wide.")
        found = await work.store.read_facts(project.id)
        answers = answer_from_notes(found, "How wide is the shelf?", TODAY).answers
        assert [(item.value, item.is_owner, item.standing) for item in answers] == [
            ("74", True, AnswerStanding.HOLDS), ("80", False, AnswerStanding.REPLACED),
        ]  # fmt: skip


def test_the_page_shows_value_place_and_day_or_that_the_notes_do_not_say_it() -> None:
    said = ask("How much is the rent?", flat_md="# 3 October 2026\n\nThe rent is 900 EUR a month.\n")
    answer = Chunks(1, [], verdict=said.verdict.value, answers=tuple(note_answer_entry(item) for item in said.answers))
    shown = text_of(know_page(answer))
    assert "900 EUR  flat.md:3, Sat 3 Oct 2026" in shown
    assert "The rent is 900 EUR a month." in shown
    assert "The notes do not say it." in text_of(know_page(Chunks(1, [], verdict="not_said")))
    near = Chunks(1, [], verdict="unsure", answers=answer.answers)
    assert "No line surely says it. The nearest:" in text_of(know_page(near))
    assert "900 EUR  flat.md:3, Sat 3 Oct 2026" in text_of(know_page(near))
    asked = ask("Who carries the piano?", flat_md="Who carries the piano up?\n")
    assert asked.verdict is NoteVerdict.OPEN
    assert first_line(asked) == "Who carries the piano up?"
