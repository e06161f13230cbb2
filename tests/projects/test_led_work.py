"""How a capable model's work is led: what it states, what a retry and a plan see, when a page comes."""

import re
from pathlib import Path

import pytest

from reveries.knowledge.model import ChunkSource, ChunkType, Confidence, NewChunk, RelationType
from reveries.llm.tier import Tier
from reveries.projects.intake import GoalFrame, answer_with_goal
from reveries.projects.model import NewQuestion, Project, QuestionStatus, TaskStatus
from reveries.projects.wake_report import RestReason
from tests.projects.kit import Work, asked_for, finished, open_work
from tests.projects.test_worker import DONE_SO_FAR, GOAL, Hand, begin_task, folder, task_of
from tests.tools.test_task_with_a_folder import step

__all__ = ["folder"]


def learned(content: str, **more: object) -> dict[str, object]:
    return {"content": content, "type": "insight", "confidence": "inferred"} | more


async def know(work: Work, project: Project, content: str, confidence: Confidence = Confidence.INFERRED) -> str:
    new = NewChunk(content, ChunkType.RESEARCH, confidence, ChunkSource.RESEARCH)
    return (await work.store.knowledge.store(project.id, [new]))[0]


class Relating(Hand):
    """A hand that finishes each task with something learned, related to what is known by the names in the prompt."""

    def __init__(self, **types: str) -> None:
        super().__init__()
        self.types = types

    def __call__(self, text: str) -> object:
        if asked_for(text) != "step":
            return super().__call__(text)
        relations = [{"to": name_in(text, words), "type": type_} for words, type_ in self.types.items()]
        unknown = {"to": "k99", "type": "requires"}
        return finished(learnings=[learned("The hall takes 340 euros now.", relations=[*relations, unknown])])


def name_in(text: str, words: str) -> str:
    found = re.search(rf"\[(k\d+)[^\n]*\n(?:\| [^\n]*\n)*?\| [^\n]*{words}", text)
    assert found is not None
    return found[1]


@pytest.mark.requirement("V-4", "V-55")
async def test_what_a_task_finds_to_replace_something_known_takes_its_place_and_what_it_supports_is_related(
    tmp_path: Path,
) -> None:
    async with open_work(tmp_path, Relating(costly="replaces", short="supports"), most_tasks=1) as work:
        project = await begin_task(work)
        old = await know(work, project, "For the report: a hall is costly, 300 euros.")
        other = await know(work, project, "For the report: money is short.")
        await work.wake(project)
        chunks = {one.id: one for one in await work.store.knowledge.of_project(project.id)}
        [new] = [one for one in chunks.values() if one.task_id]
        assert (chunks[old].superseded_by, chunks[other].superseded_by) == (new.id, None)
        relations = await work.store.knowledge.relations(project.id)
        stated = {(one.to_id, one.type) for one in relations if not one.is_implicit}
        assert stated == {(old, RelationType.REPLACES), (other, RelationType.SUPPORTS)}


@pytest.mark.requirement("V-55", "V-124")
async def test_what_a_task_says_against_the_owners_word_replaces_nothing_and_is_asked(tmp_path: Path) -> None:
    async with open_work(tmp_path, Relating(Euros="replaces"), most_tasks=1) as work:
        project = await begin_task(work)
        async with work.store.transaction() as transaction:
            await work.store.questions.put(transaction, project.id, NewQuestion("Which currency?"))
        await work.answer("currency", "Euros")
        await work.wake(project)
        [said] = [one for one in await work.store.knowledge.of_project(project.id) if "user_answer" in one.tags]
        assert said.stands
        assert len(await work.store.knowledge.contradictions(project.id)) == 1


@pytest.mark.requirement("V-44")
async def test_a_retry_sees_what_the_last_try_did_and_what_came_of_it(tmp_path: Path, folder: Path) -> None:
    steps: list[object] = [step("read_file", path="spending.csv"), finished("failed", "The sums differ."), finished()]
    hand = Hand(steps=steps)
    async with open_work(tmp_path, hand, most_tasks=2) as work:
        await work.wake(await begin_task(work, folder))
    first, _, retry = hand.shown["step"]
    assert "It did this:" not in first
    before = retry.partition(DONE_SO_FAR)[0]
    assert "An earlier try failed: The sums differ." in before
    assert re.search(r"read_file .*spending\.csv.*scores,120", before)


