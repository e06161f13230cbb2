"""Vectors from a model that an Ollama serves, over its `/api/embed`."""

from collections.abc import Sequence

import httpx
import ollama

from reveries.config import LimitSettings
from reveries.errors import ModelError, ModelFault, ModelMissingError, ModelUnavailableError
from reveries.llm.faults import fault_of_status, told
from reveries.llm.limits import CappedTransport
from reveries.llm.remote_embedding import BATCH_TEXTS, ROW_BYTES, RemoteEmbedder

KEEP_ALIVE = "30m"
CONNECT_SECONDS = 3.0


class OllamaEmbedder(RemoteEmbedder):
    """The Embedder port on the model called `model` of the Ollama at `url`. `aclose` it."""

    def __init__(self, model: str, url: str, limits: LimitSettings) -> None:
        super().__init__(f"ollama/{model}", limits)
        self._model = model
        self._url = url
        self._client = ollama.AsyncClient(
            host=url,
            timeout=httpx.Timeout(self._seconds, connect=CONNECT_SECONDS),
            transport=CappedTransport(httpx.AsyncHTTPTransport(trust_env=False), BATCH_TEXTS * ROW_BYTES),
            trust_env=False,
            follow_redirects=False,  # as in ollama_chat
        )

    async def aclose(self) -> None:
        await self._client.close()  # type: ignore[no-untyped-call]

    async def _ask(self, texts: list[str]) -> tuple[Sequence[object], int | None]:
        try:
            answer = await self._client.embed(model=self._model, input=texts, keep_alive=KEEP_ALIVE)
        # The last three: what its client trips over when the answer is not what it expects.
        except (ollama.ResponseError, httpx.HTTPError, OSError, ValueError, TypeError, AttributeError) as error:
            raise self._explained(error) from error
        return answer.embeddings, answer.prompt_eval_count

    def _explained(self, error: Exception) -> ModelError:
        status = error.status_code if isinstance(error, ollama.ResponseError) else None
        if status == httpx.codes.NOT_FOUND:
            return ModelMissingError(
                f"Ollama has no model called {self._model}.", advice=f"Fetch it: ollama pull {self._model}"
            )
        # Its client says so with the bare class; a connection that is reset later is another matter.
        if type(error) is ConnectionError or isinstance(
            error, ConnectionRefusedError | httpx.ConnectError | httpx.ConnectTimeout
        ):
            return ModelUnavailableError(
                f"No Ollama answers at {self._url}.",
                advice="Start it (ollama serve), or check llm.ollama_url.",
                fault=ModelFault.UNREACHABLE,
            )
        fault = _fault(error, status)
        shown = status if status is not None and status > 0 else None
        return ModelUnavailableError(
            told(self.model_id, fault, shown), advice="Memory is searched by words meanwhile.", fault=fault
        )


def _fault(error: Exception, status: int | None) -> ModelFault:
    if isinstance(error, httpx.TimeoutException):
        return ModelFault.TIMED_OUT
    # Its client says -1 for an error that came without a status.
    return fault_of_status(status) if status is not None and status > 0 else ModelFault.BROKEN
