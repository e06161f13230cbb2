"""Vectors from a model that somebody else runs, through litellm. What is embedded leaves the machine.

Chosen only by its full name in `llm.embedding_model`. litellm is imported as late as for chat, and in a thread.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from reveries.config import LimitSettings
from reveries.errors import ModelError, ModelFault, ModelMissingError, ModelUnavailableError
from reveries.llm.endpoints import Endpoint, wire_address
from reveries.llm.faults import retry_after_seconds, told
from reveries.llm.hosted import KEY_ADVICE, fault_of, load_litellm, require_key, retry_after, status_of
from reveries.llm.remote_embedding import RemoteEmbedder, not_vectors


class LiteLlmEmbedding(Protocol):
    """What we use of the litellm module here."""

    async def aembedding(self, **options: object) -> object:
        """An answer with `data` (each with `embedding` and `index`) and `usage`."""
        ...


Loader = Callable[[], Awaitable[LiteLlmEmbedding]]


async def load_litellm_embedding() -> LiteLlmEmbedding:
    """See `load_litellm`."""
    return cast("LiteLlmEmbedding", await load_litellm())


@dataclass(frozen=True, slots=True)
class HostedEmbedderOptions:
    """Which model ("provider/name"), with which key, where (`base_url` empty: the provider's own)."""

    name: str
    api_key: str
    base_url: str
    limits: LimitSettings


class HostedEmbedder(RemoteEmbedder):
    """The Embedder port on a hosted provider."""

    def __init__(self, options: HostedEmbedderOptions, load: Loader = load_litellm_embedding) -> None:
        super().__init__(options.name, options.limits)
        self._options = options
        self._load = load

    async def _ask(self, texts: list[str]) -> tuple[Sequence[object], int | None]:
        require_key(self.model_id, self._options.base_url, self._options.api_key)
        module = await self._load()
        try:
            answer = await module.aembedding(**self._request(texts))
        except Exception as error:  # A boundary: litellm's errors share no base but this one
            raise self._explained(error) from error
        return self._rows(answer), _tokens(answer)

    def _request(self, texts: list[str]) -> dict[str, object]:
        options = self._options
        request: dict[str, object] = {
            "model": options.name,
            "input": texts,
            "encoding_format": "float",
            "timeout": self._seconds,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,
            **wire_address(options.name, Endpoint(options.base_url, options.api_key)),
        }
        return request

    def _rows(self, answer: object) -> list[object]:
        """The rows by their own numbers, which need not be the order in which they came."""
        entries = getattr(answer, "data", None)
        if not isinstance(entries, list):
            raise not_vectors(self.model_id, "no list of rows")
        numbered: list[tuple[int, object]] = []
        for place, entry in enumerate(entries):
            number = _field(entry, "index")
            numbered.append((number if isinstance(number, int) else place, _field(entry, "embedding")))
        if sorted(number for number, _ in numbered) != list(range(len(numbered))):
            raise not_vectors(self.model_id, "rows whose numbers do not fit")
        return [row for _, row in sorted(numbered, key=lambda pair: pair[0])]

    def _explained(self, error: Exception) -> ModelError:
        """`error` in a sentence without the key, which providers like to repeat."""
        said = str(error)
        if self._options.api_key:
            said = said.replace(self._options.api_key, "***")
        status, fault = status_of(error), fault_of(error)
        name = self.model_id
        if status == 404:
            return ModelMissingError(f"There is no model {name}.", advice="Check llm.embedding_model.")
        if fault is ModelFault.KEY_REFUSED:
            advice = KEY_ADVICE
        elif fault is ModelFault.RATE_LIMITED:
            advice = "Memory is searched by words meanwhile."
        else:
            advice = "Look at its status; words serve meanwhile."
        pause = retry_after_seconds(retry_after(error), time.time())
        return ModelUnavailableError(
            told(name, fault, status, said), advice=advice, fault=fault, retry_after_seconds=pause
        )


def _field(entry: object, name: str) -> object:
    return entry.get(name) if isinstance(entry, dict) else getattr(entry, name, None)


def _tokens(answer: object) -> int | None:
    """None for 0 as well: litellm says 0 where the provider said nothing."""
    count = getattr(getattr(answer, "usage", None), "prompt_tokens", None)
    return count if isinstance(count, int) and count > 0 else None
