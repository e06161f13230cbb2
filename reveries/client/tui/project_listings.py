"""Listings of projects and their tasks, questions, orientation pages, log and grants. The pages are those of the
command line."""

from collections.abc import Callable
from typing import Final, Literal, TypeVar

from reveries import protocol
from reveries.client.connection import AskCallback
from reveries.client.features.grants import grants_page
from reveries.client.features.project_facts import describe_value, fact_conflicts_page
from reveries.client.features.project_notes import describe_progress
from reveries.client.features.project_pages import (
    orientation_diff_page,
    project_log_page,
    project_page,
    questions_page,
    task_undone_page,
    trace_page,
)
from reveries.client.features.project_tasks import proposals_page
from reveries.client.features.project_wording import (
    describe_action,
    describe_details,
    describe_due,
    describe_trigger,
)
from reveries.client.render import Page, line, paragraph
from reveries.client.tui.browser import ActionOutcome, BrowserAction, BrowserListing, Entry, OpenListing, ReloadList
from reveries.client.tui.mind_queries import ListedQueries, list_row
from reveries.client.wording import ago, plural
from reveries.clock import Clock
from reveries.safe_text import one_line

_Listed = TypeVar("_Listed")
_LOGGED: Final = 200
_LIVE_SECONDS: Final = 2.0
_MARKS: Final = {"done": "✓", "in_progress": "▸", "ready": "·", "blocked": "‖", "dropped": "×"}
_TASKS: Final = BrowserAction("enter", "tasks")
_QUESTIONS: Final = BrowserAction("q", "questions")
_PAGES: Final = BrowserAction("o", "orientation")
_LOG: Final = BrowserAction("l", "log")
_GRANTS: Final = BrowserAction("g", "grants")
_PROPOSALS: Final = BrowserAction("t", "proposals")
_CONFLICTS: Final = BrowserAction("c", "what conflicts")
_WORK: Final = BrowserAction("w", "work on it now")
_PAUSE: Final = BrowserAction("p", "pause or resume")
_ANSWER: Final = BrowserAction("enter", "answer", prompt="Your answer")
_YES: Final = BrowserAction("y", "yes")
_ALWAYS: Final = BrowserAction("a", "always, in this project", "Let it do this in this project without asking again?")
_NO: Final = BrowserAction("n", "no")
_UNDO: Final = BrowserAction("u", "undo", "Restore the folder as it was before this task?")
_REVERT: Final = BrowserAction("r", "restore it", "Make this version the newest?")
_WHY: Final = BrowserAction("enter", "the task, step by step")
_ACCEPT: Final = BrowserAction("enter", "make it a task")
_DROP: Final = BrowserAction("d", "drop it")
_KEEP_A: Final = BrowserAction("a", "a holds")
_KEEP_B: Final = BrowserAction("b", "b holds")
_DISMISS: Final = BrowserAction("d", "both hold")
_REVOKE: Final = BrowserAction("r", "revoke", "Revoke this grant?")


class ProjectListing(ListedQueries[protocol.ProjectLine]):
    """Projects, each with its state."""

    title = "your projects"
    empty_text = "No projects yet. Start one in a shell: reveries project new Piano"
    actions = (_TASKS, _PROPOSALS, _CONFLICTS, _QUESTIONS, _PAGES, _LOG, _GRANTS, _WORK, _PAUSE)

    async def entries(self, words: str) -> list[Entry]:
        """Load one row per project: its progress, and what waits for the owner."""
        answer = await self.ask(protocol.AskProjects, protocol.Projects)
        self.listed = {project.project_id: project for project in answer.projects}
        return [
            Entry(project.project_id, list_row("●", project.name, _project_note(project)))
            for project in answer.projects
        ]

    async def page(self, key: str) -> Page:
        """Render its progress, what it waits for, and what is uncertain."""
        answer = await self.ask(lambda number: protocol.AskProject(number, key), protocol.ProjectDetail)
        return project_page(answer, self.clock.now(), is_detailed=False)

    async def run_action(self, action: BrowserAction, key: str, words: str = "") -> ActionOutcome:
        """Open a listing of the project, request work on it, or pause or resume it."""
        if action in _LISTINGS:
            return OpenListing(_LISTINGS[action](self.ask, self.clock, key))
        if action is _WORK:
            asked = await self.ask(lambda number: protocol.RequestWork(number, key), protocol.WorkRequested)
            return ReloadList([line(f"  {one_line(asked.project)} is next, when this conversation is idle.")])
        is_active = self.listed[key].state == "active"
        state: Literal["active", "paused"] = "paused" if is_active else "active"
        await self.ask(lambda number: protocol.ChangeProject(number, key, state), protocol.ProjectDetail)
        return ReloadList([line("  It is paused." if is_active else "  It is resumed.")])


