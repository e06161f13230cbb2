"""With a small model a project keeps order and pretends nothing: nothing is planned, done or counted by itself."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from reveries.llm.tier import Tier
from reveries.projects.documents import update_document
from reveries.projects.draft_store import NewDraft
from reveries.projects.model import MadeBy, NewTask, Phase, ProposalState, TaskKind, TaskStatus
from reveries.projects.note_changes import compare_facts
from reveries.projects.proposal_store import find_proposal, open_proposals
from reveries.projects.proposals import propose_tasks
from reveries.projects.wake_report import RestReason
from tests.projects.kit import Work, open_work
from tests.projects.test_facts_view import facts_of
from tests.rows import check_rows

GOALS = (
    "Learn enough Portuguese for the summer",
    "Get the cellar dry before winter",
    "An index of these notes with one line each, and what contradicts what",
    "Write the eulogy for uncle Theo",
    "Umzug nach Leipzig bis Ende März",
    "Trouver une école pour Léo",
    "Compare the three insurance offers and recommend one",
    "Sell the car",
    "Plan a week in the Dolomites for two families",
    "Summarise what we know about the mould",
    "Prepare the tax return",
    "Restaurar la bicicleta de mi padre",
    "A program that sorts my photographs by place",
    "Find out why the beans die",
    "Organise the reunion of the class of 1996",
    "Teach the dog to stay",
    "Read all of Chekhov's stories this year",
    "Make minutes of the meeting",
    "Schrijf een brief aan de gemeente over het zebrapad",
    "Lose nothing of what grandmother tells",
)
NOTES = {
    "todo.md": "# To do\n\n- [ ] call the plumber by 4 December 2026\n- [x] buy gloves\n- [ ] find the old plan\n",
    "mail.txt": "From: Ada\nDate: 20 November 2026\n\nThe pump costs 480 EUR. I come on 9 December at 14:00.\n",
    "costs.csv": "what,price\npump,480 EUR\nhose,35 EUR\n",
}


def never(text: str) -> object:
    raise AssertionError(f"A model was asked: {text[:80]}")


def folder_with(path: Path, notes: dict[str, str]) -> Path:
    folder = path / "notes"
    folder.mkdir()
    for name, text in notes.items():
        (folder / name).write_text(text)
    return folder


async def change(work: Work, project_id: str, note: Path, text: str) -> str:
    """Change a note of the folder; return what the owner is told."""
    note.write_text(text)  # noqa: ASYNC240
    return (await work.work.follow_folder(project_id)).describe()


@pytest.mark.requirement("V-2", "V-75")
@pytest.mark.parametrize("tier", [Tier.LOOSE, Tier.SMALL])
@pytest.mark.parametrize("has_folder", [True, False])
async def test_for_no_goal_is_anything_planned_done_or_counted_that_nobody_asked_for(
    tmp_path: Path, tier: Tier, has_folder: bool
) -> None:
    folder = str(folder_with(tmp_path, NOTES)) if has_folder else ""
    before = {name: (tmp_path / "notes" / name).read_bytes() for name in NOTES} if has_folder else {}
    async with open_work(tmp_path, never, tier=tier) as work:
        for number, goal in enumerate(GOALS):
            project = await work.store.create(f"Project {number}", folder, may_write=True)
            await work.store.set_goal(project, goal, None)
            for _ in range(2):
                report = await work.wake(project)
                assert report.reason in (RestReason.WAITING, RestReason.KEPT)
                assert "%" not in report.message
            state = await work.state(project)
            assert state.tasks == ()
            assert [question.context_tags for question in state.questions] == [("intake", "criteria")]
            assert state.orientation.content.progress_snapshot == ()
            proposed = open_proposals(await work.store.proposals.of_project(project.id))
            titles = [(item.title, item.due) for item in proposed]
            assert titles == (
                [
                    ("call the plumber by 4 December 2026", "2026-12-04"),
                    ("find the old plan", ""),
                ]
                if has_folder
                else []
            )
    assert all((tmp_path / "notes" / name).read_bytes() == data for name, data in before.items())


async def test_a_changed_value_is_told_and_flags_the_draft_and_the_accepted_task_that_were_made_from_it(
    tmp_path: Path,
) -> None:
    folder = folder_with(tmp_path, NOTES)
    async with open_work(tmp_path, never, tier=Tier.SMALL) as work:
        project = await work.store.create("Cellar", str(folder), may_write=False)
        await work.work.follow_folder(project.id)
        proposals = await work.store.proposals.of_project(project.id)
        [mail] = [one for one in await work.store.knowledge.of_project(project.id) if one.title == "mail.txt"]
        async with work.store.transaction() as transaction:
            await work.store.proposals.accept(transaction, find_proposal(proposals, "call the plumber"), None)
            draft = NewDraft("letter to Ada", "You come on 9 December.", (), (mail.id,), mail.foreign_sources)
            await work.store.drafts.put(transaction, project.id, draft)
        told = await change(work, project.id, folder / "mail.txt", NOTES["mail.txt"].replace("480", "520"))
        assert "“The pump costs 480 EUR. I come on 9 December at 14:00.” is now “The pump costs 520 EUR." in told
        assert "in doubt now: draft “letter to Ada”" in told
        [flagged] = await work.store.drafts.of_project(project.id)
        assert "mail.txt" in flagged.flagged_because
        moved = NOTES["todo.md"].replace("4 December", "1 December")
        assert "in doubt now: call the plumber by 4 December 2026" in await change(
            work, project.id, folder / "todo.md", moved
        )
        assert "no longer says" in (await work.task(project, "call the plumber by 4 December 2026")).flagged_because
        assert await change(work, project.id, folder / "todo.md", moved + "\nA thought.\n") == ""


async def test_what_was_dropped_stays_away_and_a_line_that_is_done_or_gone_is_no_longer_proposed(
    tmp_path: Path,
) -> None:
    mail = f"{NOTES['mail.txt']}Please send the plan by 8 December.\n"
    folder = folder_with(tmp_path, {**NOTES, "mail.txt": mail})
    async with open_work(tmp_path, never, tier=Tier.SMALL) as work:
        project = await work.store.create("Cellar", str(folder), may_write=False)
        await work.work.follow_folder(project.id)
        proposals = await work.store.proposals.of_project(project.id)
        async with work.store.transaction() as transaction:
            await work.store.proposals.dismiss(transaction, find_proposal(proposals, "find the old plan"))
        ticked = NOTES["todo.md"].replace("- [ ] call", "- [x] call")
        await change(work, project.id, folder / "todo.md", f"New first line.\n\n{ticked}")
        left = open_proposals(await work.store.proposals.of_project(project.id))
        assert [(item.document, item.due) for item in left] == [("mail.txt", "2026-12-08")]
        (folder / "todo.md").unlink()
        await work.work.follow_folder(project.id)
        left = open_proposals(await work.store.proposals.of_project(project.id))
        assert [item.document for item in left] == ["mail.txt"]
        states = {item.title: item.state for item in await work.store.proposals.of_project(project.id)}
        assert states["find the old plan"] is ProposalState.DISMISSED
        assert not [task for task in (await work.state(project)).tasks if task.status is not TaskStatus.DROPPED]


def test_a_value_that_changed_is_told_from_a_line_that_is_new() -> None:
    before = facts_of(a_md="The rent is 900 EUR a month.\n\nThe door is 80 cm wide.\n")
    after = facts_of(a_md="The rent is 950 EUR a month.\n\nThe door is 80 cm wide.\nA table of 2 m came.\n")
    assert [(item.line, item.old_text, item.new_text) for item in compare_facts(before, after)] == [
        (1, "The rent is 900 EUR a month.", "The rent is 950 EUR a month.")
    ]


async def test_after_a_small_task_of_the_owners_own_nothing_is_asked_or_shown_that_nobody_did(tmp_path: Path) -> None:
    async with open_work(tmp_path, never, tier=Tier.SMALL) as work:
        project = await work.begin("Garden", "Beans that live until September")
        report = await work.wake(project)
        assert report.describe() == "One question waits for you."
        await work.answer("intake", "Beans on the plate in September")
        goal = (await work.state(project)).goal
        async with work.store.transaction() as transaction:
            new = NewTask("Buy slug collars", "", TaskKind.OTHER, goal_id=goal.id if goal else None)
            await work.store.tasks.put(transaction, project.id, [replace(new, made_by=MadeBy.OWNER)])
        await work.wake(project)
        task = await work.task(project, "Buy slug collars")
        async with work.store.transaction() as transaction:
            await work.store.tasks.end(transaction, task, TaskStatus.DONE, outcome="Done by you.")
            await work.store.note_rewrite_due(transaction, project, "all-done")
        report = await work.wake(project)
        state = await work.state(project)
        assert (state.open_questions, state.shown_phase) == ((), "")
        assert state.orientation.content.current_phase is Phase.INTAKE
        assert report.reason is RestReason.KEPT
        assert report.describe() == "With this model nothing is planned or done by itself: what is to be done is yours."
        await update_document(work.store, project, "plan.md", "Beans at the fence.", is_own=True)
        await update_document(work.store, project, "plan.md", "Beans at the wall.", is_own=True)
        assert "The notes are kept in order." in (await work.wake(project)).describe()
        logged = await work.store.log.newest(project.id, 50)
        added = [entry.details for entry in logged if entry.action == "material.added"]
        assert added == ["plan.md: 1 new section, 1 earlier section no longer there", "plan.md: 1 new section"]


@check_rows(
    ("line", "title"),
    [
        ("TODO: order slate by 4 December 2026", "order slate by 4 December 2026"),
        ("We need to pay the deposit by 4 December 2026.", "We need to pay the deposit by 4 December 2026."),
        ("Call the notary on 4 December 2026", "Call the notary on 4 December 2026"),
        ("Heizung entlüften bis 4. Dezember 2026", "Heizung entlüften bis 4. Dezember 2026"),
        ("Envoyer le dossier avant le 4 décembre 2026", "Envoyer le dossier avant le 4 décembre 2026"),
        ("Hay que pagar la fianza el 4 de diciembre de 2026", "Hay que pagar la fianza el 4 de diciembre de 2026"),
        ("Prenotare il treno entro il 4 dicembre 2026", "Prenotare il treno entro il 4 dicembre 2026"),
        ("Formulier invullen voor 4 december 2026", "Formulier invullen voor 4 december 2026"),
        ("Husk å betale regningen 4. desember 2026", "Husk å betale regningen 4. desember 2026"),
        ("Our offer of 480 EUR is valid until 4 December 2026.", ""),
        ("The library stays closed on 4 December 2026.", ""),
        ("Order 4711 arrives on 4 December 2026.", ""),
        ("Book club on 4 December 2026", ""),
        ("Die Stadt will die Straße bis 4. Dezember 2026 reparieren.", ""),
        ("Die Gäste zahlen am 4. Dezember 2026.", ""),
        ("Le magasin ferme le 4 décembre 2026.", ""),
        ("21/11/2026, 09:14 - Ada: buy your own towels, we leave on 4 December 2026", ""),
    ],
)
def test_only_what_its_reader_has_to_do_becomes_a_proposal_and_its_title_bears_no_mark(line: str, title: str) -> None:
    proposed = propose_tasks(facts_of(notes_md=f"# Notes\n\n{line}\n"), date(2026, 11, 28))
    assert [item.title for item in proposed] == ([title] if title else [])
