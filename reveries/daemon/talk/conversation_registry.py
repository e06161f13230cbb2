"""The conversations of a mind, by channel. The plain chat is one of them; each has its own turns and history."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import msgspec

from reveries.daemon.talk.conversation import Conversation
from reveries.errors import NotFoundError
from reveries.memory.conversations import MAIN_CHANNEL


class ConversationRegistry:
    """The open conversations by channel. Code that needs silence waits for all of them."""

    def __init__(self) -> None:
        self._conversations: dict[str, Conversation] = {}

    def add(self, conversation: Conversation) -> None:
        """Add `conversation`. Raises ValueError if its channel is taken."""
        if conversation.channel in self._conversations:
            raise ValueError(f"There is a conversation in {conversation.channel!r} already.")
        self._conversations[conversation.channel] = conversation

    def __getitem__(self, channel: str) -> Conversation:
        return self._conversations[channel]

    def named(self, channel: str | msgspec.UnsetType) -> Conversation:
        """Return the conversation of a channel; without one, the plain chat. Raises NotFoundError."""
        if channel is msgspec.UNSET:
            return self.main
        if channel not in self._conversations:
            raise NotFoundError(
                f"No conversation {channel[:80]!r} is open.", advice=f"Open are: {', '.join(self._conversations)}."
            )
        return self._conversations[channel]

    def holding(self, conversation_id: str) -> Conversation:
        """Return the one that a stored turn was said in; the plain chat, if it has moved on meanwhile."""
        return next((item for item in self if item.conversation_id == conversation_id), self.main)

    def __iter__(self) -> Iterator[Conversation]:
        return iter(self._conversations.values())

    @property
    def main(self) -> Conversation:
        """The plain chat."""
        return self._conversations[MAIN_CHANNEL]

    @property
    def attached_count(self) -> int:
        """How many clients show a conversation."""
        return sum(conversation.attached_count for conversation in self)

    @property
    def is_talking(self) -> bool:
        """Whether thinking and sleep must wait: a conversation is open and not idle (R-96)."""
        return any(conversation.is_talking for conversation in self)

    @property
    def has_pending_turn(self) -> bool:
        """Whether a turn is running, or waits for the one before it."""
        return any(conversation.has_pending_turn for conversation in self)

    @property
    def is_resting(self) -> bool:
        """Whether every conversation is idle. A turn off the record does not count."""
        return all(conversation.is_resting for conversation in self)

    @property
    def is_closing(self) -> bool:
        """Whether new turns are refused because the mind shuts down."""
        return any(conversation.is_closing for conversation in self)

    async def open(self) -> None:
        """Go on with the last conversation of every channel, or begin one."""
        for conversation in self:
            await conversation.open()

    def request_read_ahead(self) -> None:
        """Have the model read the stable part of every prompt again, because it changed."""
        for conversation in self:
            conversation.request_read_ahead()

    def forget_context(self) -> None:
        """Drop the history of every conversation from its prompt context (see `Conversation.forget_context`)."""
        for conversation in self:
            conversation.forget_context()

    def refuse_turns(self) -> None:
        """Refuse new turns in every conversation."""
        for conversation in self:
            conversation.refuse_turns()

    async def stop_replies(self, why: str) -> None:
        """Stop the replies that are being generated; the text so far is stored."""
        for conversation in self:
            await conversation.stop_reply(why)

    async def wait_until_quiet(self, seconds: float) -> None:
        """Wait until no turn is running, `seconds` at most."""
        async with asyncio.TaskGroup() as tasks:
            for channel, conversation in self._conversations.items():
                tasks.create_task(conversation.wait_until_quiet(seconds), name=f"wait-for-{channel}")

    @contextlib.asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Keep every conversation silent; reload each afterwards."""
        async with contextlib.AsyncExitStack() as stack:
            for conversation in self:
                await stack.enter_async_context(conversation.locked())
            yield
