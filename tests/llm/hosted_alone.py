"""Calls through the real litellm, as the daemon makes them with its log at debug. In a separate process, because what
litellm and its libraries read from the environment, and their output, is global to a process. Takes a folder for the
log; prints the HTTP headers that a provider on loopback received, as JSON."""

import asyncio
import contextlib
import json
import logging
import sys
import warnings
from pathlib import Path

from reveries.config import load_settings
from reveries.daemon.process.logs import log_to
from reveries.errors import ModelError
from reveries.llm.base import ChatMessage, Prompt, Role
from reveries.llm.hosted import HostedModel, HostedOptions
from tests.llm.contract import play
from tests.llm.servers import model_server

NAMES = ("openai/gpt-4.1-mini", "cerebras/kimi-k2.5", "openrouter/openai/gpt-oss-120b", "anthropic/claude-haiku-4-5")
WORDS = "the ring is in the quibblewort vase"
KEY = "sk-of-this-test"


async def _call_all() -> None:
    limits = load_settings(None).llm.limits
    prompt = Prompt(Role.CONVERSATION, (ChatMessage("system", WORDS), ChatMessage("user", WORDS)), 24)
    async with model_server() as server:
        for name in NAMES:
            await play(HostedModel(HostedOptions(name, KEY, f"{server.url}/v1", limits)), prompt)
        server.status = 400
        server.raw = json.dumps({"error": {"message": f"not this: {WORDS}"}}).encode()
        for name in NAMES:
            with contextlib.suppress(ModelError):
                await play(HostedModel(HostedOptions(name, KEY, f"{server.url}/v1", limits)), prompt)
        # What they say in some later version, or of an answer that nobody thought of.
        for speaker in ("LiteLLM", "LiteLLM Router", "openai._base_client", "anyone"):
            logging.getLogger(speaker).warning("Could not make sense of %s", WORDS)
        warnings.warn(f"Expected `str` [input_value={WORDS!r}]", UserWarning, stacklevel=1)
        sys.stdout.write(json.dumps(server.heads) + "\n")


def main() -> None:
    """See above."""
    with log_to(Path(sys.argv[1]), "debug"):
        asyncio.run(_call_all())


if __name__ == "__main__":
    main()
