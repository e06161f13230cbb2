"""Conversations side by side. The plain chat is one of them; each has its own turns, history and time of rest."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

from reveries.daemon.conversation import Conversation
from reveries.memory.conversations import MAIN_CHANNEL


class ConversationRegistry:
    """The conversations of this mind by channel. Who waits for silence waits for all of them."""

    def __init__(self) -> None:
        self._conversations: dict[str, Conversation] = {}

    def add(self, conversation: Conversation) -> None:
        """Raises ValueError where its channel has one."""
        if conversation.channel in self._conversations:
            raise ValueError(f"There is a conversation in {conversation.channel!r} already.")
        self._conversations[conversation.channel] = conversation

    def __getitem__(self, channel: str) -> Conversation:
        return self._conversations[channel]

    def __iter__(self) -> Iterator[Conversation]:
        return iter(self._conversations.values())

    @property
    def main(self) -> Conversation:
        """The plain chat."""
        return self._conversations[MAIN_CHANNEL]

    @property
    def is_talking(self) -> bool:
        """Whether thinking and sleep must wait: one of them is open and does not rest (R-96)."""
        return any(one.is_talking for one in self)

    @property
    def has_words(self) -> bool:
        """Whether a turn is under way, or waits for the one before it."""
        return any(one.has_words for one in self)

    @property
    def is_resting(self) -> bool:
        """Whether nothing is talked about, whatever turn off the record is under way."""
        return all(one.is_resting for one in self)

    @property
    def is_over(self) -> bool:
        """Whether no turn begins any more: the mind ends."""
        return any(one.is_over for one in self)

    def want_warmth(self) -> None:
        """The stable part of every prompt changed."""
        for one in self:
            one.want_warmth()

    def forget_context(self) -> None:
        """Nothing of what was said is before a model any more, until it is read anew (`held`)."""
        for one in self:
            one.forget_context()

    def take_no_more(self) -> None:
        """From now on no turn begins."""
        for one in self:
            one.take_no_more()

    async def stop_replies(self, why: str) -> None:
        """End the replies that are being made; what was said so far is kept and stored."""
        for one in self:
            await one.stop_reply(why)

    async def wait_until_quiet(self, seconds: float) -> None:
        """Wait until no turn is under way, `seconds` at most."""
        async with asyncio.TaskGroup() as tasks:
            for channel, one in self._conversations.items():
                tasks.create_task(one.wait_until_quiet(seconds), name=f"wait-for-{channel}")

    @contextlib.asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """While nothing is said anywhere; then each is read anew."""
        async with contextlib.AsyncExitStack() as stack:
            for one in self:
                await stack.enter_async_context(one.held())
            yield
