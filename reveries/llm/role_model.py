"""A role's model: the one that the settings name, and its fallbacks in order.

The only layer that retries. The owner's own turn is tried three times within a few seconds, a thought or a sleep once:
the circuit says when to try again. Once a word was shown nothing is retried, so no reply begins twice.
"""

import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace

import structlog

from reveries.clock import Clock
from reveries.errors import ModelError, ModelFault, ModelUnavailableError
from reveries.llm.base import ChatMessage, ChatModel, Delta, Finished, Prompt, Role, StreamEvent
from reveries.llm.circuit import Failure
from reveries.llm.circuits import Circuits
from reveries.llm.faults import is_worth_another_try
from reveries.llm.image_tokens import count_message
from reveries.llm.tokens import template_tokens

log = structlog.get_logger("models")

CONVERSATION_TRIES = 3
LONGEST_WAIT_IN_A_TURN_SECONDS = 5.0
"""A person is waiting: a provider that asks for a longer pause is skipped."""

_BETWEEN_TRIES_SECONDS = (0.3, 1.0)


@dataclass(frozen=True, slots=True)
class ModelCandidate:
    """One model that a role may use. `provider` names its circuit."""

    provider: str
    model: ChatModel


class RoleModel:
    """The ChatModel port over a role's candidates, best first. Closing it closes none of them."""

    def __init__(self, candidates: Sequence[ModelCandidate], circuits: Circuits, clock: Clock) -> None:
        self._candidates = tuple(candidates)
        self._circuits = circuits
        self._clock = clock
        self._serving = self._candidates[0]

    @property
    def name(self) -> str:
        """The model that answered last, or would answer first."""
        return self._serving.model.name

    @property
    def candidates(self) -> tuple[ModelCandidate, ...]:
        return self._candidates

    @property
    def tells_probabilities(self) -> bool:
        return self._serving.model.tells_probabilities

    @property
    def context_tokens(self) -> int:
        return self._serving.model.context_tokens

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        """See ChatModel. Raises the first candidate's error when all fail.

        `retry_after_seconds` of a ModelUnavailableError says when `prompt.role` may try again.
        """
        errors: list[ModelError] = []
        serving = self._serving
        for candidate in self._candidates:
            call = _Call(candidate, prompt, self._circuits, self._clock, is_prompt_for_model=candidate is serving)
            try:
                async with contextlib.aclosing(call.events()) as events:
                    async for event in events:
                        self._serving = candidate
                        yield event
                return
            except ModelError as error:
                if call.has_spoken:
                    raise
                errors.append(error)
                log.info("model.skipped", model=candidate.model.name, why=error.code)
        raise self._set_retry_time(errors, prompt.role)

    async def count_tokens(self, text: str) -> int:
        return await self._serving.model.count_tokens(text)

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        if not self._circuits.wait_seconds(self._serving.provider, role):
            await self._serving.model.read_ahead(messages, role)

    async def aclose(self) -> None:
        """Do nothing: the candidates are owned elsewhere."""

    def _set_retry_time(self, errors: Sequence[ModelError], role: Role) -> ModelError:
        first = errors[0]
        circuits = self._circuits
        providers = [candidate.provider for candidate in self._candidates]
        failing = [provider for provider in providers if not circuits.find_blocking(provider, role).is_healthy]
        if isinstance(first, ModelUnavailableError) and failing:
            first.retry_after_seconds = min(circuits.wait_seconds(provider, role) for provider in failing)
        return first


class _Call:
    """One call to one candidate."""

    def __init__(
        self, candidate: ModelCandidate, prompt: Prompt, circuits: Circuits, clock: Clock, *, is_prompt_for_model: bool
    ) -> None:
        self._candidate = candidate
        self._is_prompt_for_model = is_prompt_for_model
        self._prompt = prompt
        self._circuits = circuits
        self._clock = clock
        self.has_spoken = False

    async def events(self) -> AsyncGenerator[StreamEvent, None]:
        """Yield the answer. Raises ModelError after the last try."""
        prompt = (
            self._prompt if self._is_prompt_for_model else await _shorten_prompt(self._prompt, self._candidate.model)
        )
        was_open = self._circuits.get(self._candidate.provider).is_open
        tries = CONVERSATION_TRIES if prompt.role is Role.CONVERSATION and not was_open else 1
        for number in range(tries):
            await self._wait_or_refuse()
            try:
                async with contextlib.aclosing(self._candidate.model.stream(prompt)) as stream:
                    async for event in stream:
                        self.has_spoken = self.has_spoken or isinstance(event, Delta)
                        if isinstance(event, Finished):
                            # Before the yield: a caller that has the end mark does not resume this generator.
                            await self._circuits.record_answer(self._candidate.provider, prompt.role)
                        yield event
            except ModelUnavailableError as error:
                await self._note_failure(error)
                if self.has_spoken or number + 1 == tries or not is_worth_another_try(error):
                    raise
                await self._clock.sleep(_BETWEEN_TRIES_SECONDS[number])
            else:
                return

    async def _wait_or_refuse(self) -> None:
        """Raise the last error, without a call, when it is too early to try again."""
        provider, role = self._candidate.provider, self._prompt.role
        wait = self._circuits.wait_seconds(provider, role)
        if not wait:
            return
        circuit = self._circuits.find_blocking(provider, role)
        if role is not Role.CONVERSATION or wait > LONGEST_WAIT_IN_A_TURN_SECONDS or circuit.is_open:
            raise ModelUnavailableError(
                circuit.last_error or f"{provider} is not asked yet.",
                fault=circuit.last_fault or ModelFault.UNREACHABLE,
                retry_after_seconds=wait,
            )
        await self._clock.sleep(wait)

    async def _note_failure(self, error: ModelUnavailableError) -> None:
        failure = Failure(error.fault, str(error), error.retry_after_seconds)
        await self._circuits.record_failure(self._candidate.provider, failure, self._prompt.role)


async def _shorten_prompt(prompt: Prompt, model: ChatModel) -> Prompt:
    """Return `prompt` without the oldest history messages that do not fit into `model`'s context.

    The first message (the rules) and the last stay. The answer gets at most half of that context.
    """
    prompt = replace(prompt, max_tokens=min(prompt.max_tokens, model.context_tokens // 2))
    room = model.context_tokens - prompt.max_tokens
    messages = list(prompt.messages)
    sizes = [await count_message(model, message) for message in messages]
    while len(messages) > 2 and sum(sizes) + template_tokens(messages) > room:
        # In pairs, so that the history still begins with a user message.
        del messages[1:3], sizes[1:3]
    return replace(prompt, messages=tuple(messages)) if len(messages) < len(prompt.messages) else prompt