@pytest.mark.requirement("V-92")
async def test_what_a_task_decided_stands_on_the_page_before_the_next_task_and_costs_no_request(
    tmp_path: Path,
) -> None:
    decided = learned("The hall is booked monthly\nIt is cheaper.", type="decision")
    hand = Hand(plans=[{"tasks": [task_of("Choose"), task_of("Book")]}], steps=[finished(learnings=[decided])])
    async with open_work(tmp_path, hand, most_tasks=2) as work:
        project = await work.begin("Choir", GOAL)
        await work.wake(project)
        [decision] = (await work.state(project)).orientation.content.key_decisions
        assert (decision.decision, decision.reasoning) == ("The hall is booked monthly", "It is cheaper.")
    assert "The hall is booked monthly" in hand.shown["step"][1].partition("Today is")[0]
    assert hand.shown["orient"] == []


@pytest.mark.requirement("V-13", "V-100")
async def test_a_plan_is_told_that_the_work_drifts(tmp_path: Path) -> None:
    first = {"tasks": [task_of("Count penguins", skill_area="ice"), task_of("Feed walruses", skill_area="ice")]}
    strays = Hand(plans=[first])

    def hand(text: str) -> object:
        if text.startswith("A project's goal"):
            return {"why": "It is about animals.", "serves": False}
        return strays(text)

    async with open_work(tmp_path, hand) as work:
        project = await work.begin("Choir", "Report the spending of the choir")
        await work.wake(project)
    plans = strays.shown["plan"]
    assert "noticed:" not in plans[0]
    assert "noticed: It drifts" in plans[1]
    assert "Count penguins: It is about animals." in plans[1]


@pytest.mark.requirement("V-93")
async def test_a_page_that_nothing_touched_is_written_anew_after_two_days_with_work(tmp_path: Path) -> None:
    hand = Hand(plans=[{"tasks": [task_of("Ask", kind="ask"), task_of("Wait"), task_of("Look")]}])
    async with open_work(tmp_path, hand, most_tasks=1) as work:
        project = await work.begin("Choir", GOAL)
        await work.wake(project)
        await work.clock.advance(49 * 3600)
        await work.wake(project)
        assert (await work.store.orientations(project.id))[0].trigger == "time"


@pytest.mark.requirement("V-83", "V-89")
async def test_a_wake_does_so_many_tasks_and_what_only_the_owner_knows_holds_up_nothing_else(tmp_path: Path) -> None:
    blocked = finished("blocked", question="Which hall?")
    hand = Hand(plans=[{"tasks": [task_of(f"Part {n}") for n in range(4)]}], steps=[blocked])
    async with open_work(tmp_path, hand, most_tasks=2) as work:
        project = await work.begin("Choir", GOAL)
        report = await work.wake(project)
        assert (report.reason, report.tasks_ended) == (RestReason.RESTED, 2)
        state = await work.state(project)
        statuses = [one.status for one in state.tasks]
        assert sorted(statuses) == [TaskStatus.BLOCKED, TaskStatus.DONE, TaskStatus.READY, TaskStatus.READY]
        [asked] = state.open_questions
        assert (asked.question, asked.status) == ("Which hall?", QuestionStatus.OPEN)
        [waiting] = [one for one in state.tasks if one.status is TaskStatus.BLOCKED]
        assert waiting.blocked_by == (asked.id,)


@pytest.mark.requirement("V-136")
@pytest.mark.parametrize("tier", [Tier.SMALL, Tier.CAPABLE])
async def test_criteria_that_come_with_a_goal_are_not_asked_for_and_stand_as_they_were_put(
    tmp_path: Path, tier: Tier
) -> None:
    plan = {"tasks": [task_of("Ask", kind="ask")], "success_criteria": ["It is impressive"], "constraints": ["By May"]}
    hand = Hand(plans=[plan] * 3)
    frame = GoalFrame(("Each sum is there", "The treasurer has it"), "By 3 May", "We are forty singers.")
    async with open_work(tmp_path, hand, tier=tier) as work:
        project = await work.begin("Choir")
        await work.store.set_goal(project, GOAL, None, answer_with_goal(GOAL, frame))
        await work.wake(project)
        state = await work.state(project)
        page = state.orientation.content
        assert [one.text for one in page.success_criteria] == list(frame.success_criteria)
        assert all(one.rests_on for one in page.success_criteria)
        assert len(page.constraints) == 1
        assert not [one for one in state.open_questions if "criteria" in one.context_tags]
        known = "\n".join(one.content for one in await work.store.knowledge.of_project(project.id))
        assert "We are forty singers." in known
        # Said again with other criteria, those count.
        await work.clock.advance(60)
        frame = GoalFrame(("The sum is there",))
        await work.store.set_goal(project, GOAL, None, answer_with_goal(GOAL, frame))
        await work.wake(project)
        page = (await work.state(project)).orientation.content
        assert [one.text for one in page.success_criteria] == ["The sum is there"]
