"""The import of litellm: in a thread, once, without settings from the environment and without output of its own.

litellm's import takes seconds, fetches a price list from the network and reads a stray `.env` unless told otherwise.
Variables in the environment make it and OpenAI's library send account names and more headers, fetch lists from other
addresses, or write prompts to standard error. So the variables that they read are removed from this process, except for
the keys (which each call passes, and which we read).
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
"""The longest response body; the text in it is limited by llm.limits.reply_bytes."""

_SDK_PROVIDERS = ("openai/", "cerebras/")
"""Called through OpenAI's own library, which uses `litellm.aclient_session`; others get the client as an argument."""


class GuardedLiteLlm:
    """The litellm module, restricted to our HTTP client."""

    def __init__(self, module: Any) -> None:
        self._module = module
        handlers = importlib.import_module("litellm.llms.custom_httpx.http_handler")
        transport = CappedTransport(httpx.AsyncHTTPTransport(), WIRE_BYTES)
        self._handler = handlers.AsyncHTTPHandler(transport=transport, follow_redirects=False)
        module.aclient_session = self._handler.client
        module.suppress_debug_info = True
        module.telemetry = False
        # Without reported usage it would download a Llama tokenizer to estimate it.
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
    # Otherwise it fetches from GitHub: prices at import, beta feature names for an Anthropic call with a schema.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    # Otherwise it reads a `.env`.
    "LITELLM_MODE": "PRODUCTION",
}
_READ_PREFIXES = (*(f"{provider.upper()}_" for provider in HOSTED_PROVIDERS), "LITELLM_", "OR_", "AZURE_")
_READ_VARIABLES = frozenset({
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
"""Other variables that litellm 1.106 and openai 2.54 read and that would change what is sent to one of our providers,
how, or to whom."""
_KEYS = frozenset(f"{provider.upper()}_API_KEY" for provider in HOSTED_PROVIDERS)

_FIRST_CALL_IMPORTS = (
    "openai.resources",
    "openai.resources.chat",
    "litellm._service_logger",
    "litellm.llms.openai.chat.gpt_audio_transformation",
    "tiktoken.load",
    "tiktoken_ext.openai_public",
)
_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")
"""Its loggers, each with a handler of its own that writes to standard error."""


@functools.cache
def import_litellm() -> GuardedLiteLlm:
    """Import litellm within our limits. Call `clear_library_environment` first. Slow: call it in a thread.

    Raises ImportError where it is not installed.
    """
    module = importlib.import_module("litellm")
    # The first call would import these on the event loop, which takes half a second.
    for name in _FIRST_CALL_IMPORTS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name in _LOGGERS:
        logging.getLogger(name).handlers.clear()  # Their messages go to our log, as any library's.
    return GuardedLiteLlm(module)


def clear_library_environment() -> None:
    """Remove from this process's environment what litellm would read, and set what we want."""
    for name in list(os.environ):
        if name not in _KEYS and (name.startswith(_READ_PREFIXES) or name in _READ_VARIABLES):
            del os.environ[name]
    os.environ.update(_SWITCHES)
