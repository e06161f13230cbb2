"""Server-sent events, as far as language models use them: `data:` lines of JSON, ended by `data: [DONE]`."""

from collections.abc import AsyncGenerator, AsyncIterable

from reveries.errors import ModelUnavailableError
from reveries.llm.limits import LINE_BYTES


async def data_lines(chunks: AsyncIterable[bytes], line_bytes: int = LINE_BYTES) -> AsyncGenerator[bytes, None]:
    """The payload of each `data:` line of `chunks`, however they were cut; stops after `[DONE]`.

    Raises ModelUnavailableError for a line longer than `line_bytes`. Comments and other fields are skipped.
    """
    pending = b""
    async for chunk in chunks:
        *lines, pending = (pending + chunk).split(b"\n")
        for line in [*lines, pending]:
            if len(line) > line_bytes:
                raise ModelUnavailableError(
                    f"The model sent a line longer than {line_bytes} bytes.", advice="The call was stopped; ask again."
                )
        for line in lines:
            payload = _payload(line)
            if payload == b"[DONE]":
                return
            if payload:
                yield payload


def _payload(line: bytes) -> bytes:
    return line[5:].strip() if line.startswith(b"data:") else b""
