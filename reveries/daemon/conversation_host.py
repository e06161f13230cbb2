"""Connects conversations to the mind: talk interrupts thinking and sleep, an idle conversation resumes them."""

from reveries.daemon.mind_events import MindEvents
from reveries.daemon.mind_parts import MindParts
from reveries.daemon.occupations.activity import Activity
from reveries.daemon.occupations.sleep_control import SleepControl
from reveries.daemon.talk.code_replies import CodeReply
from reveries.daemon.talk.conversation_registry import ConversationRegistry
from reveries.daemon.talk.project_talk import ProjectTalk
from reveries.daemon.talk.project_wishes import ProjectWishes
from reveries.daemon.talk.prompt_memories import PromptMemory
from reveries.memory.model import Turn
from reveries.monologue.loop import Monologue
from reveries.monologue.thought import Reactivation, ThinkingReason
from reveries.safety.verdict import Verdict


class MindAsHost:
    """The `ConversationHost` of every conversation of a mind."""

    def __init__(
        self,
        parts: MindParts,
        *,
        conversations: ConversationRegistry,
        monologue: Monologue,
        sleep: SleepControl,
        activity: Activity,
        events: MindEvents,
        project_talk: ProjectTalk,
        project_wishes: ProjectWishes,
    ) -> None:
        self._conversations = conversations
        self._monologue = monologue
        self._sleep = sleep
        self._activity = activity
        self._journal = parts.journal
        self._events = events
        self._project_talk = project_talk
        self._project_wishes = project_wishes

    def conversation_began(self, *, is_private: bool) -> None:
        self._activity.begin_talk(is_private=is_private)

    def turn_stored(self, turn: Turn) -> None:
        self._events.turn_stored.notify(turn)

    async def conversation_rested(self, conversation_id: str, goes_on_seconds: float) -> None:
        """Run light sleep, then resume thinking about what was said (R-95), after `goes_on_seconds`."""
        await self._sleep.light_sleep()
        # Not `is_talking`: the owner may be switching to another conversation while this one is idle.
        talks = self._conversations
        if talks.has_pending_turn or talks.is_closing or not talks.is_resting:
            return
        self._monologue.resume(Reactivation(ThinkingReason.CONVERSATION, conversation_id), goes_on_seconds)
        self._activity.announce_state()

    def turn_left_no_trace(self) -> None:
        self._activity.resume_thinking()
        self._activity.announce_state(is_private=True)

    def recent_thought(self) -> str:
        return self._monologue.cycle.recent_thought()

    def is_recent_thought_tainted(self) -> bool:
        return self._monologue.cycle.is_recent_thought_tainted()

    async def project_notes(self, words: str, room_tokens: int) -> list[PromptMemory]:
        return await self._project_talk.notes_for(words, room_tokens)

    async def answer_status(self, words: str) -> CodeReply | None:
        return await self._project_talk.answer_status(words)

    async def answer_wish(self, words: str) -> CodeReply | None:
        return await self._project_wishes.answer(words)

    async def propose_wish(self, words: str) -> CodeReply | None:
        return await self._project_wishes.propose(words)

    async def turns_folded(self) -> None:
        await self._sleep.light_sleep()

    async def reply_tripped(self, verdict: Verdict, so_far: str) -> None:
        await self._journal.record_trip("conversation", verdict, so_far, "the reply was cut and its reason told")
