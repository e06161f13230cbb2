"""The embeddings call of OpenAI's format: one request for each reservation.

litellm is not used for it: for some providers it retries up to three times whatever its settings, follows redirects,
and accepts a body of any size. The format is one request and one list.
"""

from collections.abc import Sequence

import httpx
import msgspec

from reveries.llm.limits import CappedTransport
from reveries.llm.remote_embedding import BATCH_TEXTS, ROW_BYTES
from reveries.llm.tls import TlsTrust


class EmbeddingRefusedError(Exception):  # internal: the adapter translates it
    """A response that is no success. `status_code` and `response` as the adapter reads them."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__(f"status {response.status_code}")
        self.status_code = response.status_code
        self.response = response


class _Row(msgspec.Struct, frozen=True):
    embedding: object
    index: object = None


class _Usage(msgspec.Struct, frozen=True):
    prompt_tokens: object = None


class Embeddings(msgspec.Struct, frozen=True):
    """The response; its content is checked by the reader."""

    data: list[_Row]
    usage: _Usage | None = None


class EmbeddingWire:
    """POST /embeddings at any `api_base` (usually ending in "/v1").

    Each call has its own connection: a kept-alive one that had died would cost a call that may be billed.
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
