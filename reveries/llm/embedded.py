"""The local model: llama.cpp in a child process, started when needed, restarted after a crash, unloaded when idle.

A crash or a stall in native code costs one answer. The child has two slots, each with its own prompt cache: thinking
never evicts what was processed for the conversation.
"""

import asyncio
import contextlib
import math
import os
import shutil
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import msgspec

from reveries.clock import Clock
from reveries.config import EmbeddedSettings, LimitSettings
from reveries.errors import ModelUnavailableError
from reveries.llm.base import (
    PROJECT_ROLES,
    ChatMessage,
    Delta,
    Finished,
    FinishReason,
    Prompt,
    Role,
    StreamEvent,
    Usage,
)
from reveries.llm.limits import LINE_BYTES, WIRE_BYTES_PER_TEXT_BYTE, limit_stream
from reveries.llm.model_process import ModelProcess, start_model_process
from reveries.llm.provider_rules import find_rules
from reveries.llm.schema_dialect import write_dialect
from reveries.llm.template_marks import escape_marks, wire_messages


async def data_lines(chunks: AsyncIterable[bytes], line_bytes: int = LINE_BYTES) -> AsyncGenerator[bytes, None]:
    """Yield the payload of each `data:` line, independent of chunk boundaries; stop after `[DONE]`.

    Raises ModelUnavailableError for a line longer than `line_bytes`. Comments and other fields are skipped.
    """
    pending = b""
    async for chunk in chunks:
        *lines, pending = (pending + chunk).split(b"\n")
        for line in [*lines, pending]:
            if len(line) > line_bytes:
                raise ModelUnavailableError(
                    f"The model sent a line longer than {line_bytes} bytes.", advice="The call was stopped; ask again."
                )
        for line in lines:
            payload = _payload_of_line(line)
            if payload == b"[DONE]":
                return
            if payload:
                yield payload


def _payload_of_line(line: bytes) -> bytes:
    return line[5:].strip() if line.startswith(b"data:") else b""


SLOTS: Mapping[Role, int] = {
    Role.CONVERSATION: 0,
    **dict.fromkeys((Role.MONOLOGUE, Role.CONSOLIDATION, *PROJECT_ROLES), 1),
}
"""The slot of each role. Only the owner's words have one of their own."""

BATCH_TOKENS = 16
"""Prompt tokens processed between two checks whether the caller still waits.

Measured with the default model on 2 idle cores: tokens processed a second; milliseconds until a cancelled call has
freed its slot (median, worst). 4: 42; 35, 110. 8: 35; 70, 440. 12: 42; 310, 580. 16: 53; 320, 570. 32: 57; 730, 1,080.
512: 60; seconds. (The matrix kernels work on rows of 4 and of 16.) 4 stops soonest, but processes 300 new tokens in 7.1
s of the 8 s that a turn may wait; 16 needs 5.7 s. A call that generates stops within 100 ms with any.
"""

KEPT_SUFFIX = ".read"
KEPT_FREE_BYTES = 2**30
"""With less free space nothing is kept: a context of 8,192 tokens takes 230 MB."""
TOLD_PROBABILITIES = 12
"""Of the most probable first tokens, where they are asked for: all digits and a few more."""
REUSED_TOKENS = 16
"""Shortest part of a prompt whose cache is moved when what was before it has gone: a fold then costs no reading."""
MAX_THREADS = 8
MAX_RESTART_WAIT_SECONDS = 60.0
IDLE_LOOK_SECONDS = 60.0
TOKEN_COUNTS_KEPT = 4096
COUNT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class EmbeddedOptions:
    """The weights, their name, and the socket to listen on (`socket` ends in ".sock")."""

    name: str
    weights: Callable[[], Path]
    """Returns the path of the GGUF file; called before each load; raises ModelMissingError."""
    socket: Path
    settings: EmbeddedSettings
    limits: LimitSettings
    batch_tokens: int = BATCH_TOKENS
    kept: Path | None = None
    """The file that keeps what was read for the conversation while the model is not loaded; None: it is read again."""


