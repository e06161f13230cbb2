"""Chat models of an Ollama, through its own client, within our limits."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import httpx
import msgspec

from reveries.config import LimitSettings, OllamaSettings
from reveries.errors import ModelError, ModelFault, ModelMissingError, ModelUnavailableError
from reveries.llm.base import ChatMessage, Delta, Finished, FinishReason, Prompt, Role, StreamEvent, Usage
from reveries.llm.choose import is_remote_ollama_model, local_chat_models
from reveries.llm.faults import fault_of_status, fault_sentence, parse_usage, retry_after_seconds
from reveries.llm.limits import WIRE_BYTES_PER_TEXT_BYTE, limit_stream
from reveries.llm.ollama_client import find_ollama_address, ollama_client, ollama_transport
from reveries.llm.provider_rules import find_rules
from reveries.llm.schema_dialect import write_dialect
from reveries.llm.template_marks import ollama_messages
from reveries.llm.tier import billions_in
from reveries.llm.tokens import estimate_tokens
from reveries.llm.wire_faults import fault_of_wire
from reveries.redaction import redact

if TYPE_CHECKING:  # Imported where it is used: up to half a second, and not every provider needs it.
    import ollama

DEFAULTS = OllamaSettings(thinking=False, keep_alive_minutes=30.0, context_tokens=8192)
LIST_BYTES = 4 * 2**20
"""Enough for a list of ten thousand models."""

_CLIENT_ERRORS = (ValueError, TypeError, AttributeError, RecursionError)
"""Errors that Ollama's client raises for a line that it does not expect."""


@dataclass(frozen=True, slots=True)
class OllamaEntry:
    """A model that an Ollama has. `size_bytes` 0: unknown. `is_remote`: Ollama forwards its requests. `billions` of
    parameters, 0: unknown."""

    name: str
    size_bytes: int
    is_remote: bool = False
    billions: float = 0.0


async def find_ollama_models(url: str, timeout_seconds: float = 1.0) -> tuple[str, ...] | None:
    """Return the names of the models that the Ollama at `url` runs itself, newest first; None when it does not answer
    in time."""
    listed = await list_ollama(url, timeout_seconds)
    return None if listed is None else local_model_names(listed)


def local_model_names(listed: Sequence[OllamaEntry]) -> tuple[str, ...]:
    """Return the names of the models that the Ollama runs itself."""
    return tuple(model.name for model in listed if not model.is_remote)


async def list_ollama(url: str, timeout_seconds: float = 1.0) -> tuple[OllamaEntry, ...] | None:
    """Return the models of the Ollama at `url`, newest first; None when it does not answer in time.

    Asked without Ollama's client: each wake asks, most find none, and the client takes up to half a second to import
    and leaves out which models are remote.
    """
    client = httpx.AsyncClient(transport=ollama_transport(url, LIST_BYTES), trust_env=False, timeout=timeout_seconds)
    try:
        async with asyncio.timeout(timeout_seconds), client:
            answer = await client.get(f"{find_ollama_address(url)}/api/tags")
            listed = _listings.decode(answer.raise_for_status().content).models
    # TimeoutError is an OSError; ValueError: no JSON, no UTF-8, no address; RecursionError: brackets within brackets.
    except (OSError, httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError):
        return None
    handed_on = {entry.model for entry in listed if entry.model and (entry.remote_host or entry.remote_model)}
    return tuple(
        OllamaEntry(
            entry.model,
            max(0, int(entry.size)) if isinstance(entry.size, int | float) else 0,
            is_remote_ollama_model(entry.model, handed_on),
            billions_in(entry.details.parameter_size or "") if entry.details else 0.0,
        )
        for entry in listed
        if entry.model
    )


class _Details(msgspec.Struct):
    parameter_size: str | None = None


class _ListedModel(msgspec.Struct):
    """With a `remote_host` or a `remote_model` Ollama forwards its requests, whatever `ollama cp` named it."""

    model: str | None = None
    size: int | float | str | None = None
    details: _Details | None = None
    remote_host: str | None = None
    remote_model: str | None = None


class _Listing(msgspec.Struct):
    models: list[_ListedModel]


_listings = msgspec.json.Decoder(_Listing)


def billions_by_name(listed: Sequence[OllamaEntry]) -> dict[str, float]:
    """Return the parameters by the name of a model choice, in which ":latest" may be omitted."""
    by_choice = {f"ollama/{model.name.removesuffix(':latest')}": model.billions for model in listed}
    return by_choice | {f"ollama/{model.name}": model.billions for model in listed}


