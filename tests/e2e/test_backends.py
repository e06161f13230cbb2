"""The same conversation against three real backends, over real sockets."""

import pytest

from tests.e2e.backends import REPLY_TOKENS, backend, converse
from tests.e2e.living import Living

pytestmark = [pytest.mark.e2e]


@pytest.mark.requirement("R-45", "R-48", "R-49", "R-92", "D4")
@pytest.mark.parametrize("name", ["embedded", "ollama", pytest.param("openai", marks=pytest.mark.system)])
async def test_the_same_conversation_runs_on_every_backend(living: Living, name: str) -> None:
    async with backend(living, name, "smollm2-135m"):
        await living.wake()
        async with living.client() as client:
            heard = await converse(client)
        await living.end()
    for replied in (heard.first, heard.second):
        assert replied.reason in ("stop", "length"), replied.explanation
        assert replied.text
        assert replied.prompt_tokens > 0 < replied.completion_tokens
        assert replied.model.startswith(name)
    assert heard.token_frames > 2
    # How quickly is measured (docs/benchmarks/talk.md); here, that the model was stopped and did not end by itself.
    assert heard.cancelled.reason == "cancelled"
    assert heard.cancelled.completion_tokens < REPLY_TOKENS
    assert heard.usage.calls == 3
    counted = heard.first.prompt_tokens + heard.second.prompt_tokens
    assert heard.usage.prompt_tokens >= counted
    assert (heard.usage.dollars > 0) == (name == "openai")
