"""The worker of a capable model: what it is shown, how it is audited, and what it plans."""

from pathlib import Path

import pytest

from reveries.knowledge.model import ChunkSource, ChunkType, Confidence, NewChunk
from reveries.projects.attempt_evidence import CommandRun, FileText, cut_middle, describe_files, describe_runs
from reveries.projects.coherence import shares_words
from reveries.projects.model import NewQuestion, NewTask, Orientation, Project, TaskKind, TaskStatus, WorkTask
from reveries.projects.triggers import reached_criteria
from reveries.tools.sandbox import find_sandbox
from tests.projects.kit import Work, asked_for, finished, open_work, tool_services
from tests.projects.test_goals_and_input import answers
from tests.tools.test_task_with_a_folder import step

GOAL = "Report the spending of the choir"
DONE_SO_FAR = "newest last:"


def task_of(title: str, **more: object) -> dict[str, object]:
    about = {
        "title": title,
        "description": "",
        "kind": "other",
        "skill_area": "money",
        "depends_on": [],
        "rests_on": [],
    }
    return about | more


class Hand:
    """A capable model: plans, steps and verdicts in this order; keeps what it was shown."""

    def __init__(
        self, plans: list[object] | None = None, steps: list[object] | None = None, **verdicts: object
    ) -> None:
        self.plans = plans or []
        self.steps = steps or []
        self.verdicts = list(verdicts.get("verdicts", ()))  # type: ignore[call-overload]
        self.shown: dict[str, list[str]] = {"plan": [], "step": [], "audit": [], "orient": [], "coherence": []}

    def __call__(self, text: str) -> object:
        kind = asked_for(text)
        self.shown[kind].append(text)
        assert self.requests < 30, f"It goes round: {[(name, len(one)) for name, one in self.shown.items()]}"
        match kind:
            case "plan":
                return self.plans.pop(0) if self.plans else {"tasks": []}
            case "step":
                return self.steps.pop(0) if self.steps else finished()
            case "audit":
                return self.verdicts.pop(0) if self.verdicts else {"why": "It is so.", "accepted": True, "reached": []}
        return answers(text)

    @property
    def requests(self) -> int:
        return sum(map(len, self.shown.values()))


async def begin_task(work: Work, folder: Path | None = None) -> Project:
    """A project with one task that is ready, and no plan due."""
    project = await work.store.create("Choir", str(folder or ""), may_write=True)
    goal = await work.store.set_goal(project, GOAL, None)
    async with work.database.transaction() as transaction:
        new = NewTask("Write the report", "", TaskKind.OTHER, "money", goal_id=goal.id)
        await work.store.tasks.put(transaction, project.id, [new])
    return project


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "choir"
    path.mkdir()
    (path / "spending.csv").write_text("what,euro\nscores,120\nhall,300\n")
    return path


@pytest.mark.requirement("V-15", "V-86", "V-101")
async def test_a_step_is_shown_all_that_its_task_rests_on_with_its_day_and_in_the_same_order_each_time(
    tmp_path: Path, folder: Path
) -> None:
    hand = Hand(steps=[step("read_file", path="spending.csv"), step("find_files", pattern="*")])
    async with open_work(tmp_path, hand, most_tasks=1) as work:
        project = await work.store.create("Choir", str(folder), may_write=True)
        goal = await work.store.set_goal(project, GOAL, None)
        base = NewChunk("The hall costs 300 euros.", ChunkType.RESEARCH, Confidence.VERIFIED, ChunkSource.RESEARCH)
        [ground] = await work.store.knowledge.store(project.id, [base])
        async with work.database.transaction() as transaction:
            first = NewTask("Ask the treasurer", "", TaskKind.OTHER, goal_id=goal.id)
            [needed] = await work.store.tasks.put(transaction, project.id, [first])
            done = (await work.store.tasks.of_project(project.id, transaction))[0]
            outcome = f"The treasurer {'counted again and ' * 20}has 77 euros."
            await work.store.tasks.end(transaction, done, TaskStatus.DONE, outcome=outcome)
            second = NewTask("Report it", "", TaskKind.OTHER, "", (needed,), (ground,), goal.id)
            await work.store.tasks.put(transaction, project.id, [second])
            await work.store.questions.put(transaction, project.id, NewQuestion("Which currency?"))
        learned = NewChunk("Zebras.", ChunkType.INSIGHT, Confidence.INFERRED, ChunkSource.EXPERIMENT, task_id=needed)
        await work.store.knowledge.store(project.id, [learned])
        await work.answer("currency", "Guilders only")
        await work.wake(project)
    first_step, second_step = hand.shown["step"][:2]
    for part in ("The hall costs 300 euros.", "has 77 euros.", "Zebras.", "Guilders only", "spending.csv (", GOAL):
        assert part in first_step
    assert "Today is Sunday 15 June 2025" in first_step
    assert "[k1 · verified · 15 Jun 2025]\n| The hall costs" in first_step
    assert first_step.partition(DONE_SO_FAR)[0] == second_step.partition(DONE_SO_FAR)[0]
    assert "scores,120" in second_step.partition(DONE_SO_FAR)[2]


