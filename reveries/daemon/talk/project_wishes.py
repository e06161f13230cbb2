"""Wishes about projects in a conversation: what the owner's words want changed is asked back, and a yes right after it
applies it. Nothing is changed silently; only the owner's own words can wish."""

import asyncio
import contextlib
import re
from collections.abc import Callable
from typing import Final

import structlog

from reveries.clock import Clock
from reveries.daemon.talk.code_replies import CodeReply
from reveries.errors import ReveriesError, StorageLostError
from reveries.llm.base import Role
from reveries.llm.tier import Tier
from reveries.notifier import Notifier
from reveries.projects.answers import is_no
from reveries.projects.goal_wishes import read_answer_wish, read_goal_wish
from reveries.projects.prompt_material import format_today
from reveries.projects.status_questions import read_status_question
from reveries.projects.steering_words import STEERING_WORDS
from reveries.projects.store import ProjectStore
from reveries.projects.task_days import today
from reveries.projects.wish_choice import Targets, choice_type, find_targets, read_choice, wish_question
from reveries.projects.wish_reading import read_wish
from reveries.projects.wish_store import StoredWish, WishStore
from reveries.projects.wishes import Wish, WishAction, say_day
from reveries.projects.work_model import WorkModel
from reveries.projects.yes_answers import is_yes
from reveries.safe_text import format_record, one_line

log = structlog.get_logger("conversation")

_TITLE_CHARS: Final = 120
_ANSWER_TOKENS: Final = 200
_SECONDS: Final = 15.0
"""The owner's next words wait for the end of a turn."""
_MARKS: Final = re.compile(r"[\s.,!]+")
_YES: Final = frozenset(STEERING_WORDS.words("yes"))
_NO: Final = frozenset(STEERING_WORDS.words("no"))


class ProjectWishes:
    """Reads wishes from the owner's words, asks them back, and applies them after a yes."""

    def __init__(
        self, store: ProjectStore, wishes: WishStore, clock: Clock, model_of: Callable[[str], WorkModel]
    ) -> None:
        """`model_of`: the model that works for a project, by its id."""
        self._store = store
        self._model_of = model_of
        self.wishes = wishes
        self._clock = clock
        self._asked_id = ""
        """The wish that the last reply asked about: a yes or a no right after it decides it."""
        self.applied: Notifier[[str]] = Notifier()
        """The id of the project."""

    async def answer(self, words: str) -> CodeReply | None:
        """Return the reply to a yes or a no to what was just asked; None for any other words. An error fails no
        reply."""
        asked_id, self._asked_id = self._asked_id, ""
        if not asked_id or not (says_yes(words) or says_no(words)):
            return None
        try:
            wish = await self.wishes.proposed()
            if wish is None or wish.id != asked_id:
                return None
            return await self.decide(wish, is_applied=says_yes(words))
        except StorageLostError:
            raise
        except ReveriesError as error:
            return CodeReply(str(error))

    async def decide(self, wish: StoredWish, *, is_applied: bool) -> CodeReply:
        """Apply or decline a wish, and say so. Raises NotFoundError, UsageError."""
        if not is_applied:
            await self.wishes.decline(wish)
            return CodeReply("I left it as it is.")
        applied = await self.wishes.apply(wish)
        self.applied.notify(applied.project.id)
        tasks = await self._store.tasks.of_project(applied.project.id) if applied.task_id is not None else []
        task = next((item for item in tasks if item.id == applied.task_id), None)
        title = format_record(task.title if task is not None else wish.title, _TITLE_CHARS)
        project = format_record(applied.project.name, _TITLE_CHARS)
        done = {
            WishAction.MOVE: f"Changed: “{title}” is due on {say_day(wish.due)}." if wish.due else "",
            WishAction.DROP: f"Dropped: “{title}”.",
            WishAction.START: f"“{title}” is first now.",
            WishAction.DONE: f"Done: “{title}”.",
            WishAction.ADD: f"Added: “{title}”.",
            WishAction.GOAL: f"The goal of {project} is now: “{title}”.",
            WishAction.ANSWER: f"Noted for {project}: “{title}”.",
            WishAction.BEGIN: f"Begun: the project {project}.",
            WishAction.PURSUE: f"Begun: the project {project}.",
        }
        return CodeReply(done[wish.action], task is not None and bool(task.foreign_sources))

    async def propose(self, words: str) -> CodeReply | None:
        """Store what the owner's `words` want changed, and return the question; None if they want nothing that is
        sure. An error fails no reply."""
        try:
            wish = await self._read(words)
            if wish is None:
                return None
            self._asked_id = await self.wishes.propose(wish)
        except StorageLostError:
            raise
        except ReveriesError:
            log.warning("wish.failed", exc_info=True)
            return None
        return CodeReply(one_line(wish.ask(), 900), wish.is_tainted)

    async def _read(self, words: str) -> Wish | None:
        """Return what is wanted: by rules, or else by a capable model where the words touch a project."""
        projects = [project for project in await self._store.projects() if project.state == "active"]
        day = today(self._clock.now())
        tasks = {project.id: await self._store.tasks.of_project(project.id) for project in projects}
        if projects and (wish := read_wish(words, projects, tasks, day)) is not None:
            return wish
        if (wish := read_goal_wish(words, projects)) is not None or not projects:
            return wish
        questions = [question for _, question in await self._store.questions.list_open()]
        if (wish := read_answer_wish(words, projects, questions)) is not None:
            return wish
        if read_status_question(words, projects, day) is not None:
            return None
        targets = find_targets(words, projects, tasks, questions)
        return await self._choose(words, targets) if targets is not None else None

    async def _choose(self, words: str, targets: Targets) -> Wish | None:
        """Let a capable model choose what `words` want of `targets`, in one request; None if it is slow, too."""
        now = self._clock.now()
        model = self._model_of(next(iter(targets.projects.values())).id)
        if model.tier is not Tier.CAPABLE:
            return None
        text = wish_question(words, targets, model.owner, format_today(now))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SECONDS):
                choice = await model.ask("wish", text, choice_type(targets), tokens=_ANSWER_TOKENS, role=Role.LEARNING)
                return read_choice(choice, words, targets, today(now)) if choice is not None else None
        return None


def says_yes(words: str) -> bool:
    """Whether words are a yes and nothing else, in seven languages."""
    return is_yes(words) or _plain(words) in _YES


def says_no(words: str) -> bool:
    """Whether words are a no and nothing else, in seven languages."""
    return is_no(words) or _plain(words) in _NO


def _plain(words: str) -> str:
    return " ".join(_MARKS.sub(" ", words.casefold()).split())
