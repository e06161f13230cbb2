"""The import of litellm: in a thread, once, deaf to the environment, and with no voice of its own.

litellm's import takes seconds, looks for a price list on the network and reads a stray `.env` unless it is told not to.
What it and OpenAI's library find in the environment they follow: they would send whose account it is, more headers,
other words of themselves; fetch lists from an address named there; write prompts to standard error. So what they
listen to is taken out of this process, but for the keys (which it is given at each call, and which we read).
"""

import contextlib
import functools
import importlib
import logging
import os
from typing import Any

import httpx

from reveries.llm.choose import HOSTED_PROVIDERS
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


_SWITCHES = {
    # Else it asks GitHub: for prices at its import, for the names of beta features at an Anthropic call with a schema.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    # Else it reads a `.env`.
    "LITELLM_MODE": "PRODUCTION",
}
_HEARD_BEGINNINGS = (*(f"{provider.upper()}_" for provider in HOSTED_PROVIDERS), "LITELLM_", "OR_", "AZURE_")
_HEARD = frozenset({
    "CUSTOM_TIKTOKEN_CACHE_DIR",  # In a folder that lacks them, tokenizers would be downloaded.
    "DEFAULT_ANTHROPIC_CHAT_MAX_TOKENS",
    "DEFAULT_MAX_RETRIES",
    "DEFAULT_MAX_TOKENS",
    "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER",
    "JSON_LOGS",
    "REQUEST_TIMEOUT",
    "SSL_CERTIFICATE",
    "SSL_ECDH_CURVE",
    "SSL_SECURITY_LEVEL",
    "SSL_VERIFY",
    "USE_DDPROFILER",
    "USE_DDTRACE",
    "USE_LITELLM_PROXY",
})  # fmt: skip
"""What litellm 1.106 and openai 2.54 read of it that begins otherwise, and that would change what is sent to one of our
providers, how, or to whom."""
_KEYS = frozenset(f"{provider.upper()}_API_KEY" for provider in HOSTED_PROVIDERS)

_FIRST_CALL_IMPORTS = (
    "openai.resources",
    "openai.resources.chat",
    "litellm._service_logger",
    "litellm.llms.openai.chat.gpt_audio_transformation",
    "tiktoken.load",
    "tiktoken_ext.openai_public",
)
_SPEAKERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")
"""Its loggers, each with a handler of its own that writes to standard error."""


@functools.cache
def import_litellm() -> GuardedLiteLlm:
    """Import litellm within our limits. Call `clear_library_environment` first. Slow: call it in a thread.

    Raises ImportError where it is not installed.
    """
    module = importlib.import_module("litellm")
    # What the first call would import, half a second of it, on the event loop.
    for name in _FIRST_CALL_IMPORTS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name in _SPEAKERS:
        logging.getLogger(name).handlers.clear()  # What they say goes to the log, as any library's.
    return GuardedLiteLlm(module)


def clear_library_environment() -> None:
    """Take out of this process's environment what litellm would follow, and put in what we want of it."""
    for name in list(os.environ):
        if name not in _KEYS and (name.startswith(_HEARD_BEGINNINGS) or name in _HEARD):
            del os.environ[name]
    os.environ.update(_SWITCHES)
