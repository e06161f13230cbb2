"""Whom a call trusts is read once; an address that is asked in the clear can never be asked over TLS."""

import ssl

import httpx
import pytest

from reveries.llm.hosted_embedding import EmbeddingWire
from reveries.llm.tls import TlsTrust, without_tls
from tests.fakes.provider import provider

CALL = {"model": "small", "texts": ["A garden."], "timeout_seconds": 60.0, "api_key": "key"}


class Reading:
    """Counts how often the list of whom to trust is read."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> ssl.SSLContext:
        self.times += 1
        return ssl.create_default_context()


async def test_the_list_of_whom_to_trust_is_read_once_and_in_the_clear_never() -> None:
    reading = Reading()
    wire = EmbeddingWire(TlsTrust(reading))
    async with provider() as there:
        for _ in range(2):
            answer = await wire.aembedding(**CALL, api_base=f"{there.url}/v1")  # type: ignore[arg-type]
            assert len(answer.data) == 1
        assert reading.times == 0
        for _ in range(2):
            with pytest.raises(httpx.HTTPError):  # It speaks no TLS.
                await wire.aembedding(**CALL, api_base=there.url.replace("http:", "https:"))  # type: ignore[arg-type]
    assert reading.times == 1


def test_without_tls_nobody_is_trusted() -> None:
    context = without_tls()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert not context.get_ca_certs()
