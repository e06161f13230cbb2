"""What litellm speaks through: an HTTP client within our limits in place of its own (D4, F2).

litellm's own follows a redirect, and with it what was asked, to any address; unpacks a body of any size; keeps a line
of any length. Ours does none of that. `GuardedLiteLlm` is made with litellm's import, in a thread.
"""

import importlib
from typing import Any

import httpx

from reveries.llm.limits import CappedTransport

WIRE_BYTES = 64 * 2**20
"""The longest body; what of it may become text is bounded by llm.limits.reply_bytes."""

_SDK_PROVIDERS = ("openai/", "cerebras/")
"""Asked through OpenAI's own library, which takes its client from `litellm.aclient_session`; others are handed it."""


class GuardedLiteLlm:
    """The litellm module, speaking through our client."""

    def __init__(self, module: Any) -> None:
        self._module = module
        handlers = importlib.import_module("litellm.llms.custom_httpx.http_handler")
        transport = CappedTransport(httpx.AsyncHTTPTransport(), WIRE_BYTES)
        self._handler = handlers.AsyncHTTPHandler(transport=transport, follow_redirects=False)
        module.aclient_session = self._handler.client
        module.suppress_debug_info = True
        module.telemetry = False
        # Where a provider says no usage, it would fetch the tokenizer of a "llama" from a hub, to guess at it.
        module.disable_hf_tokenizer_download = True

    async def acompletion(self, **options: object) -> object:
        """See litellm."""
        if not str(options["model"]).startswith(_SDK_PROVIDERS):
            options["client"] = self._handler
        answer: object = await self._module.acompletion(**options)
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)
