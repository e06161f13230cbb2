"""The way to an Ollama for every call, within our limits: its client, the transport under it, and its embedder.

Requests go only to the configured address: no redirects, no proxy of the environment, no key of the environment.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from reveries.config import LimitSettings
from reveries.errors import ModelError, ModelFault, ModelMissingError, ModelUnavailableError
from reveries.llm.faults import fault_of_status, fault_sentence
from reveries.llm.limits import CappedTransport
from reveries.llm.remote_embedding import BATCH_TEXTS, ROW_BYTES, RemoteEmbedder
from reveries.llm.tls import speaks_tls, without_tls
from reveries.llm.wire_faults import fault_of_wire
from reveries.redaction import redact

if TYPE_CHECKING:  # Imported where it is used: see ollama_chat.
    import ollama

KEEP_ALIVE = "30m"


class OllamaEmbedder(RemoteEmbedder):
    """The Embedder port on the model called `model` of the Ollama at `url`. Close it with `aclose`."""

    def __init__(self, model: str, url: str, limits: LimitSettings) -> None:
        super().__init__(f"ollama/{model}", limits)
        self._model = model
        self._url = url
        self._client = ollama_client(url, self._seconds, BATCH_TEXTS * ROW_BYTES)

    async def aclose(self) -> None:
        await self._client.close()  # type: ignore[no-untyped-call]

    async def _ask_provider(self, texts: list[str]) -> tuple[Sequence[object], int | None]:
        import ollama

        try:
            answer = await self._client.embed(model=self._model, input=texts, keep_alive=KEEP_ALIVE)
        # The last three: errors of its client for an unexpected response.
        except (ollama.ResponseError, httpx.HTTPError, OSError, ValueError, TypeError, AttributeError) as error:
            raise self._explain_error(error) from error
        return answer.embeddings, answer.prompt_eval_count

    def _explain_error(self, error: Exception) -> ModelError:
        import ollama

        status = error.status_code if isinstance(error, ollama.ResponseError) else None
        if status == httpx.codes.NOT_FOUND:
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
        # The client uses -1 for an error without a status.
        known_status = status if status is not None and status > 0 else None
        fault = fault_of_status(known_status) if known_status is not None else of_wire or ModelFault.BROKEN
        message = error.error if isinstance(error, ollama.ResponseError) else ""
        return ModelUnavailableError(
            fault_sentence(self.model_id, fault, known_status, str(message)),
            advice="Look at Ollama's own log.",
            fault=fault,
        )


CONNECT_SECONDS = 3.0
_DEFAULT_PORT = 11434


def ollama_client(url: str, timeout_seconds: float, limit_bytes: int) -> "ollama.AsyncClient":
    """Return a client for the Ollama at `url`; responses longer than `limit_bytes` are cut off. Close it."""
    import ollama

    return ollama.AsyncClient(
        host=find_ollama_address(url),
        timeout=httpx.Timeout(timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds)),
        transport=ollama_transport(url, limit_bytes),
        trust_env=False,
        follow_redirects=False,
        event_hooks={"request": [_without_key]},
    )


def find_ollama_address(url: str) -> str:
    """Return the address that `llm.ollama_url` means, as Ollama's client reads it: "localhost" is
    http://localhost:11434, and neither user, password nor query go to it. Raises ValueError for an impossible port."""
    has_scheme = "://" in url
    parts = urlsplit(url if has_scheme else f"http://{url}")
    default = {"http": 80, "https": 443}.get(parts.scheme, _DEFAULT_PORT) if has_scheme else _DEFAULT_PORT
    host = parts.hostname or "127.0.0.1"
    path = parts.path.strip("/")
    address = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{parts.port or default}"
    return f"{address}/{path}" if path else address


def ollama_transport(url: str, limit_bytes: int) -> CappedTransport:
    """Return the way to the Ollama at `url`; responses longer than `limit_bytes` are cut off."""
    # Most Ollamas use no TLS, and loading the trust store blocks the loop for tens of milliseconds.
    context = httpx.create_ssl_context(trust_env=False) if speaks_tls(url) else without_tls()
    return CappedTransport(httpx.AsyncHTTPTransport(verify=context, trust_env=False), limit_bytes)


async def _without_key(request: httpx.Request) -> None:
    """Remove the OLLAMA_API_KEY of the environment, which the library sends to any server in the clear."""
    request.headers.pop("authorization", None)
