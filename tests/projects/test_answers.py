"""What the owner's answers mean: nothing that was said is lost, and nothing is taken for what was not said."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reveries.errors import UsageError
from reveries.knowledge.contradictions import has_authority
from reveries.knowledge.model import ChunkSource, ChunkType, Confidence
from reveries.llm.tier import Tier
from reveries.projects.answers import is_dropping, is_no, is_not_reached
from reveries.projects.conflict_answers import ConflictChoice, read_choice
from reveries.projects.documents import note_fallen_chunk
from reveries.projects.model import AgentStatus, NewQuestion, NewTask, Phase, Project, TaskKind, TaskStatus
from reveries.projects.wake import note_answers
from reveries.projects.wake_report import RestReason
from reveries.projects.yes_answers import is_yes, what_is_beyond_yes
from tests.knowledge.kit import new_chunk
from tests.projects.kit import Answers, RowMemory, Work, asked_for, finished, open_work, planned, task_in
from tests.projects.test_conflicts import OWN, READ, embedder
from tests.projects.test_goals_and_input import answers
from tests.rows import check_rows


def planning(title: str, *, kind: str = "find_out", holds_answer: Callable[[str], bool] | None = None) -> Answers:
    """A model that plans three tasks called `title` and a number; `holds_answer` is what it says of a material."""

    def answer(text: str) -> object:
        match asked_for(text):
            case "plan":
                task = {"description": "", "skill_area": "wood", "depends_on": [], "rests_on": [], "kind": kind}
                return planned(text, [{"title": f"{title} {n}"} | task for n in (1, 2, 3)])
            case "holds answer" if holds_answer is not None:
                return {"answer": "yes" if holds_answer(text) else "no"}
        return answers(text)

    return answer


@pytest.mark.parametrize(
    "answer",
    ["drop it", "Drop it.", "please skip this task", "leave it out", "never mind", "It’s not needed any more."],
)
def test_an_answer_that_leaves_a_task_out_is_known(answer: str) -> None:
    assert is_dropping(answer)


def test_other_answers_leave_no_task_out() -> None:
    others = ("", "Drop the price to 20 euros", "Leave it in the shed", "yes", "It is needed")
    assert [one for one in (*others, "drop it") if is_dropping(one)] == ["drop it"]


BARE_YES = (
    "y", "yes", "Yes.", "YES!!!", "Yes, please", "Yes please, that is fine", "Yes, thank you", "yes thanks a lot",
    "Yes, thank you very much!", "Yes \u2013 thanks for your work", "Oh yes", "Well, yes", "Yes, yes",
    "yes \U0001f44d", "always", "once", "ok!", "OK, thanks", "okay", "Sure", "Sure, go ahead", "Of course",
    "Yes, of course", "Yep", "yeah", "Absolutely", "Yes, absolutely.", "Yes indeed", "Good", "Very good",
    "Good, thanks", "Good enough", "All good", "It's good", "It\u2019s fine", "That is fine", "This is perfect!",
    "Perfect", "Great, thank you", "Looks good to me", "It looks very good", "Sounds good", "The draft is good",
    "Good as it is", "Fine by me", "Works for me", "I like it", "Yes, I like it very much", "I am happy with it",
    "I agree", "I think so", "Yes, I think so", "Keep it", "keep", "Yes, keep it as it is", "Keep the draft",
    "Yes, write it", "Please do", "Yes, do that", "Do it", "Done", "Done!", "All done", "It is done",
    "Yes, it is reached", "Yes, the goal is reached.", "Reached", "We are done", "Yes, we are there",
    "Yes, nothing is missing", "Yes, everything is there", "Yes, no changes", "That's right",
    "Correct", "Ja", "Ja, bitte", "Ja, danke!", "Oui, merci", "S\u00ed, gracias", "Sim",
)  # fmt: skip
MORE_THAN_YES = (
    ("Yes, but change the date to May", "change the date to May"),
    ("OK but the booking is missing", "the booking is missing"),
    ("Yes, and say it is on Tuesday", "say it is on Tuesday"),
    ("Yes. The roof is missing.", "The roof is missing."),
    ("Yes, thank you! The booking is missing", "The booking is missing"),
    ("Looks good to me, but the name is wrong", "the name is wrong"),
    ("Yes please make it warmer", "make it warmer"),
    ("Yes, keep it shorter", "keep it shorter"),
    ("Keep it shorter, and say it is on Tuesday", "Keep it shorter, and say it is on Tuesday"),
    ("Good start, make it warmer", "Good start, make it warmer"),
    ("Good", ""),
    ("Done with half, the venue is missing", "Done with half, the venue is missing"),
    ("Done but for the roof", "Done but for the roof"),
    ("Yes, shorter", "Yes, shorter"),
    ("Yes and no", "Yes and no"),
    ("Yes, except the title", "except the title"),
    ("Good, but not good enough", "not good enough"),
    ("Fine, once the date is right", "once the date is right"),
    ("The yes men are missing", "The yes men are missing"),
    ("Nobody looked for a gutter yet", "Nobody looked for a gutter yet"),
    ("no, make it shorter", "no, make it shorter"),
    (" Yes, thank you ", ""),
    ("", ""),
)
NO_YES = (
    "", " ", "no", "No, thank you", "not yet", "not good", "Not really", "It is not good", "Yes?", "Good?",
    "Is it good?", "thanks", "Thank you", "please", "maybe", "Nothing", "Yes, once more", "Yes if it rains",
    "Almost done", "Half done", "Keep going", "Keep it shorter", "OK, later", "Okay, so what?",
    "Sure, if you say what it costs", "All but the roof",
)  # fmt: skip


@check_rows("answer", BARE_YES)
def test_a_yes_with_thanks_or_emphasis_is_a_yes(answer: str) -> None:
    assert is_yes(answer)
    assert what_is_beyond_yes(answer) == ""


def test_an_answer_that_says_more_than_yes_is_none() -> None:
    assert is_yes("yes")
    assert not [one for one in (*NO_YES, *(said for said, beyond in MORE_THAN_YES if beyond)) if is_yes(one)]


@check_rows(("answer", "beyond"), MORE_THAN_YES)
def test_what_is_said_beyond_a_yes_is_kept(answer: str, beyond: str) -> None:
    assert what_is_beyond_yes(answer) == beyond


def test_a_long_answer_of_yeses_is_read_at_once() -> None:
    assert is_yes("all good " * 20)
    assert not is_yes("all good " * 2000 + "but the roof")


def test_only_a_bare_no_is_a_no() -> None:
    assert all(is_no(one) for one in ("no", "No.", "n", "nah", "No, thanks."))
    assert not any(is_no(one) for one in ("no, make it shorter", ""))


@check_rows(
    ("answer", "choice"),
    [
        ("1800", ConflictChoice.OLDER),
        ("It is 2700.", ConflictChoice.NEWER),
        ("I don't know", ConflictChoice.UNSURE),
        ("no idea", ConflictChoice.UNSURE),
        ("both", ConflictChoice.BOTH),
        ("neither", ConflictChoice.OTHER),
        ("not 1800", ConflictChoice.OTHER),
        ("2700, and 300 on top", ConflictChoice.OTHER),
        ("It is 2000.", ConflictChoice.OTHER),
        ("B", ConflictChoice.NEWER),
        ("A is wrong", ConflictChoice.NEWER),
        ("the second one is no longer true", ConflictChoice.OLDER),
        ("A isn't true any more", ConflictChoice.NEWER),
        ("not the first", ConflictChoice.NEWER),
        ("A, not B", ConflictChoice.OLDER),
        ("A is not wrong", ConflictChoice.OLDER),
        ("I think it's A", ConflictChoice.OLDER),
        ("the former", ConflictChoice.OLDER),
        ("B \u2013 see the letter", ConflictChoice.NEWER),
        ("A and B", ConflictChoice.BOTH),
        ("Both are wrong.", ConflictChoice.OTHER),
        ("A and B are both wrong", ConflictChoice.OTHER),
        ("The new contract says 2000", ConflictChoice.OTHER),
        ("A new contract says 2000.", ConflictChoice.OTHER),
        ("Not sure, ask me in May.", ConflictChoice.UNSURE),
    ],
)
def test_what_holds_is_read_from_a_letter_or_from_the_value_itself(answer: str, choice: ConflictChoice) -> None:
    assert read_choice(answer, OWN.content, READ.content) is choice


async def two_deposits(work: Work) -> tuple[Project, str]:
    project = await work.begin("Flat", "Find a flat")
    for chunk in (OWN, READ):
        await work.store.knowledge.store(project.id, [chunk])
    await work.wake(project)
    [asked] = [one for _, one in await work.store.questions.list_open() if "conflict" in one.context_tags]
    return project, asked.id


async def test_a_yes_to_which_of_two_things_holds_is_refused_and_not_knowing_makes_neither_fall(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers, embedder=embedder()) as work:
        project, asked = await two_deposits(work)
        for answer in ("yes", "No."):
            with pytest.raises(UsageError, match="neither A nor B"):
                await work.store.questions.answer(asked, answer)
        await work.store.questions.answer(asked, "I don't know")
        await work.wake(project)
        chunks = await work.store.knowledge.of_project(project.id)
        assert all(one.stands for one in chunks if "deposit" in one.content)
        assert len(await work.store.knowledge.contradictions(project.id)) == 1, "it is shown until it is settled"
        assert not [one for _, one in await work.store.questions.list_open() if "conflict" in one.context_tags]


@pytest.mark.parametrize(("answer", "said"), [("1800", []), ("It is 2000.", ["2000"])])
async def test_the_value_itself_is_an_answer_and_what_becomes_knowledge_says_what_it_is_about(
    tmp_path: Path, answer: str, said: list[str]
) -> None:
    async with open_work(tmp_path, answers, embedder=embedder()) as work:
        project, asked = await two_deposits(work)
        await work.store.questions.answer(asked, answer)
        await work.wake(project)
        chunks = await work.store.knowledge.of_project(project.id)
        own = [one for one in chunks if one.type is ChunkType.USER_INPUT and "user_answer" in one.tags]
        assert ["deposit" in one.content and said[0] in one.content for one in own] == [True] * len(said)
        standing = [one.content for one in chunks if one.stands and one.content in (OWN.content, READ.content)]
        assert standing == ([] if said else [OWN.content])


async def test_an_answer_to_a_question_made_from_the_folder_stands_above_what_the_folder_says_later(
    tmp_path: Path,
) -> None:
    async with open_work(tmp_path, answers, embedder=embedder()) as work:
        project = await work.begin("Mill", "Restore the mill")
        asked = NewQuestion("What is the deposit?", foreign_sources=frozenset({"folder"}))
        async with work.store.transaction() as transaction:
            question_id = await work.store.questions.put(transaction, project.id, asked)
        await work.store.questions.answer(question_id, "The deposit is 1800.")
        await note_answers(work.store, project.id)
        [answer] = await work.store.knowledge.of_project(project.id)
        assert answer.foreign_sources, "it quotes the question"
        assert answer.source is ChunkSource.USER
        note = replace(answer, source=ChunkSource.RESEARCH, confidence=Confidence.VERIFIED, tags=())
        assert not has_authority(note, answer), "only the owner replaces the owner's word"
        forged = replace(answer, tags=())
        assert has_authority(note, forged), "nothing else that untrusted text led to is the owner's word"


async def test_an_answer_that_comes_during_a_wake_stands_before_the_task_that_waited_for_it(tmp_path: Path) -> None:
    """The owner answers while another task is in hand: what waited is free at once, and must know the answer."""
    seen: list[str] = []

    def asks(text: str) -> object:
        if asked_for(text) != "step":
            return answers(text)
        if task_in(text) == "Look into part 1" and "Cedar" not in text:
            return finished("blocked", question="Which wood shall it be?")
        seen.append(text)
        return finished()

    async with open_work(tmp_path, asks) as work:
        project = await work.begin("Shed", "Build a shed")

        class Answering(RowMemory):
            async def light_sleep(self) -> None:
                is_asked = any("Which wood" in one.question for _, one in await work.store.questions.list_open())
                if is_asked and any("part 2" in text for text, _ in await work.remembered()):
                    await work.answer("Which wood", "Cedar")

        work.work._results = replace(work.work._results, memory=Answering(work.clock))
        report = await work.wake(project)
        chunks = [one.content for one in await work.store.knowledge.of_project(project.id)]
        assert "Q: Which wood shall it be?\nA: Cedar" in chunks
        assert (await work.task(project, "Look into part 1")).status is TaskStatus.DONE
        assert [text for text in seen if task_in(text) == "Look into part 1" and "said: “Cedar”" in text]
        assert report.reason is RestReason.DONE or report.reason is RestReason.WAITING


async def test_an_answer_that_comes_as_a_wake_ends_is_looked_at_in_the_next_one(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers) as work:
        project = await work.begin("Shed", "Build a shed")
        count = work.store.knowledge.count_coretrievals

        async def count_and_hear(project_id: str) -> int:
            await work.answer("", "For bicycles")
            return await count(project_id)

        work.store.knowledge.count_coretrievals = count_and_hear  # type: ignore[method-assign]
        await work.wake(project)
        assert (await work.store.find(project.id)).rested_because == "", "it goes on by itself"
        work.store.knowledge.count_coretrievals = count  # type: ignore[method-assign]
        await work.wake(project)
        assert (await work.store.find(project.id)).rested_because


async def test_a_programs_answer_that_comes_as_a_wake_ends_is_looked_at_in_the_next_one(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers) as work:
        project = await work.begin("Shed", "Build a shed")
        count = work.store.knowledge.count_coretrievals

        async def count_and_hear(project_id: str) -> int:
            [(_, first), *_] = await work.store.questions.list_open()
            await work.store.questions.answer(first.id, "For bicycles", "mcp:agent")
            return await count(project_id)

        work.store.knowledge.count_coretrievals = count_and_hear  # type: ignore[method-assign]
        await work.wake(project)
        assert (await work.store.find(project.id)).rested_because == "rested", "it goes on in its turn"


async def test_what_the_owner_says_to_a_task_that_failed_stands_before_the_next_try_or_drops_it(tmp_path: Path) -> None:
    tried: list[str] = []

    def stubborn(text: str) -> object:
        if asked_for(text) != "step" or task_in(text) != "Look into part 2":
            return answers(text)
        tried.append(text)
        return finished("failed", "There is no saw.")

    async with open_work(tmp_path, stubborn) as work:
        project = await work.begin("Shed", "Build a shed")
        await work.wake(project)
        await work.answer("part 2", "Borrow the saw of Mr Quill")
        before = len(tried)
        await work.wake(project)
        assert "said: “Borrow the saw of Mr Quill”" in tried[before]
        await work.answer("part 2", "drop it")
        before = len(tried)
        await work.wake(project)
        assert len(tried) == before
        task = await work.task(project, "Look into part 2")
        assert (task.status, task.outcome) == (TaskStatus.DROPPED, "Left out. You said: “drop it”")


async def ask_whether_reached(work: Work, *, answer: str) -> Project:
    """A project whose one task the owner did, or dropped, and that asks whether its goal is reached."""
    project = await work.begin("Shed", "Build a shed")
    async with work.database.transaction() as transaction:
        [goal] = await work.store.goals(project.id, transaction)
        new = NewTask("Ask for the key", "", TaskKind.ASK, goal_id=goal.id)
        await work.store.tasks.put(transaction, project.id, [new])
    await work.wake(project)
    status = TaskStatus.DROPPED if is_dropping(answer) else TaskStatus.DONE
    task = await work.task(project, "Ask for the key")
    async with work.database.transaction() as transaction:
        await work.store.tasks.end(transaction, task, status, outcome=answer)
    await work.wake(project)
    return project


@pytest.mark.requirement("V-77")
async def test_a_yes_ends_the_goal_though_no_task_of_it_was_done_and_it_stays_ended(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers, tier=Tier.SMALL) as work:
        project = await ask_whether_reached(work, answer="drop it")
        await work.answer("Is the goal reached", "Yes, thank you")
        await work.wake(project)
        await work.answer("criteria", "It stays dry")
        await work.wake(project)
        state = await work.state(project)
        assert state.orientation.content.current_phase is Phase.COMPLETE
        assert (state.status, len(state.tasks)) == (AgentStatus.COMPLETE, 1)


async def test_a_mere_no_is_asked_what_is_missing(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers, tier=Tier.SMALL) as work:
        project = await ask_whether_reached(work, answer="It hangs by the door")
        await work.answer("Is the goal reached", "No, not yet.")
        await work.wake(project)
        state = await work.state(project)
        assert [one.question for one in state.open_questions if "What is missing for the goal?" in one.question]


@pytest.mark.parametrize(
    "answer", ["No", "no.", "Not yet!", "No, not really", "Absolutely not.", "No, it isn’t", "Nope, sorry"]
)
def test_a_mere_no_says_nothing_of_what_is_missing(answer: str) -> None:
    assert is_not_reached(answer)


@check_rows(
    "answer",
    [
        "No, it's not",
        "it’s not",
        "no, we're not",
        "No, it hasn't",
        "I haven't",
        "not reached yet",
        "the goal is not reached",
        "not there yet",
        "unfortunately not",
        "I'm afraid not",
        "I don't think so",
        "Nah",
        "Not even close",
        "almost",
        "not sure",
    ],
)
def test_a_no_in_other_words_says_nothing_of_what_is_missing_either(answer: str) -> None:
    assert is_not_reached(answer)


@pytest.mark.parametrize("answer", ["No roof yet", "Not the roof", "No, the roof is missing", "Yes", "", "The key"])
def test_what_names_something_is_no_mere_no(answer: str) -> None:
    assert not is_not_reached(answer)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("It hangs by the door", "All that was planned is done. Is the goal reached?"),
        ("Drop it", "Nothing is left to do: all that was planned was given up. Is the goal reached?"),
    ],
)
async def test_the_question_whether_the_goal_is_reached_says_what_became_of_the_plan(
    tmp_path: Path, answer: str, said: str
) -> None:
    async with open_work(tmp_path, answers, tier=Tier.SMALL) as work:
        project = await ask_whether_reached(work, answer=answer)
        assert [one.question for one in (await work.state(project)).open_questions if said in one.question]


@pytest.mark.requirement("V-77")
@pytest.mark.parametrize(
    "answer", ["Yes, it is.", "Nothing is missing", "Nothing.", "We did it!", "Yes, it has been reached"]
)
async def test_a_natural_yes_ends_the_goal(tmp_path: Path, answer: str) -> None:
    async with open_work(tmp_path, answers, tier=Tier.SMALL) as work:
        project = await ask_whether_reached(work, answer="It hangs by the door")
        await work.answer("Is the goal reached", answer)
        await work.wake(project)
        assert (await work.state(project)).status is AgentStatus.COMPLETE


@pytest.mark.requirement("V-77")
async def test_a_yes_ends_the_goal_though_a_task_is_in_doubt_and_a_task_that_is_added_goes_on_with_it(
    tmp_path: Path,
) -> None:
    async with open_work(tmp_path, answers, tier=Tier.SMALL) as work:
        project = await ask_whether_reached(work, answer="It hangs by the door")
        [task] = (await work.state(project)).tasks
        async with work.store.transaction() as transaction:
            await work.store.tasks.hold(transaction, task.id, "rests on a letter, which fell")
        await work.answer("Is the goal reached", "Yes")
        await work.wake(project)
        assert (await work.state(project)).status is AgentStatus.COMPLETE
        async with work.store.transaction() as transaction:
            new = NewTask("Ask for the lock", "", TaskKind.ASK, goal_id=task.goal_id)
            await work.store.tasks.put(transaction, project.id, [new])
            await work.store.note_rewrite_due(transaction, project, "milestone")
        await work.wake(project)
        assert (await work.state(project)).orientation.content.current_phase is Phase.EXECUTION


async def test_a_new_goal_is_asked_how_it_is_seen_to_be_reached_and_forgets_the_old_ones_criteria(
    tmp_path: Path,
) -> None:
    async with open_work(tmp_path, answers, tier=Tier.SMALL) as work:
        project = await work.begin("Shed", "Build a shed")
        await work.wake(project)
        await work.answer("criteria", "Three bicycles fit in")
        await work.wake(project)
        page = (await work.state(project)).orientation.content
        assert [one.text for one in page.success_criteria] == ["Three bicycles fit in"]
        await work.clock.advance(60)
        await work.store.set_goal(project, "Build a boat", None)
        await work.wake(project)
        state = await work.state(project)
        assert state.orientation.content.success_criteria == ()
        open_intake = [one for one in state.open_questions if "criteria" in one.context_tags]
        assert [one.context for one in open_intake] == ["the goal: Build a boat"]
        await work.answer("criteria", "It floats")
        await work.wake(project)
        page = (await work.state(project)).orientation.content
        assert [one.text for one in page.success_criteria] == ["It floats"]


async def test_a_criterion_rests_on_the_owners_answer_and_where_that_falls_the_project_stops_and_asks_once(
    tmp_path: Path,
) -> None:
    async with open_work(tmp_path, answers, tier=Tier.CAPABLE) as work:
        project = await work.begin("Shed", "Build a shed")
        await work.wake(project)
        await work.answer("criteria", "Three bicycles fit in")
        await work.wake(project)
        chunks = await work.store.knowledge.of_project(project.id)
        [said] = [one for one in chunks if "criteria" in one.tags]
        async with work.database.transaction() as transaction:
            goal = (await work.store.goals(project.id, transaction))[0]
            await work.store.tasks.put(
                transaction, project.id, [NewTask("Paint it", "", TaskKind.FIND_OUT, goal_id=goal.id)]
            )
        await note_fallen_chunk(work.store, project, said.id, "The bicycles are sold")
        for _ in range(2):
            report = await work.wake(project)
            state = await work.state(project)
            assert report.reason is RestReason.WAITING
            assert (await work.task(project, "Paint it")).status is TaskStatus.READY
            assert state.queue == ()
            assert len([one for one in state.open_questions if "criterion" in one.context_tags]) == 1
            assert state.orientation.content.success_criteria[0].flagged_because
        await work.answer("criterion", "A cargo bicycle has to fit in")
        await work.wake(project)
        state = await work.state(project)
        assert not state.orientation.content.success_criteria[0].flagged_because
        assert (await work.task(project, "Paint it")).tries or (await work.task(project, "Paint it")).blocked_by
        assert not [one for one in state.open_questions if "criterion" in one.context_tags]


@pytest.mark.parametrize(("answer", "status"), [("It is 950 now", TaskStatus.DONE), ("drop it", TaskStatus.DROPPED)])
async def test_a_task_that_rested_on_what_was_replaced_goes_on_after_the_answer_and_is_not_held_again(
    tmp_path: Path, answer: str, status: TaskStatus
) -> None:
    async with open_work(tmp_path, answers, embedder=embedder()) as work:
        project = await work.begin("Flat", "Find a flat")
        [old] = await work.store.knowledge.store(project.id, [new_chunk("The rent of the flat is 900 euros.")])
        async with work.database.transaction() as transaction:
            goal = (await work.store.goals(project.id, transaction))[0]
            new = NewTask("Sign for the flat", "", TaskKind.FIND_OUT, rests_on=(old,), goal_id=goal.id)
            await work.store.tasks.put(transaction, project.id, [new])
        [newer] = await work.store.knowledge.store(project.id, [new_chunk("The rent of the flat is 950 euros.")])
        await work.wake(project)
        assert (await work.task(project, "Sign for the flat")).held_because
        await work.answer("premise", answer)
        await work.wake(project)
        task = await work.task(project, "Sign for the flat")
        assert (task.status, task.held_because) == (status, "")
        assert newer in task.rests_on
        await work.wake(project)
        assert not [one for _, one in await work.store.questions.list_open() if "premise" in one.context_tags]


async def test_two_tasks_that_need_the_same_research_wait_for_the_same_one(tmp_path: Path) -> None:
    def needs(text: str) -> object:
        if asked_for(text) != "step":
            return answers(text)
        if task_in(text) == "Research: timber":
            return finished("blocked", question="Where is timber sold?")
        return finished("needs_research", topic="timber")

    async with open_work(tmp_path, needs, most_tasks=3) as work:
        project = await work.begin("Shed", "Build a shed")
        async with work.database.transaction() as transaction:
            goal = (await work.store.goals(project.id, transaction))[0]
            for number in (1, 2):
                new = NewTask(f"Look into part {number}", "", TaskKind.FIND_OUT, goal_id=goal.id)
                await work.store.tasks.put(transaction, project.id, [new])
        await work.wake(project)
        [research] = [one for one in (await work.state(project)).tasks if one.title == "Research: timber"]
        for number in (1, 2):
            task = await work.task(project, f"Look into part {number}")
            assert (task.status, task.needs) == (TaskStatus.BLOCKED, (research.id,))


@pytest.mark.requirement("V-76")
@pytest.mark.parametrize(("answer", "status"), [("drop it", TaskStatus.DROPPED), ("go on", TaskStatus.DONE)])
async def test_tasks_that_wait_for_each_other_become_a_question_that_ends_it(
    tmp_path: Path, answer: str, status: TaskStatus
) -> None:
    async with open_work(tmp_path, answers) as work:
        project = await work.begin("Shed", "Build a shed")
        async with work.database.transaction() as transaction:
            goal = (await work.store.goals(project.id, transaction))[0]
            ids = await work.store.tasks.put(
                transaction,
                project.id,
                [NewTask(title, "", TaskKind.FIND_OUT, goal_id=goal.id) for title in ("Saw", "Nail")],
            )
            for one, other in (ids, ids[::-1]):
                await work.store.tasks.put_needs(transaction, one, [other])
                await transaction.run("projects.block_task", {"id": one, "now": work.clock.now()})
        async with work.database.transaction() as transaction:
            for question in await work.store.questions.of_project(project.id, transaction):
                await transaction.run("projects.drop_question", {"id": question.id})
        report = await work.wake(project)
        assert report.reason is RestReason.WAITING
        await work.answer("wait for each other", answer)
        await work.wake(project)
        assert [(await work.task(project, title)).status for title in ("Saw", "Nail")] == [status] * 2
