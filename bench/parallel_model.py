"""The embedded model for benchmarks: one server with several slots, so that many short questions run in parallel."""

import contextlib
import re
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path

import msgspec

from reveries.errors import ModelUnavailableError
from reveries.llm.assets import find_weights
from reveries.llm.base import ChatMessage, Delta, Finished, FinishReason, Prompt, Role, StreamEvent, Usage
from reveries.llm.model_process import ModelProcess, start_model_process

BATCH_TOKENS = 512
_PIECE = re.compile(r"\s*\S+\s*?|\s+")
_WIRE_BYTES = 8 * 1024 * 1024


class _Text(msgspec.Struct, frozen=True):
    content: str = ""


class _Choice(msgspec.Struct, frozen=True):
    message: _Text
    finish_reason: str = ""


class _Used(msgspec.Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Answer(msgspec.Struct, frozen=True):
    choices: list[_Choice]
    usage: _Used = _Used()


class ParallelModel:
    """A ChatModel whose calls may run concurrently, each on a free slot. An answer arrives as a whole and is then
    streamed word by word."""

    tells_probabilities = False

    def __init__(self, process: ModelProcess, name: str, context_tokens: int) -> None:
        self._process = process
        self.name = f"embedded/{name}"
        self.context_tokens = context_tokens
        self._busy = 0

    @property
    def is_busy(self) -> bool:
        """Whether a call is under way."""
        return self._busy > 0

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        """The words of the answer, then the end mark."""
        request: dict[str, object] = {
            "messages": [{"role": message.role, "content": message.text} for message in prompt.messages],
            "max_tokens": prompt.max_tokens,
            "temperature": prompt.temperature,
            "cache_prompt": True,
            "seed": 1,
        }
        if prompt.stop:
            request["stop"] = list(prompt.stop)
        if prompt.schema is not None:
            request["response_format"] = {"type": "json_schema", "json_schema": {"schema": prompt.schema}}
        self._busy += 1
        try:
            response = await self._process.client.post("/v1/chat/completions", json=request, timeout=None)
        finally:
            self._busy -= 1
        if response.status_code != 200:
            raise ModelUnavailableError(f"{self.name} refused the call: {response.text}.", advice="Look at the prompt.")
        answer = msgspec.json.decode(response.content, type=_Answer)
        choice = answer.choices[0]
        for piece in _PIECE.findall(choice.message.content):
            yield Delta(piece)
        reason = FinishReason.LENGTH if choice.finish_reason == "length" else FinishReason.STOP
        yield Finished(reason, Usage(answer.usage.prompt_tokens, answer.usage.completion_tokens))

    async def count_tokens(self, text: str) -> int:
        """A careful over-estimate."""
        return len(text) // 3 + 1

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        """Do nothing: each call reads its own prompt."""

    async def aclose(self) -> None:
        """The process is closed by who started it."""


@contextlib.asynccontextmanager
async def parallel_model(
    name: str, *, slots: int, threads: int, context_tokens: int = 2560
) -> AsyncIterator[ParallelModel]:
    """Start the server of model `name` with `slots`, and end it."""
    with tempfile.TemporaryDirectory(prefix="rvp") as folder:
        process = await start_model_process(
            find_weights(name),
            Path(folder) / "m.sock",
            context_tokens=context_tokens,
            slots=slots,
            threads=threads,
            batch_tokens=BATCH_TOKENS,
            niceness=10,
            wire_bytes=_WIRE_BYTES,
        )
        try:
            yield ParallelModel(process, name, context_tokens)
        finally:
            await process.aclose()
