"""The model for project work: calls are billed to the project and answered under a schema."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import msgspec

from reveries.errors import ModelAnswerError
from reveries.llm.base import ChatMessage, ChatModel, Prompt, Role
from reveries.llm.budget import Ledger
from reveries.llm.caps import PlannedCall
from reveries.llm.prices import Price, price_of
from reveries.llm.structured import ask_structured, collect
from reveries.llm.tier import Tier

Answer = TypeVar("Answer")

_CHARS_A_TOKEN = 4
"""Conservative estimate, for texts that are cut before their tokens are counted."""


class StepRecorder(Protocol):
    """Records each model call as a step: begun before the call, done after it."""

    async def begin(self, tool: str, arguments: str) -> int:
        """Its number."""
        ...

    async def end(self, position: int, result: str, *, is_done: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class WorkModel:
    """One model for one wake of one project."""

    model: ChatModel
    project_id: str
    tier: Tier
    owner: str
    recorder: StepRecorder | None = None
    ledger: Ledger | None = None
    """What pays for the calls; None: nothing is checked before them."""
    candidates: tuple[str, ...] = ()
    """Names of the models that may answer, the first one first; empty: only `model`."""
    find_price: Callable[[str], Price] = price_of

    @property
    def context_chars(self) -> int:
        """How many characters of material fit next to the question and the answer."""
        return max(2000, (self.model.context_tokens * _CHARS_A_TOKEN) // 2)

    async def ask(
        self, name: str, text: str, type_: type[Answer], *, tokens: int, role: Role = Role.WORK
    ) -> Answer | None:
        """Return an answer of `type_`; None if the model failed to give one twice. Raises other ModelErrors.

        `role` is one of PROJECT_ROLES: what the call is charged as.
        """
        try:
            return await self.require(name, text, type_, tokens=tokens, role=role)
        except ModelAnswerError:
            return None

    async def require(
        self, name: str, text: str, type_: type[Answer], *, tokens: int, role: Role = Role.WORK
    ) -> Answer:
        """As `ask`, but raises ModelAnswerError, which says why no answer could be used."""
        position = await self._begin(name, text)
        try:
            answer = await ask_structured(self.model, replace(self._prompt(text, tokens), role=role), type_)
        except ModelAnswerError as error:
            await self._end(position, f"no usable answer: {error.message}", is_done=False)
            raise
        await self._end(position, msgspec.json.encode(answer).decode())
        return answer

    async def require_budget(self, role: Role, prompt_tokens: int, answer_tokens: int) -> None:
        """Raise BudgetExceededError unless one of the models could answer such a call now. Nothing is reserved."""
        if self.ledger is None:
            return
        names = self.candidates or (self.model.name,)
        await self.ledger.require_room(
            [
                PlannedCall(role, name, self.find_price(name), prompt_tokens, answer_tokens, self.project_id)
                for name in names
            ]
        )

    async def write(self, name: str, text: str, *, tokens: int) -> str:
        """Return free text."""
        position = await self._begin(name, text)
        written, _ = await collect(self.model, replace(self._prompt(text, tokens), temperature=0.3))
        await self._end(position, written)
        return written.strip()

    def _prompt(self, text: str, tokens: int) -> Prompt:
        messages = (ChatMessage("user", text),)
        return Prompt(Role.WORK, messages, tokens, temperature=0.0, project_id=self.project_id)

    async def _begin(self, name: str, question: str) -> int:
        return await self.recorder.begin(name, question) if self.recorder is not None else 0

    async def _end(self, position: int, answer: str, *, is_done: bool = True) -> None:
        if self.recorder is not None:
            await self.recorder.end(position, answer, is_done=is_done)
