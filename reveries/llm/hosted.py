"""Hosted models, through litellm: an optional extra, imported only when the first call is made.

Retries happen in one layer only (`role_model`), neither here nor in litellm.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

import httpx
import msgspec
import structlog

from reveries.config import LimitSettings, ReasoningEffort
from reveries.errors import ModelError, ModelFault, ModelMissingError, ModelUnavailableError, StorageError
from reveries.llm.base import ChatMessage, Delta, Finished, FinishReason, Prompt, Role, StreamEvent, Usage
from reveries.llm.endpoints import Endpoint, wire_address
from reveries.llm.faults import fault_of_status, fault_sentence, parse_usage, retry_after_seconds
from reveries.llm.hosted_import import clear_library_environment, import_litellm
from reveries.llm.hosted_request import CallForm, request_arguments
from reveries.llm.limits import limit_stream
from reveries.llm.provider_rules import find_rules
from reveries.llm.reasoning import TOKENS_PER_SECOND
from reveries.llm.tokens import estimate_tokens
from reveries.llm.wire_faults import causes_of, fault_of_wire

CONTEXT_TOKENS = 16384
"""The longest prompt we send, whatever the model accepts: every token is paid for at every turn."""

KEY_ADVICE = "Check llm.api_key_file, REVERIES_API_KEY, or the variable of its provider."
_OFFLINE_ADVICE = (
    "Is this machine online? Without a network a local model answers, from the next wake on: "
    "reveries config set llm.provider embedded"
)

log = structlog.get_logger("models")


class LiteLlm(Protocol):
    """What we use of the litellm module."""

    async def acompletion(self, **options: object) -> object:
        """Return a stream of chunks: an async iterator."""
        ...


Loader = Callable[[], Awaitable[LiteLlm]]


async def load_litellm() -> LiteLlm:
    """Import litellm in a thread. Raises ModelUnavailableError when the extra is not installed."""
    # Here and not in the thread: starting a process on the loop copies the environment meanwhile.
    clear_library_environment()
    try:
        return await asyncio.to_thread(import_litellm)
    except ImportError as error:
        raise ModelUnavailableError(
            "Hosted models need the extra `hosted`, which is not installed.",
            advice="Install it, in the folder that you installed Reveries from: make hosted",
        ) from error


@dataclass(frozen=True, slots=True)
class HostedOptions:
    """Model ("provider/name"), key and address (`base_url` empty: the provider's own)."""

    name: str
    api_key: str
    base_url: str
    limits: LimitSettings
    context_tokens: int = CONTEXT_TOKENS
    effort_of: Callable[[Role], ReasoningEffort] = lambda _: "auto"


class RefusalNotes(Protocol):
    """The models that refused a JSON schema, kept across restarts."""

    def has(self, model: str) -> bool:
        """Whether `model` refused one."""
        ...

    async def note(self, model: str) -> None:
        """Remember that `model` refused one."""
        ...


class RefusalsOfThisRun:
    """The RefusalNotes port without a database."""

    def __init__(self) -> None:
        self._models: set[str] = set()

    def has(self, model: str) -> bool:
        return model in self._models

    async def note(self, model: str) -> None:
        self._models.add(model)


class HostedModel:
    """The ChatModel port on a hosted provider."""

    def __init__(
        self, options: HostedOptions, load: Loader = load_litellm, refusals: RefusalNotes | None = None
    ) -> None:
        self._options = options
        self._load = load
        self._rules = find_rules(options.name, options.base_url)
        self._refusals = refusals or RefusalsOfThisRun()
        self._has_reasoned = False

    @property
    def name(self) -> str:
        return self._options.name

    @property
    def tells_probabilities(self) -> bool:
        return False

    @property
    def context_tokens(self) -> int:
        return self._options.context_tokens

    async def preload(self) -> None:
        """Import what a call needs, so that the first call does not wait for it. Raises ModelUnavailableError."""
        require_key(self.name, self._options.base_url, self._options.api_key)
        await self._load_in_time()

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        """See ChatModel. The prompt leaves the machine."""
        require_key(self.name, self._options.base_url, self._options.api_key)
        module = await self._load_in_time()
        allowance = self._form(prompt).allowance_tokens
        limits = _patient_limits(self._options.limits, allowance)
        events = limit_stream(self._events(module, prompt), limits, self.name, prompt.max_tokens + allowance)
        async with contextlib.aclosing(events):
            async for event in events:
                yield event

    def reasoning_tokens(self, role: Role) -> int:
        """Return the tokens that a call of `role` may use for reasoning, besides the answer."""
        return self._form_for(role).allowance_tokens

    async def count_tokens(self, text: str) -> int:
        return estimate_tokens(text)

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        """Do nothing: it would cost money."""

    async def aclose(self) -> None:
        """Do nothing: litellm keeps its clients for the life of the process."""

    async def _load_in_time(self) -> LiteLlm:
        # Before the provider's limits begin: on a busy machine the import alone may take longer than a provider may be
        # silent.
        seconds = self._options.limits.total_seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._load()
        except TimeoutError as error:
            raise ModelUnavailableError(
                f"The library litellm was not loaded after {seconds:g} seconds.",
                advice="Is this machine very busy? Try again.",
                fault=ModelFault.TIMED_OUT,
            ) from error

    async def _events(self, module: LiteLlm, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        reason: FinishReason | None = None
        usage: Usage | None = None
        has_begun = has_reasoned = False
        try:
            chunks = await self._begin(module, prompt)
            async with _closing_stream(chunks):
                async for chunk in chunks:
                    text, ended = _read_choice(chunk)
                    reason = ended or reason
                    usage = _usage_of_chunk(chunk) or usage
                    has_reasoned = has_reasoned or _is_reasoning(chunk)
                    if text:
                        has_begun = True
                        yield Delta(text)
        except StorageError:  # Of ours: that the model refused a schema could not be stored.
            raise
        except Exception as error:  # A boundary: litellm's errors share no base but this one
            raise self._explain_error(error, has_begun=has_begun or has_reasoned) from error
        has_reasoned = has_reasoned or bool(usage and usage.reasoning_tokens)
        self._has_reasoned = self._has_reasoned or has_reasoned
        if reason is not None and _was_ended(chunks):
            yield Finished(reason, usage if _was_counted(chunks) else None, has_reasoned)

    async def _begin(self, module: LiteLlm, prompt: Prompt) -> AsyncIterator[object]:
        """Send the call; once more without its schema, if it is refused: then the prompt tells the form."""
        form = self._form(prompt)
        request = self._request(prompt, form)
        try:
            return cast("AsyncIterator[object]", await module.acompletion(**request))
        except Exception as error:
            if "response_format" not in request or fault_of(error) is not ModelFault.BAD_REQUEST:
                raise
        arguments = self._request(prompt, replace(form, takes_schemas=False))
        chunks = cast("AsyncIterator[object]", await module.acompletion(**arguments))
        log.warning("provider.schema_refused", model=self.name)
        try:
            await self._refusals.note(self.name)
        except StorageError:
            async with _closing_stream(chunks):
                raise
        return chunks

    def _form(self, prompt: Prompt) -> CallForm:
        return replace(self._form_for(prompt.role), reserved_tokens=prompt.reasoning_tokens)

    def _form_for(self, role: Role) -> CallForm:
        takes_schemas = not self._refusals.has(self.name)
        return CallForm(self._rules, self._options.effort_of(role), takes_schemas, self._has_reasoned)

    def _request(self, prompt: Prompt, form: CallForm) -> dict[str, object]:
        options = self._options
        return {
            "model": options.name,
            "stream": True,
            "stream_options": {"include_usage": True},
            "timeout": options.limits.total_seconds,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,
            **wire_address(options.name, Endpoint(options.base_url, options.api_key)),
            **request_arguments(prompt, form),
        }

    def _explain_error(self, error: Exception, *, has_begun: bool) -> ModelError:
        """Return `error` as an error of ours, without the key, which providers tend to repeat."""
        message = str(error)
        if self._options.api_key:
            message = message.replace(self._options.api_key, "***")
        status, fault = status_of(error), fault_of(error)
        if has_begun and fault is not ModelFault.TIMED_OUT:
            # Tokens were generated, so this is no refusal, whatever its status.
            status, fault = None, ModelFault.BROKEN
        if status == 401:
            return ModelUnavailableError(f"{self.name} refused the key.", advice=KEY_ADVICE, fault=fault)
        if status == 402:
            return ModelUnavailableError(
                f"{self.name} requires payment (402).", advice="Check your account there.", fault=fault
            )
        if status == 404:
            return ModelMissingError(
                f"There is no model {self.name}.", advice="Check its name in llm.conversation_model."
            )
        if status == 429:
            return ModelUnavailableError(
                f"{self.name} refused the call: too many calls in a short time (429).",
                advice="Wait a little, then try again.",
                fault=fault,
                retry_after_seconds=retry_after_seconds(retry_after(error), time.time()),
            )
        return ModelUnavailableError(
            fault_sentence(self.name, fault, status, message),
            advice=self._ask_again_advice(fault),
            fault=fault,
            retry_after_seconds=retry_after_seconds(retry_after(error), time.time()),
        )

    def _ask_again_advice(self, fault: ModelFault) -> str:
        # A custom address may be on this machine.
        is_offline = fault is ModelFault.UNREACHABLE and not self._options.base_url
        return _OFFLINE_ADVICE if is_offline else "Try again, or check its status page."


def require_key(name: str, base_url: str, api_key: str) -> None:
    """Raise ModelUnavailableError, before sending anything, where the provider needs a key and there is none.

    A custom address may need none.
    """
    if not api_key and not base_url:
        raise ModelUnavailableError(
            f"There is no key for {name}, so it is not called.", advice=KEY_ADVICE, fault=ModelFault.KEY_REFUSED
        )


def fault_of(error: Exception) -> ModelFault:
    """Return the fault by its cause: litellm gives a failed connection an invented status (500)."""
    fault = fault_of_wire(error)
    if fault is not None:
        return fault
    status = status_of(error)
    return fault_of_status(status) if status is not None else ModelFault.BROKEN


def status_of(error: Exception) -> int | None:
    """Return the HTTP status of a real answer; None where litellm invented one for a broken connection."""
    status = getattr(error, "status_code", None)
    is_of_connection = any(isinstance(cause, httpx.TransportError | ConnectionError) for cause in causes_of(error))
    return status if isinstance(status, int) and not is_of_connection else None


def retry_after(error: Exception) -> str | None:
    """Return the Retry-After header, wherever litellm keeps it for this kind of error."""
    for holder in (getattr(error, "response", None), error):
        headers = getattr(holder, "headers", None) or getattr(holder, "litellm_response_headers", None)
        value = headers.get("retry-after") if headers is not None and hasattr(headers, "get") else None
        if value:
            return str(value)
    return None


@contextlib.asynccontextmanager
async def _closing_stream(chunks: AsyncIterator[object]) -> AsyncGenerator[None, None]:
    """Close the stream, and with it the connection, on every exit."""
    try:
        yield
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


def _read_choice(chunk: object) -> tuple[str, FinishReason | None]:
    """Return the next piece of text, and the finish reason if it is the last. Only the first choice is read."""
    choices = [choice for choice in getattr(chunk, "choices", None) or () if not getattr(choice, "index", 0)]
    if not choices:
        return "", None
    text = _text_of_content(getattr(getattr(choices[0], "delta", None), "content", None))
    ended = getattr(choices[0], "finish_reason", None)
    if not ended:
        return text, None
    return text, FinishReason.LENGTH if ended == "length" else FinishReason.STOP


def _text_of_content(content: object) -> str:
    """Return the text; some providers send a list of parts, in which reasoning has another type."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "".join(str(part.get("text", "")) for part in parts)


def _is_reasoning(chunk: object) -> bool:
    deltas = [getattr(choice, "delta", None) for choice in getattr(chunk, "choices", None) or ()]
    return any(getattr(delta, "reasoning_content", None) or isinstance(getattr(delta, "content", None), list)
               for delta in deltas)  # fmt: skip


def _patient_limits(limits: LimitSettings, reasoning_tokens: int) -> LimitSettings:
    """Return `limits` with the time that hidden reasoning takes before the first word, within the time of a call."""
    seconds = limits.first_token_seconds + reasoning_tokens / TOKENS_PER_SECOND
    longest = max(limits.first_token_seconds, limits.total_seconds)
    return msgspec.structs.replace(limits, first_token_seconds=min(seconds, longest))


def _was_ended(chunks: object) -> bool:
    """Whether the provider sent the end mark: litellm invents one for a stream that broke off."""
    return getattr(chunks, "received_finish_reason", "unknown") is not None


def _was_counted(chunks: object) -> bool:
    """Whether the provider reported usage: litellm otherwise estimates it from the texts."""
    received = getattr(chunks, "chunks", None)
    return not isinstance(received, list) or any(getattr(chunk, "usage", None) is not None for chunk in received)


def _usage_of_chunk(chunk: object) -> Usage | None:
    wire = getattr(chunk, "usage", None)
    cached = getattr(getattr(wire, "prompt_tokens_details", None), "cached_tokens", None)
    reasoning = getattr(getattr(wire, "completion_tokens_details", None), "reasoning_tokens", None)
    prompt, completion, total = (getattr(wire, f"{name}_tokens", None) for name in ("prompt", "completion", "total"))
    return parse_usage(prompt, completion, cached, reasoning, total)