class _ProjectPartListing(ListedQueries[_Listed]):
    """Base of the listings within one project."""

    async def fetch_detail(self) -> protocol.ProjectDetail:
        """Fetch the project with the last lines of its log."""
        return await self.ask(lambda number: protocol.AskProject(number, self.project, _LOGGED), protocol.ProjectDetail)


class TaskListing(_ProjectPartListing[None]):
    """Tasks in the order of the plan, each with what it waits for."""

    title = "tasks"
    empty_text = "No tasks yet: they are planned when work begins."
    actions = (_UNDO,)

    async def entries(self, words: str) -> list[Entry]:
        """Load one row per task."""
        return [
            Entry(task.task_id, list_row(_MARKS.get(task.status, "?"), task.title, _task_note(task)))
            for task in (await self.fetch_detail()).tasks
        ]

    async def page(self, key: str) -> Page:
        """Render the task with every step, and the evidence for its outcome."""
        answer = await self.ask(lambda number: protocol.AskTaskTrace(number, self.project, key), protocol.TaskTrace)
        return trace_page(answer)

    async def run_action(self, action: BrowserAction, key: str, words: str = "") -> ActionOutcome:
        """Restore the folder as it was before the task."""
        undone = await self.ask(lambda number: protocol.UndoTask(number, self.project, key), protocol.TaskUndone)
        return ReloadList(task_undone_page(undone))


class QuestionListing(ListedQueries[protocol.QuestionEntry]):
    """Open questions of projects, oldest first, answered in place."""

    title = "questions for you"
    empty_text = "No open questions."
    actions = (_ANSWER, _YES, _ALWAYS, _NO)

    async def entries(self, words: str) -> list[Entry]:
        """Load one row per question."""
        self.listed = {question.question_id: question for question in await self._questions()}
        now = self.clock.now()
        return [
            Entry(key, list_row("?", question.question, f"{question.project}, {ago(question.asked_at, now)}"))
            for key, question in self.listed.items()
        ]

    async def _questions(self) -> list[protocol.QuestionEntry]:
        if not self.project:
            return (await self.ask(protocol.AskOpenQuestions, protocol.OpenQuestions)).questions
        answer = await self.ask(lambda number: protocol.AskProject(number, self.project), protocol.ProjectDetail)
        return answer.questions

    async def page(self, key: str) -> Page:
        """Render the whole question, and the keys that answer it."""
        question = self.listed[key]
        of_kind = {
            "approval": "y yes, this once   a always   n no",
            "decision": "y yes   n no   enter, then your words",
        }
        keys = of_kind.get(question.kind, "enter, then your words")
        return questions_page([question], self.clock.now(), keys)

    async def run_action(self, action: BrowserAction, key: str, words: str = "") -> ActionOutcome:
        """Answer the question."""
        kind = self.listed[key].kind
        if (action is _ALWAYS and kind != "approval") or (action in (_YES, _NO) and kind == "question"):
            return paragraph("This question cannot be answered like that. Press enter, then type your answer.")
        answer_text = {_YES: "yes", _ALWAYS: "always", _NO: "no"}.get(action, words)
        answer = await self.ask(
            lambda number: protocol.AnswerQuestion(number, key, answer_text), protocol.QuestionAnswered
        )
        return ReloadList(paragraph(f"Answered, for {one_line(answer.project)}: {one_line(answer_text, 200)}"))


