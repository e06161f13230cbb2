"""Questions to the notes, what does not go together, and drafts, as a client asks a mind for them."""

import pytest

from reveries import protocol
from reveries.config import Home
from reveries.errors import NotFoundError
from tests.daemon.asking import ask
from tests.daemon.mind_kit import NOON, living
from tests.daemon.test_project_work import QUIET, worker
from tests.fakes.patient_clock import PatientClock

NAME = "Fair"
NOTES = {
    "council.md": "# Tent\n\nThe tent rental costs 480 EUR.\n",
    "mail.md": "# Tent\n\nTent rental: 520 EUR.\nTo be paid by 9 December 2026.\n",
}


async def test_notes_answer_a_question_a_decision_hides_a_conflict_and_a_draft_is_kept_until_it_is_removed(
    home: Home,
) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        mind = life.mind
        await ask(mind, protocol.CreateProject(1, NAME), protocol.ProjectDetail)
        for name, text in NOTES.items():
            await ask(mind, protocol.AddMaterial(1, NAME, name, text, True), protocol.Chunks)
        said = await ask(mind, protocol.AskChunks(1, NAME, "When must the tent rental be paid?"), protocol.Chunks)
        assert (said.verdict, said.answers[0].document, said.answers[0].line) == ("said", "mail.md", 4)
        unsaid = await ask(mind, protocol.AskChunks(1, NAME, "Who sings at the fair?"), protocol.Chunks)
        assert (unsaid.verdict, unsaid.answers) == ("not_said", ())
        words = await ask(mind, protocol.AskChunks(1, NAME, "tent"), protocol.Chunks)
        assert words.verdict == ""

        [conflict] = (await ask(mind, protocol.AskFactConflicts(1, NAME), protocol.FactConflicts)).conflicts
        assert (conflict.found_by, {conflict.a.value, conflict.b.value}) == ("rule", {"480", "520"})
        decided = protocol.DecideFactConflict(1, NAME, conflict.conflict_id[:6], "dismiss", "two tents")
        left = await ask(mind, decided, protocol.FactConflicts)
        assert (left.conflicts, left.decided) == ([], 1)

        [settled] = (await ask(mind, protocol.AskFactConflicts(1, NAME, True), protocol.FactConflicts)).conflicts
        assert (settled.conflict_id, settled.decision, settled.found_by) == (conflict.conflict_id, "dismissed", "rule")
        other = protocol.DecideFactConflict(1, NAME, conflict.conflict_id[:6], "keep_a")
        assert (await ask(mind, other, protocol.FactConflicts)).decided == 1, "a slip is put right without a detour"
        reopened = protocol.DecideFactConflict(1, NAME, conflict.conflict_id[:6], "reopen")
        back = await ask(mind, reopened, protocol.FactConflicts)
        assert ([entry.conflict_id for entry in back.conflicts], back.decided) == ([conflict.conflict_id], 0)
        with pytest.raises(NotFoundError):
            await ask(mind, reopened, protocol.FactConflicts)

        made = await ask(mind, protocol.WriteDraft(1, NAME, "tent rental"), protocol.Drafts)
        assert "Tent rental: 520 EUR. (mail.md:3)" in made.drafts[0].content
        await ask(mind, protocol.DropDraft(1, NAME, made.drafts[0].draft_id[:8]), protocol.Drafts)
        assert not (await ask(mind, protocol.AskDrafts(1, NAME), protocol.Drafts)).drafts
        with pytest.raises(NotFoundError):
            await ask(mind, protocol.DropDraft(1, NAME, "tent"))
