"""An outcome is audited, not believed: what code can check, code checks."""

import itertools
from pathlib import Path

import pytest

from reveries.projects.evidence import Evidence, EvidenceFacts, QuotedChunk, find_faults, stands_in
from reveries.projects.model import TaskStatus
from tests.projects.kit import asked_for, finished, open_work, planned, task_in
from tests.rows import check_rows

FACTS = EvidenceFacts(
    chunks={"c1": "The quay may be used until ten.\nAfter that there is a fine.", "c2": "Els Bakker signs."},
    files={"plan.md": "aa", "list.csv": "bb"},
    commands={"make test": 0, "make lint": 2},
)
GOOD = (
    Evidence(quotes=(QuotedChunk("c1", "until ten. After that"),)),
    Evidence(chunk_ids=("c1", "c2")),
    Evidence(files={"plan.md": "aa"}),
    Evidence(commands=("make test",)),
    Evidence(),
)
BAD = (
    (Evidence(quotes=(QuotedChunk("c1", "until eleven"),)), "does not stand in its source"),
    (Evidence(quotes=(QuotedChunk("c9", "until ten"),)), "is not there"),
    (Evidence(quotes=(QuotedChunk("c2", "  "),)), "does not stand in its source"),
    (Evidence(chunk_ids=("c1", "c7")), "rests on c7, which is not there"),
    (Evidence(files={"gone.md": "aa"}), "gone.md is not there"),
    (Evidence(files={"plan.md": "cc"}), "is another than"),
    (Evidence(commands=("make lint",)), "failed with 2"),
    (Evidence(commands=("make magic",)), "was never run"),
)


@pytest.mark.parametrize("evidence", GOOD)
def test_evidence_that_holds_has_no_fault(evidence: Evidence) -> None:
    assert find_faults(evidence, FACTS) == ()


@check_rows(("evidence", "why"), BAD)
def test_each_fault_is_named(evidence: Evidence, why: str) -> None:
    [found] = find_faults(evidence, FACTS)
    assert why in found


def test_of_a_hundred_outcomes_the_fifty_with_a_planted_fault_are_rejected_and_no_good_one() -> None:
    parts = [
        Evidence(
            quotes=one.quotes + other.quotes, chunk_ids=one.chunk_ids + other.chunk_ids,
            files={**one.files, **other.files}, commands=one.commands + other.commands,
        )
        for one, other in itertools.product(GOOD, GOOD)
    ]  # fmt: skip
    good = [parts[place % len(parts)] for place in range(50)]
    faulty = [
        Evidence(
            quotes=one.quotes + fault.quotes, chunk_ids=one.chunk_ids + fault.chunk_ids,
            files={**one.files, **fault.files}, commands=one.commands + fault.commands,
        )
        for place, one in enumerate(good)
        for fault in [BAD[place % len(BAD)][0]]
    ]  # fmt: skip
    assert sum(bool(find_faults(one, FACTS)) for one in faulty) == 50
    assert sum(bool(find_faults(one, FACTS)) for one in good) == 0


def test_a_quote_stands_word_for_word_however_its_lines_are_broken() -> None:
    assert stands_in("ten. After\nthat", FACTS.chunks["c1"])
    assert not stands_in("ten, after that", FACTS.chunks["c1"])


async def test_a_rejected_outcome_never_moves_progress_and_the_third_ends_in_a_question(tmp_path: Path) -> None:
    """A model that hands in quotes that stand nowhere, and an auditor of the same model that would accept them."""
    reasons = itertools.count()

    def answers(text: str) -> object:
        match asked_for(text):
            case "plan":
                titles = ("Find the harbour rules", "Find the fees", "Find the dates")
                task = {"description": "", "kind": "find_out", "skill_area": "rules", "depends_on": [], "rests_on": []}
                return planned(text, [{"title": title} | task for title in titles])
            case "orient":
                page = {"vision_summary": "v", "success_criteria": [], "constraints": [], "skills": []}
                return page | {"phase": "research", "priorities": []}
            case "audit":
                return {"why": "Looks good.", "accepted": True}
            case _:
                number = next(reasons)
                learned = {"content": f"So it is {number}.", "type": "research", "tags": [], "confidence": "verified"}
                learned |= {"rests_on": ["k1"], "quote": f"Nobody ever wrote this {number}."}
                return finished(outcome=f"Known: {task_in(text)}", learnings=[learned], rests_on=[])

    async with open_work(tmp_path, answers) as work:
        project = await work.begin("Fair", "Know the harbour rules")
        await work.wake(project)
        state = await work.state(project)
        assert {task.status for task in state.tasks} == {TaskStatus.BLOCKED}
        assert not any(one.percent for one in state.orientation.content.progress_snapshot)
        gave_up = [one for one in state.open_questions if "3 times" in one.question]
        assert len(gave_up) == 3
        assert all("does not stand in its source" in one.context or "not there" in one.context for one in gave_up)
        chunks = await work.store.knowledge.of_project(project.id)
        assert len([one for one in chunks if one.type.value == "attempt"]) == 9
        assert not [one for one in chunks if one.type.value == "research"]
