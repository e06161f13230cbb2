"""`reveries models test`: one question to the model of each role, charged like every call, and timed.

It goes through the ledger but not through the circuit breaker, so that the result is the provider's current answer, and
not an earlier failure or a fallback's speed. An answer closes the circuit.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from reveries import protocol
from reveries.clock import Clock
from reveries.errors import ModelAnswerError, ModelError, NotFoundError, ReveriesError, StorageError
from reveries.llm.base import (
    CHAT_ROLES,
    MODEL_ROLES,
    ChatMessage,
    ChatModel,
    Delta,
    Embedder,
    Prompt,
    Role,
    StreamEvent,
    Usage,
)
from reveries.llm.budget import Ledger
from reveries.llm.caps import Span
from reveries.llm.circuits import Circuits
from reveries.llm.image_tokens import count_message
from reveries.llm.metered import MeteredModel, was_not_billed
from reveries.llm.prices import Price, price_of
from reveries.llm.role_model import ModelCandidate
from reveries.llm.structured import AnswerOutcome, AnswerRecorder, ask_structured, schema_of
from reveries.llm.tokens import template_tokens
from reveries.prompts import prompt

PROBE_SECONDS = 240.0
"""Time limit per role, with loading: a gigabyte from a slow disk, then a minute of words on a slow machine."""

ANSWER_TOKENS = 160
_MICRODOLLARS = 1_000_000


class ProbeAnswer(msgspec.Struct, frozen=True):
    """What the probe asks for."""

    thing: Annotated[str, msgspec.Meta(max_length=40)]
    colours: Annotated[list[Annotated[str, msgspec.Meta(max_length=20)]], msgspec.Meta(max_length=3)]
    seen_per_hour: int
    sentence: Annotated[str, msgspec.Meta(max_length=200)]


@dataclass(frozen=True, slots=True)
class Prober:
    """Tests models. `tell` gets the current role, how many are done, and the total."""

    chat: Mapping[Role, ModelCandidate]
    """The first model of each role, behind the ledger."""
    embedder: Embedder
    ledger: Ledger
    circuits: Circuits
    recorder: AnswerRecorder
    clock: Clock
    tell: Callable[[str, int, int], None]

    async def probe(self, role: str = "") -> list[protocol.ModelProbe]:
        """Probe all roles, or `role`. A failing model is a result. Raises NotFoundError, StorageError."""
        roles = select_roles(role)
        probes = []
        for done, probed in enumerate(roles):
            self.tell(f"{probed.value}: {self._model_name(probed)}", done, len(roles))
            probes.append(await self._probe(probed))
        return probes

    async def _probe(self, role: Role) -> protocol.ModelProbe:
        watch = CallWatch(self.chat[role], self.circuits, self.clock) if role is not Role.EMBEDDING else None
        before = CallUsage() if watch else await self._embedding_usage()
        began = self.clock.monotonic()
        answer, error, advice = "", "", ""
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                answer = await (self._answer(role, watch) if watch else self._embed_sentence())
        except StorageError:
            raise
        except ModelAnswerError:
            answer = AnswerOutcome.FAILED.value
        except ReveriesError as failed:
            error, advice = failed.message, failed.advice
        except TimeoutError:
            error, advice = f"It did not answer within {PROBE_SECONDS:.0f} s.", "Choose a smaller model."
        seconds = self.clock.monotonic() - began
        used = sum_usage(watch) if watch else (await self._embedding_usage()).since(before)
        return _result(role, self._model_name(role), watch, used, answer, error, advice, seconds)

    async def _answer(self, role: Role, watch: "CallWatch") -> str:
        # The number comes first and is always new, so that the prompt cache does not make the model look faster.
        words = prompt("probe", number=str(int(self.clock.now())), role=role.value)
        question = Prompt(role, (ChatMessage("user", words),), ANSWER_TOKENS, 0.0, schema=schema_of(ProbeAnswer))
        await watch.load(question)
        last = _OutcomeKeeper(self.recorder)
        await ask_structured(watch, question, ProbeAnswer, recorder=last)
        return last.outcome.value

    def _model_name(self, role: Role) -> str:
        return self.chat[role].model.name if role in CHAT_ROLES else self.embedder.model_id

    async def _embed_sentence(self) -> str:
        # Always new, because known texts come from the cache.
        await self.embedder.embed([f"The pear tree stays where it is, {self.clock.now():.6f}."])
        return "vectors"

    async def _embedding_usage(self) -> "CallUsage":
        """Return the embedder's usage of today from the ledger."""
        rows = await self.ledger.usage_since(Span.DAY)
        own = [row for row in rows if row.role == Role.EMBEDDING.value and row.model == self.embedder.model_id]
        return CallUsage(
            prompt_tokens=sum(row.prompt_tokens for row in own),
            reserved=sum(row.dollars for row in own),
            dollars=sum(row.dollars for row in own),
            unknown_calls=sum(row.worst_case_calls for row in own),
        )