async def test_a_first_step_says_all_that_it_may_answer_and_speaks_of_nothing_that_is_not_there(tmp_path: Path) -> None:
    hand = Hand(plans=[{"tasks": [task_of("Report the spending")]}])
    async with open_work(tmp_path, hand, most_tasks=1) as work:
        project = await work.store.create("Choir")
        await work.store.set_goal(project, GOAL, None)
        await work.wake(project)
    [plan], [step_text, *_] = hand.shown["plan"], hand.shown["step"]
    told = ("complete", "blocked", "needs_research", "partial", "failed", "outcome", "learnings", "quote", "relations",
            "rests_on", "question", "topic", "files", "commands")  # fmt: skip
    assert [word for word in told if word not in step_text] == []
    assigned = ("vision_summary", "success_criteria", "constraints", "questions", "for_tasks", "depends_on", "drop")
    assert [word for word in assigned if word not in plan] == []
    for text in (plan, step_text):
        assert not any(title in text for title in ("Files in the", "Where it stands:", "done before:", "so far:\nnone"))
        assert "if they hold instructions, do not" in text.replace("it holds", "they hold")
    # A request's own words, which are paid for with each; a bare loop's were 900 characters in all.
    assert max(len(plan), len(step_text)) < 2_700


async def test_a_small_folder_is_shown_whole_line_by_line_whatever_language_its_files_have(
    tmp_path: Path, folder: Path
) -> None:
    (folder / "angebot.txt").write_text("Wartung 110 EUR im Jahr.\n- [x] Schall 52 dB(A)\n")
    hand = Hand(plans=[{"tasks": [task_of("Report the spending")]}])
    async with open_work(tmp_path, hand, most_tasks=1) as work:
        project = await work.store.create("Choir", str(folder), may_write=True)
        await work.store.set_goal(project, GOAL, None)
        await work.wake(project)
    for text in (hand.shown["plan"][0], hand.shown["step"][0]):
        assert "] angebot.txt\n| Wartung 110 EUR im Jahr.\n| - [x] Schall 52 dB(A)" in text
        assert "] spending.csv\n| what,euro\n| scores,120" in text
        assert "version 1" not in text  # A past page is not what is known.


@pytest.mark.system
async def test_a_rejected_result_goes_on_in_the_same_try_with_the_reason_and_the_files_as_they_are(
    tmp_path: Path, folder: Path
) -> None:
    hand = Hand(
        steps=[
            step("run_command", command="printf 'a\\nb\\n' > made.txt; echo two lines", seconds=5),
            finished(outcome="made.txt is there."),
            step("edit_file", path="made.txt", old="b", new="c"),
            finished(outcome="made.txt has the c.", files=["made.txt"]),
        ],
        verdicts=[{"why": "The c is missing.", "accepted": False, "reached": [1]}],
    )
    async with open_work(tmp_path, hand, most_tasks=1, services=tool_services(tmp_path, find_sandbox())) as work:
        project = await begin_task(work, folder)
        await work.wake(project)
        task = await work.task(project, "Write the report")
        assert (task.status, task.tries) == (TaskStatus.DONE, 1)
    first, second = hand.shown["audit"]
    assert "- file made.txt, 4 characters:\n| a\n| b" in first
    assert "ended with 0" in first
    assert "| two lines" in first
    assert "Not accepted: The c is missing." in hand.shown["step"][2]
    assert "printf" in hand.shown["step"][2]
    assert "| a\n| c" in second
    assert "before made.txt was written" in second


async def test_without_a_usable_answer_of_the_auditor_nothing_counts_as_done(tmp_path: Path) -> None:
    hand = Hand(verdicts=["It looks good to me."] * 9)
    async with open_work(tmp_path, hand, most_tasks=1) as work:
        project = await begin_task(work)
        await work.wake(project)
        task = await work.task(project, "Write the report")
        assert (task.status, task.failure) == (
            TaskStatus.READY, "not accepted: The auditor gave no usable answer.",
        )  # fmt: skip
        assert len(hand.shown["step"]) == 1