class OrientationListing(_ProjectPartListing[protocol.OrientationEntry]):
    """Versions of the orientation page, newest first, each with its changes."""

    title = "orientation"
    actions = (_REVERT,)

    async def entries(self, words: str) -> list[Entry]:
        """Load one row per version."""
        asked = await self.ask(lambda number: protocol.AskOrientations(number, self.project), protocol.Orientations)
        self.listed, now = {str(page.version): page for page in asked.versions}, self.clock.now()
        return [
            Entry(key, list_row(key, describe_trigger(page.trigger), ago(page.written_at, now)))
            for key, page in self.listed.items()
        ]

    async def page(self, key: str) -> Page:
        """Render what this version changed, then the whole page."""
        version = int(key)
        whole = [row for words in self.listed[key].text.splitlines() for row in paragraph(words, indent=2)]
        if version == 1:
            return whole
        return [*orientation_diff_page(list(self.listed.values()), version - 1, version), line(), *whole]

    async def run_action(self, action: BrowserAction, key: str, words: str = "") -> ActionOutcome:
        """Make this version the newest."""
        await self.ask(
            lambda number: protocol.RevertOrientation(number, self.project, int(key)), protocol.ProjectDetail
        )
        return ReloadList()


class WorkLogListing(_ProjectPartListing[protocol.WorkEntry]):
    """The work log, newest first; the list reloads while work goes on."""

    title = "work log, live"
    empty_text = "No work yet."
    actions = (_WHY,)
    refresh_seconds = _LIVE_SECONDS

    async def entries(self, words: str) -> list[Entry]:
        """Load one row per log line."""
        self.listed, now = {entry.entry_id: entry for entry in (await self.fetch_detail()).log}, self.clock.now()
        return [
            Entry(
                key,
                list_row(
                    "·",
                    f"{describe_action(entry.action)}  {describe_details(entry.action, entry.details)}",
                    ago(entry.happened_at, now),
                ),
            )
            for key, entry in self.listed.items()
        ]

    async def page(self, key: str) -> Page:
        """Render the whole log line."""
        entry = self.listed[key]
        details = describe_details(entry.action, entry.details)
        return [*project_log_page([entry], self.clock.now()), line(), *paragraph(details, indent=2)]

    async def run_action(self, action: BrowserAction, key: str, words: str = "") -> ActionOutcome:
        """Show the task that the log line belongs to."""
        if not (task_id := self.listed[key].task_id):
            return paragraph("This line belongs to no task.")
        asked = protocol.AskTaskTrace
        answer = await self.ask(lambda number: asked(number, self.project, task_id), protocol.TaskTrace)
        return trace_page(answer)


class GrantListing(_ProjectPartListing[protocol.GrantEntry]):
    """The grants of a project."""

    title = "grants"
    empty_text = "No grants. To give one, in a shell: reveries grant give NAME fetch"
    actions = (_REVOKE,)

    async def entries(self, words: str) -> list[Entry]:
        """Load one row per grant."""
        answer = await self.ask(lambda number: protocol.AskGrants(number, self.project), protocol.Grants)
        self.listed, now = {grant.grant_id: grant for grant in answer.grants}, self.clock.now()
        return [Entry(key, list_row("·", grant.name, ago(grant.given_at, now))) for key, grant in self.listed.items()]

    async def page(self, key: str) -> Page:
        """Render what the grant allows."""
        return grants_page(protocol.Grants(0, "", [self.listed[key]]), self.clock.now())

    async def run_action(self, action: BrowserAction, key: str, words: str = "") -> ActionOutcome:
        """Revoke the grant."""
        await self.ask(lambda number: protocol.RevokeGrant(number, self.project, key), protocol.Grants)
        return ReloadList([line("  Revoked.")])