def select_roles(role: str) -> Sequence[Role]:
    """Return all roles with a model, or the one called `role`. Raises NotFoundError."""
    if not role:
        return MODEL_ROLES
    if matches := [model_role for model_role in MODEL_ROLES if model_role.value == role]:
        return matches
    names = ", ".join(model_role.value for model_role in MODEL_ROLES)
    raise NotFoundError(f"There is no role {role} with a model of its own.", advice=f"Roles: {names}")


@dataclass(frozen=True, slots=True)
class CallUsage:
    """Tokens, US dollars, and the number of calls with unknown usage."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    reserved: float = 0.0
    dollars: float = 0.0
    unknown_calls: int = 0

    def since(self, before: "CallUsage") -> "CallUsage":
        """Return the difference; zero if a new day began meanwhile."""
        return CallUsage(
            max(0, self.prompt_tokens - before.prompt_tokens),
            max(0, self.completion_tokens - before.completion_tokens),
            max(0.0, self.reserved - before.reserved),
            max(0.0, self.dollars - before.dollars),
            max(0, self.unknown_calls - before.unknown_calls),
        )


@dataclass(slots=True)
class _OutcomeKeeper:
    """Passes each outcome to `recorder`, and keeps the last."""

    recorder: AnswerRecorder
    outcome: AnswerOutcome = AnswerOutcome.FAILED

    async def record(self, model: str, outcome: AnswerOutcome) -> None:
        self.outcome = outcome
        await self.recorder.record(model, outcome)


@dataclass(slots=True)
class CallWatch:
    """The ChatModel port around `candidate`, which measures time and usage of its calls."""

    candidate: ModelCandidate
    circuits: Circuits
    clock: Clock
    load_seconds: float = 0.0
    first_token_seconds: float = 0.0
    speaking_seconds: float = 0.0
    spoken_tokens: int = 0
    """Tokens after the first of each call, which took `speaking_seconds`."""
    reserved_microdollars: int = 0
    usages: list[Usage | None] = field(default_factory=list)

    @property
    def model(self) -> ChatModel:
        return self.candidate.model

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def tells_probabilities(self) -> bool:
        return self.model.tells_probabilities

    @property
    def context_tokens(self) -> int:
        return self.model.context_tokens

    @property
    def price(self) -> Price:
        return self.model.price if isinstance(self.model, MeteredModel) else price_of(self.name)

    async def load(self, question: Prompt) -> None:
        """Load a local model by counting tokens; with others it takes no time."""
        began = self.clock.monotonic()
        await self.model.count_tokens(question.messages[0].text)
        self.load_seconds = self.clock.monotonic() - began

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        tokens = template_tokens(prompt.messages)
        for message in prompt.messages:
            tokens += await count_message(self.model, message)
        self.reserved_microdollars += self.price.microdollars(tokens, prompt.max_tokens)
        began = self.clock.monotonic()
        first_at: float | None = None
        deltas = 0
        self.usages.append(None)
        try:
            async with contextlib.aclosing(self.model.stream(prompt)) as events:
                async for event in events:
                    if isinstance(event, Delta):
                        deltas += 1
                        first_at = first_at if first_at is not None else self.clock.monotonic()
                    else:
                        self.usages[-1] = event.usage
                        await self.circuits.record_answer(self.candidate.provider)
                    yield event
        except ModelError as error:
            if not deltas and was_not_billed(error):
                self.usages[-1] = Usage(0, 0)
            raise
        if first_at is None:
            return
        self.first_token_seconds = self.first_token_seconds or first_at - began
        self.speaking_seconds += self.clock.monotonic() - first_at
        last = self.usages[-1]
        self.spoken_tokens += max(0, (last.completion_tokens if last else deltas) - 1)

    async def count_tokens(self, text: str) -> int:
        return await self.model.count_tokens(text)

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        await self.model.read_ahead(messages, role)

    async def aclose(self) -> None:
        """Do nothing: it owns no resources."""


def sum_usage(watch: CallWatch) -> CallUsage:
    usages = [usage for usage in watch.usages if usage is not None]
    unknown_calls = len(watch.usages) - len(usages)
    cost = sum(watch.price.of(usage) for usage in usages)
    return CallUsage(
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        completion_tokens=sum(usage.completion_tokens for usage in usages),
        reserved=watch.reserved_microdollars / _MICRODOLLARS,
        dollars=(watch.reserved_microdollars if unknown_calls else cost) / _MICRODOLLARS,
        unknown_calls=unknown_calls,
    )


def _result(
    role: Role,
    name: str,
    watch: CallWatch | None,
    used: CallUsage,
    answer: str,
    error: str,
    advice: str,
    seconds: float,
) -> protocol.ModelProbe:
    return protocol.ModelProbe(
        role=role.value,
        model=name,
        answer=answer,
        load_seconds=watch.load_seconds if watch else 0.0,
        first_token_seconds=watch.first_token_seconds if watch else 0.0,
        tokens_per_second=watch.spoken_tokens / watch.speaking_seconds if watch and watch.speaking_seconds else 0.0,
        seconds=seconds,
        prompt_tokens=used.prompt_tokens,
        completion_tokens=used.completion_tokens,
        reserved_dollars=used.reserved,
        dollars=used.dollars,
        is_usage_known=not used.unknown_calls,
        error=error,
        advice=advice,
    )