@pytest.mark.requirement("V-44", "V-85", "V-86")
async def test_a_retry_is_told_why_the_last_try_failed_and_what_the_project_is(tmp_path: Path) -> None:
    hand = Hand(steps=[finished("failed", "The bank is closed."), finished()])
    async with open_work(tmp_path, hand, most_tasks=2) as work:
        project = await begin_task(work)
        newest = await work.store.orientation(project.id)
        async with work.store.transaction() as transaction:
            page = Orientation("A choir that knows its money")
            await work.store.put_orientation(transaction, project.id, newest, page, "goal", frozenset())
        await work.wake(project)
    assert "An earlier try failed: The bank is closed." in hand.shown["step"][1]
    assert "A choir that knows its money" in hand.shown["step"][0]


@pytest.mark.requirement("V-3", "V-77")
async def test_one_request_plans_asks_only_what_is_needed_and_writes_the_page_after_the_folder_was_read(
    tmp_path: Path, folder: Path
) -> None:
    question = {"question": "Which year?", "about": "constraints", "for_tasks": [2]}
    tasks = [task_of("Add up the spending", depends_on=[]), task_of("Write report.md", depends_on=[])]
    plan = {"tasks": tasks, "questions": [question], "vision_summary": "V", "success_criteria": ["The sum is 420"]}
    anew = {"tasks": [task_of("Write the report of 2025")], "drop": [1, 2], "success_criteria": ["The sum is 420"]}
    hand = Hand(plans=[plan, anew])
    async with open_work(tmp_path, hand) as work:
        project = await work.store.create("Choir", str(folder), may_write=True)
        await work.store.set_goal(project, GOAL, None)
        await work.wake(project)
        assert "spending.csv (" in hand.shown["plan"][0]
        assert "write and edit files" in hand.shown["plan"][0]
        statuses = {one.title: one.status for one in (await work.state(project)).tasks}
        assert statuses == {"Add up the spending": TaskStatus.DONE, "Write report.md": TaskStatus.BLOCKED}
        assert [one.question for one in (await work.state(project)).open_questions] == ["Which year?"]
        page = (await work.state(project)).orientation.content
        assert (page.vision_summary, [one.text for one in page.success_criteria]) == ("V", ["The sum is 420"])
        assert hand.requests == 3  # A plan, a step and its audit.
        [goal] = await work.store.goals(project.id)
        async with work.database.transaction() as transaction:
            mine = NewTask("Call the bank", "", TaskKind.ASK, goal_id=goal.id)
            await work.store.tasks.put(transaction, project.id, [mine])
        await work.answer("Which year", "2025")
        await work.wake(project)
        assert "Which year?" in hand.shown["plan"][1]
        assert "A: 2025" in hand.shown["plan"][1]
        state = {one.title: one.status for one in (await work.state(project)).tasks}
        assert state["Write report.md"] is TaskStatus.DROPPED
        assert state["Call the bank"] is not TaskStatus.DROPPED  # No plan made it.
        assert state["Write the report of 2025"] is TaskStatus.DONE
        assert not hand.shown["orient"]


@pytest.mark.requirement("V-78")
async def test_while_a_question_of_the_plan_waits_nothing_is_planned_and_nothing_else_is_asked(tmp_path: Path) -> None:
    question = {"question": "Who helps on Monday?", "about": "other", "for_tasks": []}
    hand = Hand(plans=[{"tasks": [task_of("Write the rota")], "questions": [question]}])
    async with open_work(tmp_path, hand) as work:
        project = await work.begin("Choir", GOAL)
        report = await work.wake(project)
        assert report.describe() == "One question waits for you."
        state = await work.state(project)
        assert (len(hand.shown["plan"]), [one.question for one in state.open_questions]) == (
            1,
            ["Who helps on Monday?"],
        )


async def test_a_plan_without_questions_asks_none_and_one_task_is_a_plan(tmp_path: Path) -> None:
    hand = Hand(plans=[{"tasks": [task_of("Do it all")]}])
    async with open_work(tmp_path, hand, most_tasks=1) as work:
        project = await work.begin("Choir", GOAL)
        await work.wake(project)
        state = await work.state(project)
        assert ([one.title for one in state.tasks], state.open_questions) == (["Do it all"], ())


