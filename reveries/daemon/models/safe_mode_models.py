"""The models of safe mode (B6): placeholders that load, start and call nothing."""

from collections.abc import AsyncGenerator, Sequence
from typing import Final

from reveries.daemon.models.embedders import Embedding
from reveries.daemon.models.role_models import Models
from reveries.daemon.process.safe_mode import LEAVE_SAFE_MODE
from reveries.db.database import Database
from reveries.errors import ModelUnavailableError
from reveries.llm.base import CHAT_ROLES, ChatMessage, Delta, Finished, Prompt, Role, Vectors
from reveries.llm.choose import ModelChoice
from reveries.llm.circuits import Circuits
from reveries.llm.tokens import estimate_tokens
from reveries.memory.store import choose_serving_model

_CONTEXT_TOKENS: Final = 8192


async def safe_models(database: Database, circuits: Circuits) -> Models:
    """Build placeholder models: nothing is loaded, started or called."""
    choice, model = ModelChoice("no", "model", "safe mode"), NoModel()
    return Models(
        chat=dict.fromkeys(CHAT_ROLES, model),
        embedding=Embedding(await _embedder_of_file(database), "not used in safe mode", (), lambda model_id: None),
        choices=dict.fromkeys(CHAT_ROLES, choice),
        fallbacks=dict.fromkeys(CHAT_ROLES, ()),
        circuits=circuits,
        adapters={choice.name: model},
        weights=(),
    )


class NoModel:
    """The ChatModel port of safe mode, which refuses every call."""

    name = "no model"
    context_tokens = _CONTEXT_TOKENS
    tells_probabilities = False

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Finished, None]:
        if prompt.messages:
            raise ModelUnavailableError("No model is used in safe mode.", advice=LEAVE_SAFE_MODE)
        yield Delta("")

    async def count_tokens(self, text: str) -> int:
        return estimate_tokens(text)

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        return

    async def aclose(self) -> None:
        return


class NoEmbedder:
    """The Embedder port of safe mode: recall uses words only."""

    def __init__(self, model_id: str) -> None:
        self.model_id = model_id
        self.dimensions = 0

    async def embed(self, texts: Sequence[str]) -> Vectors:
        raise ModelUnavailableError("No embedder is used in safe mode.", advice=LEAVE_SAFE_MODE)

    async def aclose(self) -> None:
        return


async def _embedder_of_file(database: Database) -> NoEmbedder:
    """Build one with the model id of the stored vectors, so that it does not count as a change of the embedder."""
    serving = await database.rows("vectors.serving")
    recorded = str(serving[0]["model_id"]) if serving else ""
    counts = {str(row["model_id"]): int(row["vectors"]) for row in await database.rows("vectors.models")}
    return NoEmbedder(choose_serving_model(recorded, counts, recorded) or "none")
