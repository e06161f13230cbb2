"""Vectors from a hosted model, in OpenAI's format. Embedded text leaves the machine.

Used only when `llm.embedding_model` gives its full name.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import httpx
import msgspec

from reveries.config import LimitSettings
from reveries.errors import ModelError, ModelFault, ModelMissingError, ModelUnavailableError
from reveries.llm.endpoints import NO_KEY, OWN_ADDRESSES
from reveries.llm.faults import fault_sentence, retry_after_seconds
from reveries.llm.hosted import KEY_ADVICE, fault_of, require_key
from reveries.llm.limits import CappedTransport
from reveries.llm.remote_embedding import BATCH_TEXTS, ROW_BYTES, RemoteEmbedder, bad_vectors_error
from reveries.llm.tls import TlsTrust


class EmbeddingRefusedError(Exception):  # internal: the adapter translates it
    """A response that is no success. `status_code` and `response` as the adapter reads them."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__(f"status {response.status_code}")
        self.status_code = response.status_code
        self.response = response


class _EmbeddingRow(msgspec.Struct, frozen=True):
    embedding: object
    index: object = None


class _Usage(msgspec.Struct, frozen=True):
    prompt_tokens: object = None


class Embeddings(msgspec.Struct, frozen=True):
    """The response; its content is checked by the reader."""

    data: list[_EmbeddingRow]
    usage: _Usage | None = None


class EmbeddingWire:
    """POST /embeddings at any `api_base` (usually ending in "/v1").

    litellm is not used: for some providers it retries up to three times whatever its settings, follows redirects, and
    accepts a body of any size. Each call has its own connection: a kept-alive one that had died would cost a call that
    may be billed.
    """

    def __init__(self, trust: TlsTrust | None = None) -> None:
        self._trust = trust or TlsTrust()

    async def aembedding(
        self, *, model: str, texts: Sequence[str], timeout_seconds: float, api_key: str, api_base: str
    ) -> Embeddings:
        """Send one request. Raises EmbeddingRefusedError, httpx.HTTPError, msgspec.MsgspecError."""
        context = await self._trust.context(api_base)
        inner = httpx.AsyncHTTPTransport(verify=context, trust_env=False)
        transport = CappedTransport(inner, BATCH_TEXTS * ROW_BYTES)
        async with httpx.AsyncClient(
            transport=transport, timeout=timeout_seconds, follow_redirects=False, trust_env=False
        ) as client:
            response = await client.post(
                f"{api_base.rstrip('/')}/embeddings",
                json={"model": model, "input": list(texts), "encoding_format": "float"},
                headers={"Authorization": f"Bearer {api_key}"},
            )
        if response.status_code != httpx.codes.OK:
            raise EmbeddingRefusedError(response)
        return msgspec.json.decode(response.content, type=Embeddings)


class Wire(Protocol):
    """The port that sends the request: `EmbeddingWire`."""

    async def aembedding(
        self, *, model: str, texts: Sequence[str], timeout_seconds: float, api_key: str, api_base: str
    ) -> object:
        """Return a response with `data` (each with `embedding` and `index`) and `usage`."""
        ...


@dataclass(frozen=True, slots=True)
class HostedEmbedderOptions:
    """Model ("provider/name"), key and address (`base_url` empty: the provider's own)."""

    name: str
    api_key: str
    base_url: str
    limits: LimitSettings


class HostedEmbedder(RemoteEmbedder):
    """The Embedder port on a hosted provider."""

    def __init__(self, options: HostedEmbedderOptions, wire: Wire | None = None) -> None:
        super().__init__(options.name, options.limits)
        self._options = options
        self._wire = wire if wire is not None else EmbeddingWire()

    async def _ask_provider(self, texts: list[str]) -> tuple[Sequence[object], int | None]:
        options = self._options
        require_key(self.model_id, options.base_url, options.api_key)
        provider, _, name = options.name.partition("/")
        try:
            answer = await self._wire.aembedding(
                model=name,
                texts=texts,
                timeout_seconds=self._seconds,
                api_key=options.api_key or NO_KEY,
                api_base=options.base_url or OWN_ADDRESSES[provider],
            )
        except (
            EmbeddingRefusedError,
            httpx.HTTPError,
            msgspec.MsgspecError,
            OSError,
            RecursionError,
            UnicodeDecodeError,
        ) as error:
            raise self._explain_error(error) from error
        return self._rows(answer), _billed_tokens(answer)

    def _rows(self, answer: object) -> list[object]:
        """Return the rows in the order of their index, which may differ from the order of arrival."""
        entries = getattr(answer, "data", None)
        if not isinstance(entries, list):
            raise bad_vectors_error(self.model_id, "no list of rows")
        numbered: list[tuple[int, object]] = []
        for place, entry in enumerate(entries):
            number = _read_field(entry, "index")
            numbered.append((number if isinstance(number, int) else place, _read_field(entry, "embedding")))
        if sorted(number for number, _ in numbered) != list(range(len(numbered))):
            raise bad_vectors_error(self.model_id, "rows whose numbers do not fit")
        return [row for _, row in sorted(numbered, key=lambda pair: pair[0])]

    def _explain_error(self, error: Exception) -> ModelError:
        """Return `error` as an error of ours: a provider's message may repeat the key or the text."""
        name, fault = self.model_id, fault_of(error)
        response = error.response if isinstance(error, EmbeddingRefusedError) else None
        status = response.status_code if response is not None else None
        if status == httpx.codes.NOT_FOUND:
            return ModelMissingError(f"There is no model {name}.", advice="Check llm.embedding_model.")
        asked = response.headers.get("retry-after") if response is not None else None
        return ModelUnavailableError(
            fault_sentence(name, fault, status, ""),
            advice=KEY_ADVICE if fault is ModelFault.KEY_REFUSED else "Memory is searched by words meanwhile.",
            fault=fault,
            retry_after_seconds=retry_after_seconds(asked, time.time()),
        )


def _read_field(entry: object, name: str) -> object:
    return entry.get(name) if isinstance(entry, dict) else getattr(entry, name, None)


def _billed_tokens(answer: object) -> int | None:
    """Return the billed tokens; None for 0 as well, because every text has tokens."""
    count = getattr(getattr(answer, "usage", None), "prompt_tokens", None)
    return count if isinstance(count, int) and count > 0 else None
