"""What the MCP server sends unasked: changes of resources that a program subscribed to, and log messages."""

import asyncio
from typing import Any

import mcp_types as types
import pytest
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated

from tests.e2e.living import Living
from tests.e2e.mcp_program import call, mcp_client, refusal

pytestmark = [pytest.mark.e2e, pytest.mark.system]

_WRITES = '[mcp]\nmay_write = ["agent"]\n'
_PAGE: dict[str, Any] = {"vision_summary": "A garden shed of oak.", "success_criteria": ["It stands."]}
_TASK: dict[str, Any] = {"title": "Buy wood", "description": "Oak.", "skill_area": "wood"}
_URI = "reveries://projects/Shed"


class Heard:
    """The notifications that one client received."""

    def __init__(self) -> None:
        self.uris: asyncio.Queue[str] = asyncio.Queue()
        self.messages: list[tuple[str, str]] = []

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.messages.append((params.level, str(params.data)))

    async def message(self, message: object) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            self.uris.put_nowait(str(message.params.uri))


async def request(client: Any, request: Any) -> None:
    """A request of the protocol before 2026-07-28, whose method the client's own warns of."""
    await client.session.send_request(request, types.EmptyResult)


async def test_a_change_by_another_program_is_heard_until_the_end_of_the_subscription(living: Living) -> None:
    living.settings += _WRITES
    await living.wake()
    heard = Heard()
    async with (
        mcp_client(living) as agent,
        mcp_client(living, name="reader", mode="legacy", message_handler=heard.message) as reader,
    ):
        await call(agent, "create_project", **_PAGE, name="Shed")
        for part in ("tasks", "orientation"):
            params = types.SubscribeRequestParams(uri=f"{_URI}/{part}")
            await request(reader, types.SubscribeRequest(params=params))
        await call(agent, "create_task", project_id="Shed", **_TASK)
        async with asyncio.timeout(300):
            assert await heard.uris.get() == f"{_URI}/tasks"
        ended = types.UnsubscribeRequestParams(uri=f"{_URI}/tasks")
        await request(reader, types.UnsubscribeRequest(params=ended))
        await call(agent, "create_task", project_id="Shed", **(_TASK | {"title": "Saw it"}))
        await call(agent, "update_orientation", project_id="Shed", orientation={"constraints": ["600 euros"]})
        async with asyncio.timeout(300):
            assert await heard.uris.get() == f"{_URI}/orientation"
        assert heard.uris.empty()
        for uri in (f"{_URI}/secrets", "reveries://projects/Boat/tasks", "reveries://projects"):
            with pytest.raises(Exception, match=r"no resource|no project"):
                await request(reader, types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri)))
    await living.end()


async def test_a_stream_of_2026_tells_of_changed_pages_and_of_new_projects(living: Living) -> None:
    living.settings += _WRITES
    await living.wake()
    async with mcp_client(living) as agent, mcp_client(living, name="reader") as reader:
        await call(agent, "create_project", **_PAGE, name="Shed")
        wanted = [f"{_URI}/tasks", "reveries://projects/Nowhere/tasks"]
        async with reader.listen(resource_subscriptions=wanted, resources_list_changed=True) as events:
            async with asyncio.timeout(300):
                await call(agent, "create_task", project_id="Shed", **_TASK)
                assert await anext(aiter(events)) == ResourceUpdated(f"{_URI}/tasks")
                await call(agent, "create_project", **_PAGE, name="Boat")
                assert await anext(aiter(events)) == ResourcesListChanged()
        assert (await call(reader, "get_tasks", project_id="Shed"))["tasks"]
    await living.end()


async def test_log_messages_come_at_the_level_that_the_program_asked_for_and_not_before(living: Living) -> None:
    await living.wake()
    old, new, silent = Heard(), Heard(), Heard()
    async with (
        mcp_client(living, mode="legacy", logging_callback=old.log) as legacy,
        mcp_client(living, log_level="debug", logging_callback=new.log) as modern,
        mcp_client(living, logging_callback=silent.log) as unasked,
    ):
        await refusal(legacy, "get_tasks", project_id="Shed")
        assert old.messages == []
        await request(legacy, types.SetLevelRequest(params=types.SetLevelRequestParams(level="warning")))
        for client in (legacy, modern, unasked):
            await call(client, "list_projects")
            await refusal(client, "get_tasks", project_id="Shed")
    [(level, text)] = old.messages
    assert level == "warning"
    assert text.startswith("get_tasks: ")
    assert [level for level, _ in new.messages] == ["debug", "warning"]
    assert silent.messages == []
    await living.end()
