"""A draft on request: made of what the notes say, each line with its place; what a model adds of its own is named."""

import json
from pathlib import Path

import pytest

from reveries.llm.tier import Tier
from reveries.projects.draft_page import CONTACT
from reveries.projects.draft_store import Draft
from reveries.projects.draft_writing import show_material, write_draft
from reveries.projects.model import DraftMaker
from tests.projects.kit import Work, open_work

NOTES = {
    "insurance.md": (
        "# Insurance\n\nPolicy of the workshop: claims@mutual.example\nThe water damage is 1,240 EUR.\n"
        "Send the report by 4 December 2026.\n"
    ),
    "garden.md": "# Garden\n\nThe hedge is cut on 9 December 2026.\n",
}
WISH = "letter to the insurance about the water damage"


async def make(work: Work, path: Path) -> Draft:
    (path / "notes").mkdir()
    for name, text in NOTES.items():
        (path / "notes" / name).write_text(text)
    project = await work.store.create("Workshop", str(path / "notes"), may_write=True)
    await work.work.follow_folder(project.id)
    await write_draft(work.store, work.work.model(project.id), project, WISH, "Ada")
    [draft] = await work.store.drafts.of_project(project.id)
    return draft


@pytest.mark.parametrize("tier", [Tier.LOOSE, Tier.SMALL])
async def test_without_a_capable_model_a_draft_is_lines_of_the_notes_about_it_and_says_so(
    tmp_path: Path, tier: Tier
) -> None:
    async with open_work(tmp_path, lambda _: "", tier=tier) as work:
        draft = await make(work, tmp_path)
        assert draft.made_by is DraftMaker.RULES
        assert "no model worded it" in draft.content
        assert "The water damage is 1,240 EUR. (insurance.md:4)" in draft.content
        assert "2026-12-04 (ahead): Send the report by 4 December 2026. (insurance.md:5)" in draft.content
        assert "claims@mutual.example" in draft.content
        assert "hedge" not in draft.content
        assert draft.foreign_sources
        assert sorted(file.name for file in (tmp_path / "notes").iterdir()) == sorted(NOTES)
        assert not (await work.state(await work.store.find("Workshop"))).tasks
        note = tmp_path / "notes" / "insurance.md"
        note.write_text(NOTES["insurance.md"].replace("1,240", "1,420"))
        await work.work.follow_folder(draft.project_id)
        [flagged] = await work.store.drafts.of_project(draft.project_id)
        assert "insurance.md" in flagged.flagged_because


async def test_a_capable_model_words_it_once_and_what_no_note_says_is_named(tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(text: str) -> str:
        asked.append(text)
        claims = [
            {"claim": "the damage", "document": "insurance.md", "line": 4, "quote": "The water damage is 1,240 EUR."},
            {"claim": "the deductible", "document": "insurance.md", "line": 4, "quote": "You bear 300 EUR."},
        ]
        words = "Dear all,\nthe damage is 1,240 EUR, of which we bear 300 EUR.\nWe send the report on 5 December 2026."
        return json.dumps({"text": words, "claims": claims})

    async with open_work(tmp_path, answer, tier=Tier.CAPABLE) as work:
        draft = await make(work, tmp_path)
        assert len(asked) == 1
        assert "4: The water damage is 1,240 EUR." in asked[0]
        assert draft.made_by is DraftMaker.MODEL
        assert "“The water damage is 1,240 EUR.” (insurance.md:4)" in draft.content
        assert draft.doubts == ("no line says: the deductible", "in no note: 5 December 2026", "in no note: 300")


async def test_of_notes_that_do_not_all_fit_what_speaks_of_the_wish_is_shown_first(tmp_path: Path) -> None:
    async with open_work(tmp_path, lambda _: "", tier=Tier.SMALL) as work:
        draft = await make(work, tmp_path)
        shown = show_material(await work.store.read_facts(draft.project_id), WISH, 130)
    assert "4: The water damage is 1,240 EUR." in shown.text
    assert "hedge" not in shown.text
    assert shown.is_cut


def test_an_address_is_looked_for_in_one_pass_over_a_line_without_an_end() -> None:
    assert CONTACT.search("a" * 100_000 + " claims@mutual.example")
    assert not CONTACT.search("a." * 50_000)