class OllamaModel:
    """The ChatModel port on a model of an Ollama; `model` empty: its first local one. Close it with `aclose`."""

    def __init__(self, model: str, url: str, limits: LimitSettings, settings: OllamaSettings = DEFAULTS) -> None:
        self._model = model
        self._url = url
        self._limits = limits
        self._settings = settings
        # Some models refuse a call with the thinking switch: it is omitted from then on.
        self._may_say_think = True
        # The client's default waits for ever; silence and total time are limited by `limit_stream`.
        self._client = ollama_client(url, limits.total_seconds, limits.reply_bytes * WIRE_BYTES_PER_TEXT_BYTE)

    @property
    def name(self) -> str:
        return f"ollama/{self._model or 'first'}"

    @property
    def tells_probabilities(self) -> bool:
        return False

    @property
    def context_tokens(self) -> int:
        return self._settings.context_tokens

    def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        """See ChatModel. Raises ModelMissingError for a model that this Ollama does not have."""
        return limit_stream(self._events(prompt), self._limits, self.name, prompt.max_tokens)

    async def count_tokens(self, text: str) -> int:
        return estimate_tokens(text)

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        """Do nothing: Ollama does not let a caller choose a slot."""

    async def aclose(self) -> None:
        await self._client.close()  # type: ignore[no-untyped-call]

    async def _events(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        import ollama

        try:
            has_reasoned = False
            async with contextlib.aclosing(self._answer(prompt)) as parts:
                async for part in parts:
                    has_reasoned = has_reasoned or bool(part.message.thinking)
                    if part.message.content:
                        yield Delta(part.message.content)
                    if part.done:
                        yield Finished(_finish_reason(part.done_reason), _usage_of_part(part), has_reasoned)
                        return
        except (ollama.ResponseError, httpx.HTTPError, OSError, *_CLIENT_ERRORS) as error:
            raise self._explain_error(error) from error

    async def _answer(self, prompt: Prompt) -> "AsyncGenerator[ollama.ChatResponse, None]":
        """Yield the parts of an answer; without the thinking switch when the model refuses it."""
        import ollama

        try:
            async with contextlib.aclosing(await self._parts(prompt)) as parts:
                async for part in parts:
                    yield part
                return
        except ollama.ResponseError as error:
            if not self._may_say_think or not _is_about_thinking(error):
                raise
            self._may_say_think = False
        async with contextlib.aclosing(await self._parts(prompt)) as parts:
            async for part in parts:
                yield part

    async def _parts(self, prompt: Prompt) -> "AsyncGenerator[ollama.ChatResponse, None]":
        options: dict[str, object] = {
            "temperature": prompt.temperature,
            "num_predict": prompt.max_tokens,
            "num_ctx": self._settings.context_tokens,
        }
        if prompt.stop:
            options["stop"] = list(prompt.stop)
        parts: AsyncIterator[ollama.ChatResponse] = await self._client.chat(
            model=self._model or await self._first(),
            messages=ollama_messages(prompt.messages),
            stream=True,
            think=self._settings.thinking if self._may_say_think else None,
            format=_format_of(prompt),
            options=options,
            keep_alive=f"{round(self._settings.keep_alive_minutes * 60)}s",
        )
        # The client returns a generator, and closing it closes the connection.
        return cast("AsyncGenerator[ollama.ChatResponse, None]", parts)

    async def _first(self) -> str:
        names = local_chat_models(await find_ollama_models(self._url))
        if not names:
            raise ModelMissingError(
                f"Ollama at {redact(self._url)} has no chat model of its own, or does not answer.",
                advice="Start it, and: ollama pull llama3.2",
            )
        return names[0]

    def _explain_error(self, error: Exception) -> ModelError:
        import ollama

        if isinstance(error, ollama.ResponseError) and error.status_code == httpx.codes.NOT_FOUND:
            return ModelMissingError(
                f"Ollama has no model called {self._model}.", advice=f"Fetch it: ollama pull {self._model}"
            )
        of_wire = fault_of_wire(error)
        if of_wire is ModelFault.UNREACHABLE:
            return ModelUnavailableError(
                f"No Ollama answers at {redact(self._url)}.",
                advice="Start it (ollama serve), or check llm.ollama_url.",
                fault=ModelFault.UNREACHABLE,
            )
        status = error.status_code if isinstance(error, ollama.ResponseError) and error.status_code > 0 else None
        fault = fault_of_status(status) if status is not None else of_wire or ModelFault.BROKEN
        # Only Ollama's own message; errors of our side would not help a person.
        message = error.error if isinstance(error, ollama.ResponseError) else ""
        return ModelUnavailableError(
            fault_sentence(self.name, fault, status, str(message)),
            advice="Ask again.",
            fault=fault,
            retry_after_seconds=retry_after_seconds(_retry_after(error), time.time()),
        )


def _format_of(prompt: Prompt) -> dict[str, object] | None:
    if prompt.schema is None:
        return None
    return write_dialect(prompt.schema, find_rules("ollama/")) or dict(prompt.schema)


def _retry_after(error: Exception) -> str | None:
    """Return the Retry-After header, which is only in the cause of the client's error."""
    cause = error.__context__
    return cause.response.headers.get("Retry-After") if isinstance(cause, httpx.HTTPStatusError) else None


def _is_about_thinking(error: "ollama.ResponseError") -> bool:
    """Whether the call was refused (400) because the model cannot think."""
    return error.status_code == httpx.codes.BAD_REQUEST and "think" in str(error.error).lower()


def _finish_reason(done_reason: str | None) -> FinishReason:
    return FinishReason.LENGTH if done_reason == "length" else FinishReason.STOP


def _usage_of_part(part: "ollama.ChatResponse") -> Usage | None:
    """Return the usage; None unless both counts are reported: unknown is not free."""
    return parse_usage(part.prompt_eval_count, part.eval_count)
