"""Sends requests to the daemon without a socket; returns the answer and the frames before it."""

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeVar, cast, overload

import reveries.daemon.app  # noqa: F401 - it registers the handlers
from reveries import protocol
from reveries.daemon.mind import Mind
from reveries.daemon.requests.clients import AttachedClients
from reveries.daemon.requests.registry import Call, DetachedTasks, RequestDispatcher, answer_request
from reveries.daemon.talk.conversation_registry import ConversationRegistry
from reveries.errors import ReveriesError, StorageLostError
from reveries.progress import CountCallback

if TYPE_CHECKING:
    from reveries.daemon.server import Session
    from tests.daemon.kit import Talk


_Answer = TypeVar("_Answer", bound=protocol.Frame)


@overload
async def ask(mind: "Mind | Talk", request: protocol.Request) -> protocol.Frame: ...


@overload
async def ask(mind: "Mind | Talk", request: protocol.Request, kind: type[_Answer]) -> _Answer: ...


async def ask(
    mind: "Mind | Talk", request: protocol.Request, kind: type[protocol.Frame] = protocol.Frame
) -> protocol.Frame:
    """Return the first frame of that type that answers `request`. Raises what the daemon would send as `Failed`."""
    asked = mind if isinstance(mind, Mind) else cast("Mind", SimpleNamespace(**_parts(mind)))
    answers: list[protocol.Frame] = []
    failure: ReveriesError | None = None

    rules = protocol.REQUESTS[type(request)]

    class Outbox:
        def send(self, frame: protocol.Frame) -> None:
            assert isinstance(frame, (rules.answer, *rules.before)), f"{request} does not name {frame}"
            answers.append(frame)

        def send_piece(self, frame: protocol.Frame) -> None:
            """Ignore progress and pieces of text."""
            assert isinstance(frame, rules.before), f"{request} does not name {frame}"

    session = cast("Session", SimpleNamespace(number=1, outbox=Outbox(), imports={}, is_gone=False))
    async with asyncio.TaskGroup() as tasks:
        clients, detached = AttachedClients(asked.conversations), DetachedTasks(tasks, storage_is_kept)
        call = Call(asked, session, request.request_id, clients, detached, stay_awake)
        try:
            last = await answer_request(call, request)
        except ReveriesError as error:
            failure = error
        else:
            answers += [last] if last is not None else []
    if failure is not None:
        raise failure
    return next(one for one in answers if isinstance(one, kind))


async def status_of(mind: Mind) -> protocol.Status:
    """Request the status, as `reveries status` does."""
    return await ask(mind, protocol.AskStatus(1), protocol.Status)


def dispatcher(mind: Mind, tasks: asyncio.TaskGroup) -> RequestDispatcher:
    """The daemon's dispatcher, for a mind that neither shuts down nor loses its storage."""
    return RequestDispatcher(
        mind, AttachedClients(mind.conversations), DetachedTasks(tasks, storage_is_kept), stay_awake
    )


async def stay_awake(progress: CountCallback) -> None:
    raise AssertionError("Nobody asked it to sleep.")


def storage_is_kept(error: StorageLostError) -> None:
    raise AssertionError(error)


def _parts(talk: "Talk") -> dict[str, object]:
    conversations = ConversationRegistry()
    conversations.add(talk.conversation)
    parts = {"memory": talk.memory, "conversation": talk.conversation, "clock": talk.clock, "safe_because": ""}
    return {**parts, "conversations": conversations, "database": talk.memory.conversations._store.database}