class ProposalListing(_ProjectPartListing[protocol.ProposalEntry]):
    """Tasks that the notes of a project propose, accepted or dropped in place."""

    title = "what the notes propose"
    empty_text = "The notes propose nothing that you have not decided."
    actions = (_ACCEPT, _DROP)

    async def entries(self, words: str) -> list[Entry]:
        """Load one row per proposal."""
        answer = await self.ask(lambda number: protocol.AskProposals(number, self.project), protocol.Proposals)
        self.listed = {item.proposal_id: item for item in answer.proposals}
        return [
            Entry(key, list_row("·", item.title, describe_due(item.due) if item.due else ""))
            for key, item in self.listed.items()
        ]

    async def page(self, key: str) -> Page:
        """Render the proposal with its line and place in the notes."""
        return proposals_page(protocol.Proposals(0, self.project, [self.listed[key]]))

    async def run_action(self, action: BrowserAction, key: str, words: str = "") -> ActionOutcome:
        """Make a task of the proposal, or drop it."""
        decision: Literal["accept", "dismiss"] = "accept" if action is _ACCEPT else "dismiss"
        await self.ask(
            lambda number: protocol.DecideProposals(number, self.project, decision, (key,)), protocol.Proposals
        )
        return ReloadList([line("  It is a task now." if action is _ACCEPT else "  Dropped.")])


class ConflictListing(_ProjectPartListing[protocol.FactConflictEntry]):
    """Lines of the notes that do not go together, decided in place."""

    title = "what does not go together"
    empty_text = "Nothing was found that does not go together."
    actions = (_KEEP_A, _KEEP_B, _DISMISS)

    async def entries(self, words: str) -> list[Entry]:
        """Load one row per conflict."""
        answer = await self.ask(lambda number: protocol.AskFactConflicts(number, self.project), protocol.FactConflicts)
        self.listed = {item.conflict_id: item for item in answer.conflicts}
        return [
            Entry(key, list_row("≠", item.subject, f"{describe_value(item.a)}, {describe_value(item.b)}"))
            for key, item in self.listed.items()
        ]

    async def page(self, key: str) -> Page:
        """Render both lines with their places."""
        return fact_conflicts_page(protocol.FactConflicts(0, [self.listed[key]]))

    async def run_action(self, action: BrowserAction, key: str, words: str = "") -> ActionOutcome:
        """Note which line holds, or that both do."""
        decision: Literal["dismiss", "keep_a", "keep_b"] = "dismiss"
        if action in (_KEEP_A, _KEEP_B):
            decision = "keep_a" if action is _KEEP_A else "keep_b"
        await self.ask(
            lambda number: protocol.DecideFactConflict(number, self.project, key, decision), protocol.FactConflicts
        )
        return ReloadList([line("  Noted. It comes back only if one of the lines changes.")])


_LISTINGS: Final[dict[BrowserAction, Callable[[AskCallback, Clock, str], BrowserListing]]] = {
    _PROPOSALS: ProposalListing,
    _CONFLICTS: ConflictListing,
    _TASKS: TaskListing,
    _QUESTIONS: QuestionListing,
    _PAGES: OrientationListing,
    _LOG: WorkLogListing,
    _GRANTS: GrantListing,
}


def _project_note(project: protocol.ProjectLine) -> str:
    asks = f", {plural(project.open_questions, 'question')}" if project.open_questions else ""
    # The state first: a narrow list cuts the end of a line.
    return f"{'' if project.state == 'active' else f'{project.state}, '}{describe_progress(project)}{asks}"


def _task_note(task: protocol.TaskEntry) -> str:
    return f"waits for {task.waits_for}" if task.waits_for else task.skill_area or task.status
