"""An embedder that is asked over HTTP, behind a circuit of its own: one that fails is not met again by every turn.

Its circuit is not the provider's for chat: one address may talk and have no embedding model, or the other way round.
What is refused here costs nothing, and memory goes by words at once.
"""

from collections.abc import Sequence

from reveries.errors import ModelFault, ModelUnavailableError
from reveries.llm.base import Embedder, Role, Vectors
from reveries.llm.circuit import Failure
from reveries.llm.circuits import Circuits


class GuardedEmbedder:
    """The Embedder port over `embedder`. Owns it."""

    def __init__(self, embedder: Embedder, circuits: Circuits) -> None:
        self._embedder = embedder
        self._circuits = circuits
        self._key = f"{embedder.model_id} (embedding)"

    @property
    def model_id(self) -> str:
        return self._embedder.model_id

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """See Embedder. Raises, without asking, what failed last while it is too early to ask again.

        A cue is as urgent as the owner's word that it comes from, so the rule is the conversation's; the error's
        `retry_after_seconds` is the background's, which whoever fills in missing vectors waits for.
        """
        if self._circuits.wait_seconds(self._key, Role.CONVERSATION):
            circuit = self._circuits.of(self._key)
            raise self._told(circuit.last_error, circuit.last_fault or ModelFault.UNREACHABLE)
        try:
            vectors = await self._embedder.embed(texts)
        except ModelUnavailableError as error:
            failure = Failure(error.fault, str(error), error.retry_after_seconds)
            await self._circuits.failed(self._key, failure)
            raise self._told(str(error), error.fault) from error
        await self._circuits.answered(self._key)
        return vectors

    async def aclose(self) -> None:
        await self._embedder.aclose()

    def _told(self, message: str, fault: ModelFault) -> ModelUnavailableError:
        wait_seconds = self._circuits.wait_seconds(self._key, Role.EMBEDDING)
        return ModelUnavailableError(message, fault=fault, retry_after_seconds=wait_seconds)