class EmbeddedModel:
    """The ChatModel port on a local GGUF file. Close it with `aclose`; run `watch_idle` in a task group to unload
    it."""

    def __init__(self, options: EmbeddedOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._process: ModelProcess | None = None
        self._ending: ModelProcess | None = None
        """A process that was unloaded and has perhaps not ended yet, because that was interrupted."""
        self._starting = asyncio.Lock()
        self._failures = 0
        self._may_start_at = 0.0
        self._calls = 0
        self._generating: Counter[Role] = Counter()
        self._last_used_at = clock.monotonic()
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._is_closed = False
        self._conversation_calls = 0
        self._whole_after_call = -1
        """The call of a conversation after which its slot had what was read ahead, and nothing else (no turn off the
        record)."""
        self._forgettings = self._forgettings_done = 0
        """How often something of what was read had to be forgotten, and up to which one the slot has been read anew."""

    @property
    def name(self) -> str:
        return f"embedded/{self._options.name}"

    @property
    def tells_probabilities(self) -> bool:
        return True

    @property
    def context_tokens(self) -> int:
        return self._options.settings.context_tokens

    @property
    def kept_file(self) -> Path | None:
        """Where it keeps what it read for the conversation while it is not loaded."""
        return self._options.kept

    @property
    def is_loaded(self) -> bool:
        """Whether its process is running."""
        return self._process is not None and self._process.is_running

    @property
    def pid(self) -> int | None:
        """Process id of the child, while it runs."""
        return self._process.pid if self._process is not None and self._process.is_running else None

    def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        """See ChatModel. Loads the model first if needed; that time counts as waiting for the first token."""
        return limit_stream(self._generate(prompt), self._options.limits, self.name)

    async def count_tokens(self, text: str) -> int:
        """Count with the model's own tokenizer, loading it if needed. Raises ModelUnavailableError."""
        if text in self._counts:
            self._counts.move_to_end(text)
            return self._counts[text]
        async with self._open_call() as process, asyncio.timeout(COUNT_SECONDS):
            response = await process.client.post("/tokenize", json={"content": escape_marks(text)})
            count = len(msgspec.json.decode(response.content, type=_Tokens).tokens)
        self._counts[text] = count
        if len(self._counts) > TOKEN_COUNTS_KEPT:
            self._counts.popitem(last=False)
        return count

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        """Process `messages` into the role's slot without generating text. Raises ModelUnavailableError."""
        prompt, calls_before = Prompt(role=role, messages=tuple(messages), max_tokens=0), self._conversation_calls
        async with contextlib.aclosing(self.stream(prompt)) as events:
            async for _ in events:
                pass
        if role is Role.CONVERSATION and self._conversation_calls == calls_before + 1:
            self._whole_after_call = self._conversation_calls

    @property
    def _reads_anew(self) -> bool:
        """Whether something of what was read must be forgotten."""
        return self._forgettings > self._forgettings_done

    def forget_read(self, *, is_only_end: bool = False) -> None:
        """Forget what was read for the conversation, because something of it is erased. Raises OSError.

        With `is_only_end`, what comes before stays: the next prompt overwrites the end.
        """
        self._whole_after_call = -1
        self._forgettings += not is_only_end
        if self._options.kept is not None:
            self._options.kept.unlink(missing_ok=True)

    async def watch_idle(self) -> None:
        """Unload the model after `unload_after_idle_minutes` without a call. Runs until cancelled."""
        while True:
            await self._clock.sleep(IDLE_LOOK_SECONDS)
            idle_seconds = self._clock.monotonic() - self._last_used_at
            if not self._calls and idle_seconds >= self._options.settings.unload_after_idle_minutes * 60:
                await self.unload()

    async def unload(self) -> None:
        """Release the model's memory. The next call loads it again."""
        async with self._starting:
            if self._process is not None:
                await self._keep_read(self._process)
                self._ending, self._process = self._process, None
            await self._end_process()

    async def _keep_read(self, process: ModelProcess) -> None:
        """Save what was read ahead, so that the next start need not read it again."""
        kept, is_whole = self._options.kept, self._whole_after_call == self._conversation_calls
        if kept is None or not is_whole or not process.is_running or self._calls:
            return
        if shutil.disk_usage(kept.parent).free < KEPT_FREE_BYTES:
            return
        is_saved = await process.save_slot(SLOTS[Role.CONVERSATION], kept.name)
        was_forgotten, self._whole_after_call = self._whole_after_call < 0, -1
        if not is_saved or was_forgotten:
            kept.unlink(missing_ok=True)

    async def aclose(self) -> None:
        self._is_closed = True
        await self.unload()

    async def _generate(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        async with self._open_call() as process:
            # What is forgotten while it answers has been read by then.
            forgettings = self._forgettings
            with self._cores_for(process, prompt.role):
                request = process.client.stream("POST", "/v1/chat/completions", json=self._wire(prompt))
                async with request as response:
                    if response.status_code != httpx.codes.OK:
                        raise _refusal_error(self.name, await response.aread())
                    async with (
                        contextlib.aclosing(data_lines(response.aiter_bytes())) as lines,
                        contextlib.aclosing(_read_events(lines, self.name)) as events,
                    ):
                        async for event in events:
                            # Before it is passed on: whoever has the last event reads no further.
                            if isinstance(event, Finished):
                                self._failures = 0
                                if _reads_for_conversation(prompt):
                                    self._forgettings_done = forgettings
                            yield event

    def _wire(self, prompt: Prompt) -> dict[str, object]:
        if not _reads_for_conversation(prompt):
            return _request_json(prompt)
        self._conversation_calls += 1
        # What is left of a cache that was moved knows what was before it: not after something was forgotten.
        return _request_json(prompt) | {
            "cache_prompt": not self._reads_anew,
            "n_cache_reuse": 0 if self._reads_anew else REUSED_TOKENS,
        }

    @contextlib.contextmanager
    def _cores_for(self, process: ModelProcess, role: Role) -> Iterator[None]:
        """Use all cores while the owner waits for an answer, half of them for background work."""
        self._generating[role] += 1
        process.use_cores(is_awaited=self._generating[Role.CONVERSATION] > 0)
        try:
            yield
        finally:
            self._generating[role] -= 1
            process.use_cores(is_awaited=self._generating[Role.CONVERSATION] > 0)

    @contextlib.asynccontextmanager
    async def _open_call(self) -> AsyncGenerator[ModelProcess, None]:
        """Provide the running process for one request; its failures become ModelUnavailableError."""
        self._calls += 1
        try:
            process = await self._running_process()
            yield process
        except httpx.HTTPError as error:
            raise await self._lost(process, error) from error
        except (msgspec.MsgspecError, TimeoutError) as error:
            raise ModelUnavailableError(
                f"{self.name} sent an unreadable answer: {error}.", advice="Ask again."
            ) from error
        finally:
            self._calls -= 1
            self._last_used_at = self._clock.monotonic()

    async def _running_process(self) -> ModelProcess:
        async with self._starting:
            if self._is_closed:
                raise ModelUnavailableError(f"{self.name} has been closed.", advice="Wake the mind: reveries wake")
            await self._end_process()
            if self._process is not None and not self._process.is_running:
                await self._discard_process(self._process)
            if self._process is None:
                self._refuse_while_backing_off()
                self._process = await self._start_process()
            return self._process

    async def _start_process(self) -> ModelProcess:
        options, kept = self._options, self._options.kept
        weights = options.weights()
        try:
            process = await start_model_process(
                weights,
                options.socket,
                context_tokens=options.settings.context_tokens,
                slots=len(set(SLOTS.values())),
                threads=options.settings.threads or suitable_threads(os.cpu_count() or 1),
                batch_tokens=options.batch_tokens,
                niceness=options.settings.niceness,
                wire_bytes=options.limits.reply_bytes * WIRE_BYTES_PER_TEXT_BYTE,
                kept_folder=str(kept.parent) if kept is not None else "",
            )
        except ModelUnavailableError:
            self._back_off()
            raise
        try:
            if kept is not None and kept.exists():
                await process.restore_slot(SLOTS[Role.CONVERSATION], kept.name)
                kept.unlink(missing_ok=True)
        except BaseException:  # The owner may stop a reply meanwhile: a process that nobody knows keeps its gigabytes.
            await process.aclose()
            raise
        return process

    async def _lost(self, process: ModelProcess, error: httpx.HTTPError) -> ModelUnavailableError:
        if await process.has_ended(within_seconds=1.0) and self._process is process:
            async with self._starting:
                if self._process is process:
                    await self._discard_process(process)
        detail = "its process ended" if not process.is_running else str(error) or type(error).__name__
        return ModelUnavailableError(
            f"{self.name} stopped while it was answering: {detail}.", advice="It starts again with the next call."
        )

    async def _end_process(self) -> None:
        """End what was unloaded. Call it with the lock held."""
        if self._ending is not None:
            await self._ending.aclose()
            self._ending = None

    async def _discard_process(self, process: ModelProcess) -> None:
        """Forget a process that died by itself. Call it with the lock held."""
        self._process = None
        self._back_off()
        await process.aclose()

    def _back_off(self) -> None:
        """Restart at once the first time; from the second failure in a row on, wait twice as long each time."""
        self._failures += 1
        wait = 0.0 if self._failures == 1 else min(2.0 ** (self._failures - 1), MAX_RESTART_WAIT_SECONDS)
        self._may_start_at = self._clock.monotonic() + wait

    def _refuse_while_backing_off(self) -> None:
        wait_seconds = self._may_start_at - self._clock.monotonic()
        if self._failures and wait_seconds > 0:
            raise ModelUnavailableError(
                f"{self.name} failed {self._failures} times in a row; it is tried again in {wait_seconds:.0f} seconds.",
                advice="If it keeps failing, choose a smaller model: reveries models",
            )


def suitable_threads(cores: int) -> int:
    """Return the threads for `cores` processors: all of a small machine (the child is niced), all but one of a larger
    one."""
    return max(1, min(cores if cores <= 2 else cores - 1, MAX_THREADS))


class _Tokens(msgspec.Struct, frozen=True):
    tokens: list[int]


class _TextDelta(msgspec.Struct, frozen=True):
    content: str | None = None
    reasoning_content: str | None = None


class _TokenProbability(msgspec.Struct, frozen=True):
    token: str
    logprob: float


class _TokenChoice(msgspec.Struct, frozen=True):
    top_logprobs: list[_TokenProbability] = []


class _TokenProbabilities(msgspec.Struct, frozen=True):
    content: list[_TokenChoice] = []


class _Choice(msgspec.Struct, frozen=True):
    delta: _TextDelta = _TextDelta()
    logprobs: _TokenProbabilities | None = None
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct, frozen=True):
    cached_tokens: int = 0


class _WireUsage(msgspec.Struct, frozen=True):
    prompt_tokens: int
    completion_tokens: int
    prompt_tokens_details: _PromptDetails | None = None


class _WireError(msgspec.Struct, frozen=True):
    message: str = ""


class _Chunk(msgspec.Struct, frozen=True):
    choices: list[_Choice] = []
    usage: _WireUsage | None = None
    error: _WireError | None = None


def _reads_for_conversation(prompt: Prompt) -> bool:
    return prompt.role is Role.CONVERSATION and not prompt.is_aside


def _request_json(prompt: Prompt) -> dict[str, object]:
    request: dict[str, object] = {
        "messages": wire_messages(prompt.messages),
        "id_slot": SLOTS[Role.MONOLOGUE if prompt.is_aside else prompt.role],
        "cache_prompt": True,
        "max_tokens": prompt.max_tokens,
        "temperature": prompt.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
        # Progress after each batch: the server then notices a closed connection within one batch, not one second.
        "return_progress": True,
        # Newer models think before they answer unless their template is told not to; other templates ignore it.
        "chat_template_kwargs": {"enable_thinking": False},
    }
    if prompt.is_aside:
        request |= {"logprobs": True, "top_logprobs": TOLD_PROBABILITIES}
    if prompt.stop:
        request["stop"] = list(prompt.stop)
    if prompt.schema is not None:
        written = write_dialect(prompt.schema, find_rules("embedded/")) or prompt.schema
        request["response_format"] = {"type": "json_schema", "json_schema": {"schema": written}}
    return request


async def _read_events(lines: AsyncGenerator[bytes, None], model: str) -> AsyncGenerator[StreamEvent, None]:
    """Yield the port's events; Finished only after the model's end mark."""
    reason: FinishReason | None = None
    usage: Usage | None = None
    has_reasoned = False
    first_token: Mapping[str, float] | None = None
    async for line in lines:
        chunk = msgspec.json.decode(line, type=_Chunk)
        if chunk.error is not None:
            raise ModelUnavailableError(f"{model} failed: {chunk.error.message}.", advice="Ask again.")
        for choice in chunk.choices:
            has_reasoned = has_reasoned or bool(choice.delta.reasoning_content)
            if choice.delta.content:
                yield Delta(choice.delta.content)
            if first_token is None and choice.logprobs is not None and choice.logprobs.content:
                alternatives = choice.logprobs.content[0].top_logprobs
                first_token = {
                    alternative.token.strip(): math.exp(min(0.0, alternative.logprob)) for alternative in alternatives
                }
            if choice.finish_reason:
                reason = FinishReason.LENGTH if choice.finish_reason == "length" else FinishReason.STOP
        if chunk.usage is not None:
            usage = _usage_of_wire(chunk.usage)
    if reason is not None:
        yield Finished(reason, usage, has_reasoned, first_token)


def _usage_of_wire(wire: _WireUsage) -> Usage:
    cached = wire.prompt_tokens_details.cached_tokens if wire.prompt_tokens_details else 0
    return Usage(wire.prompt_tokens, wire.completion_tokens, cached)


def _refusal_error(model: str, body: bytes) -> ModelUnavailableError:
    """Return the error for a request that the server rejected, e.g. one longer than the context."""
    try:
        error = msgspec.json.decode(body, type=_Chunk).error
    except msgspec.MsgspecError:
        error = None
    detail = error.message if error is not None else "no reason given"
    return ModelUnavailableError(f"{model} refused the call: {detail}.", advice="The next call may be shorter.")
