"""What the owner decided of two lines that do not go together stands while both are unchanged; a capable model judges
what no rule is sure of, and its quotes are checked."""

import json
from datetime import date
from pathlib import Path

import pytest

from reveries.llm.tier import Tier
from reveries.projects.conflict_decisions import DecidedBy, DecisionState, NewDecision, find_conflict, pair_id
from reveries.projects.conflict_judging import judge_doubtful
from reveries.projects.note_answers import answer_from_notes
from reveries.projects.timeline import build_timeline
from reveries.protocol import AnswerStanding
from tests.projects.kit import Work, open_work

NOTES = {
    "order.md": "# Order\n\nThe tent rental costs 480 EUR.\nThe tent is delivered on 10 December 2026.\n",
    "mail.txt": "Tent rental: 520 EUR.\nThe tent is delivered on 12 December 2026.\n",
}
TODAY = date(2026, 11, 27)


async def open_notes(work: Work, path: Path, notes: dict[str, str]) -> str:
    (path / "notes").mkdir()
    for name, text in notes.items():
        (path / "notes" / name).write_text(text)
    project = await work.store.create("Tent", str(path / "notes"), may_write=False)
    await work.work.follow_folder(project.id)
    return project.id


async def decide(work: Work, project_id: str, state: DecisionState, decided_by: DecidedBy = DecidedBy.OWNER) -> None:
    found = await work.store.read_facts(project_id)
    pair = next(pair for pair in found.conflicts if pair.a.quantity is not None)
    async with work.store.transaction() as transaction:
        sources = frozenset(next(iter(found.documents.values())).parts[0].foreign_sources)
        new = NewDecision(pair, state, decided_by, "two tents", foreign_sources=sources)
        await work.store.conflict_decisions.put(transaction, project_id, new)


async def values_in_conflict(work: Work, project_id: str) -> list[set[str]]:
    found = await work.store.read_facts(project_id)
    return sorted(({pair.a.value, pair.b.value} for pair in found.conflicts), key=sorted)


async def test_a_dismissed_conflict_stays_away_until_one_of_its_lines_changes(tmp_path: Path) -> None:
    async with open_work(tmp_path, lambda _: "", tier=Tier.SMALL) as work:
        project_id = await open_notes(work, tmp_path, NOTES)
        days = {"2026-12-10", "2026-12-12"}
        assert await values_in_conflict(work, project_id) == [days, {"480", "520"}]
        await decide(work, project_id, DecisionState.DISMISSED)
        assert await values_in_conflict(work, project_id) == [days]
        mail = tmp_path / "notes" / "mail.txt"
        mail.write_text("A new first line.\n\n" + NOTES["mail.txt"])
        await work.work.follow_folder(project_id)
        assert await values_in_conflict(work, project_id) == [days]
        mail.write_text(NOTES["mail.txt"].replace("520", "530"))
        await work.work.follow_folder(project_id)
        assert await values_in_conflict(work, project_id) == [days, {"480", "530"}]


async def test_what_a_model_once_said_hides_no_conflict_that_a_rule_is_sure_of(tmp_path: Path) -> None:
    async with open_work(tmp_path, lambda _: "", tier=Tier.SMALL) as work:
        project_id = await open_notes(work, tmp_path, NOTES)
        await decide(work, project_id, DecisionState.DENIED, DecidedBy.MODEL)
        assert {"480", "520"} in await values_in_conflict(work, project_id)


async def test_what_does_not_hold_answers_no_question_and_is_in_no_timeline(tmp_path: Path) -> None:
    async with open_work(tmp_path, lambda _: "", tier=Tier.SMALL) as work:
        project_id = await open_notes(work, tmp_path, NOTES)
        found = await work.store.read_facts(project_id)
        pair = next(pair for pair in found.conflicts if pair.a.day is not None)
        state = DecisionState.KEPT_A if pair.a.value == "2026-12-12" else DecisionState.KEPT_B
        sources = frozenset(next(iter(found.documents.values())).parts[0].foreign_sources)
        assert find_conflict(found.conflicts, pair_id(pair)[:6]) == pair
        async with work.store.transaction() as transaction:
            new = NewDecision(pair, state, DecidedBy.OWNER, foreign_sources=sources)
            await work.store.conflict_decisions.put(transaction, project_id, new)
        found = await work.store.read_facts(project_id)
        answers = answer_from_notes(found, "When is the tent delivered?", TODAY).answers
        assert [(item.value, item.standing) for item in answers] == [
            ("2026-12-12", AnswerStanding.HOLDS), ("2026-12-10", AnswerStanding.REPLACED),
        ]  # fmt: skip
        assert [entry.value for entry in build_timeline(found, [], TODAY)] == ["2026-12-12"]


@pytest.mark.parametrize(("quote", "is_shown"), [("190 litres", True), ("200 litres", False)])
async def test_a_capable_model_judges_what_no_rule_is_sure_of_and_a_quote_that_is_not_there_counts_for_nothing(
    tmp_path: Path, quote: str, is_shown: bool
) -> None:
    asked: list[str] = []

    def answer(text: str) -> str:
        asked.append(text)
        return json.dumps(
            {"pairs": [{"number": 1, "quote_a": quote, "quote_b": "160 l", "why": "w", "verdict": "contradict"}]}
        )

    notes = {
        "survey.md": "The boat took us a day. In the tank below the stern deck fit 160 l, it was said.\n",
        "letter.txt": "The chandler told Ann that tank number four takes up 190 litres when empty.\n",
    }
    async with open_work(tmp_path, answer, tier=Tier.CAPABLE) as work:
        project_id = await open_notes(work, tmp_path, notes)
        found = await work.store.read_facts(project_id)
        assert not found.conflicts
        assert len(found.doubtful) == 1
        for _ in range(2):
            await judge_doubtful(work.store, work.work.model(project_id), project_id)
        assert len(asked) == 1
        assert bool(await values_in_conflict(work, project_id)) is is_shown
