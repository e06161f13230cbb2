"""The owner's questions about models, put to a real mind with the small real model."""

import asyncio

import pytest

from reveries import protocol
from tests.e2e.living import Living

pytestmark = [pytest.mark.e2e]


async def test_a_mind_that_is_awake_shows_and_tests_its_models(living: Living) -> None:
    await living.wake()
    async with living.client() as client:
        client.send(protocol.AskModels(client.number()))
        overview = await client.next_of(protocol.ModelsOverview)
        conversation = overview.roles[0]
        assert conversation.model == "embedded/smollm2-135m"
        assert (conversation.reason, conversation.context_tokens) == ("llm.provider is embedded", 2048)
        client.send(protocol.ProbeModels(client.number(), "consolidation"))
        probed = await client.next_of(protocol.ModelsProbed, seconds=300)
        [probe] = probed.probes
        assert not probe.error
        assert probe.completion_tokens > 0
        assert probe.first_token_seconds > 0
        [count] = probed.answers
        assert count.valid + count.repaired + count.failed == 1


async def test_a_test_that_is_stopped_leaves_a_mind_that_goes_on(living: Living) -> None:
    await living.wake()
    async with living.client() as client:
        number = client.number()
        client.send(protocol.ProbeModels(number))
        await client.next_of(protocol.Progress)
        client.send(protocol.Cancel(client.number(), number))
        async with asyncio.timeout(300):
            while not isinstance(frame := await client.next(), protocol.Failed):
                pass
        assert (frame.request_id, frame.code) == (number, "cancelled")
        client.send(protocol.ProbeModels(client.number(), "embedding"))
        assert (await client.next_of(protocol.ModelsProbed)).probes[0].answer == "vectors"