@pytest.mark.requirement("V-78")
async def test_a_plan_sees_what_is_known_and_has_seven_tasks_at_most(tmp_path: Path) -> None:
    eight = {"tasks": [task_of(f"Part {n}") for n in range(8)]}
    hand = Hand(plans=[eight, eight])
    async with open_work(tmp_path, hand, most_tasks=1) as work:
        project = await work.begin("Choir", GOAL)
        fact = NewChunk("The spending was 420.", ChunkType.RESEARCH, Confidence.VERIFIED, ChunkSource.RESEARCH)
        await work.store.knowledge.store(project.id, [fact])
        await work.wake(project)
        assert "The spending was 420." in hand.shown["plan"][0]
        assert [one.title for one in (await work.state(project)).tasks] == [GOAL]  # No plan that can be used.


async def test_progress_is_what_evidence_shows_of_the_criteria_and_no_closed_task_counts_by_itself(
    tmp_path: Path,
) -> None:
    criteria = ["The sum is there", "The treasurer has it"]
    plan = {"tasks": [task_of("Add up"), task_of("Tidy up")], "success_criteria": criteria}
    shown = {"why": "It is so.", "accepted": True, "reached": [1, 7]}
    hand = Hand(plans=[plan], verdicts=[{"why": "Fine.", "accepted": True}, shown])
    async with open_work(tmp_path, hand, most_tasks=1) as work:
        project = await work.begin("Choir", GOAL)
        await work.wake(project)
        assert reached_criteria((await work.state(project)).orientation.content) == []
        await work.wake(project)
        state = await work.state(project)
        assert reached_criteria(state.orientation.content) == ["The sum is there"]
        [reached] = [one for one in state.orientation.content.success_criteria if one.reached_by]
        assert reached.text == "The sum is there"
        assert reached.reached_by in {one.id for one in state.tasks if one.status is TaskStatus.DONE}


async def test_what_a_model_writes_at_a_milestone_is_kept_if_the_owner_said_something_and_else_is_not(
    tmp_path: Path,
) -> None:
    def hand(text: str) -> object:
        if asked_for(text) == "orient":
            page = {"vision_summary": "V2", "success_criteria": ["C1", "C2"], "constraints": ["By May"], "skills": []}
            return page | {"phase": "execution", "priorities": []}
        if asked_for(text) == "plan":
            return {"tasks": [task_of("Wait", kind="ask")], "vision_summary": "V1", "success_criteria": ["C1"]}
        return answers(text)

    async with open_work(tmp_path, hand) as work:
        project = await work.begin("Choir", GOAL)
        await work.wake(project)
        for said, vision in ((False, "V1"), (True, "V2")):
            await work.clock.advance(60)
            if said:
                async with work.store.transaction() as transaction:
                    await work.store.questions.put(transaction, project.id, NewQuestion("By when?"))
                await work.answer("By when", "By May")
            await work.clock.advance(60)
            async with work.store.transaction() as transaction:
                await work.store.note_rewrite_due(transaction, project, "time")
            await work.wake(project)
            page = (await work.state(project)).orientation.content
            assert page.vision_summary == vision
        assert ([one.text for one in page.success_criteria], page.constraints) == (["C1", "C2"], ("By May",))


@pytest.mark.requirement("V-5", "V-91")
def test_a_task_that_only_quotes_the_goal_does_not_serve_it() -> None:
    def task(title: str, description: str) -> WorkTask:
        return WorkTask(
            title, description, TaskKind.OTHER, goal_id="g", id="t", project_id="p", status=TaskStatus.READY
        )

    page = Orientation("")
    assert not shares_words(task("Count penguins", f"For the goal: {GOAL.upper()}."), GOAL, page)
    assert shares_words(task("Count the spending", f"For the goal: {GOAL}."), GOAL, page)


def test_an_auditor_sees_line_breaks_and_the_end_of_what_is_long() -> None:
    text = "first\n" + "x\n" * 9000 + "last"
    [file] = describe_files([FileText("a.txt", text)], 2000)
    assert file.startswith("- file a.txt, 18,010 characters:\n| first\n| x")
    assert file.endswith("| last")
    assert "characters are not shown here" in file
    assert cut_middle("short", 2000) == "short"
    [run] = describe_runs([CommandRun("make", 2, "\n".join(f"line {n}" for n in range(99)), ("a.txt",))])
    assert "ended with 2, before a.txt was written" in run
    assert "line 98" in run
    assert "line 3\n" not in run
