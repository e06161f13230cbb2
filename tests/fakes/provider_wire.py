"""The two wire formats of the pretended provider, as bytes: OpenAI's server-sent events and Ollama's lines of JSON."""

import json
from collections.abc import Mapping, Sequence
from typing import Protocol


class Wire(Protocol):
    """How one format writes the parts of a streamed answer."""

    content_type: str

    def piece(self, text: str) -> bytes:
        """A piece of the reply."""
        ...

    def raw_piece(self, json_string: bytes) -> bytes:
        """A piece whose text stands on the wire as `json_string`, quotes included, whatever bytes that are."""
        ...

    def end(self, reason: str, usage: Mapping[str, object] | None) -> bytes:
        """The end mark. `usage`: {"prompt": ..., "completion": ...}, None to leave it out."""
        ...

    def line(self, payload: bytes) -> bytes:
        """One line of the stream with `payload` where JSON belongs."""
        ...

    def refusal(self, message: str) -> bytes:
        """The body of an answer that is not 200."""
        ...

    def mid_error(self, message: str) -> bytes:
        """An error in the middle of a stream that began with 200."""
        ...

    def silence(self) -> bytes:
        """Something that keeps the connection busy and says nothing."""
        ...


class OpenAiWire:
    """POST /v1/chat/completions with `stream: true`."""

    content_type = "text/event-stream"

    def piece(self, text: str) -> bytes:
        return self.chunk({"choices": [_choice({"content": text})]})

    def raw_piece(self, json_string: bytes) -> bytes:
        return self.piece("@text@").replace(b'"@text@"', json_string)

    def end(self, reason: str, usage: Mapping[str, object] | None) -> bytes:
        counted = b"" if usage is None else self.chunk({"choices": [], "usage": _openai_usage(usage)})
        return self.stop(reason) + counted + self.done()

    def stop(self, reason: str) -> bytes:
        return self.chunk({"choices": [_choice({}, reason)]})

    def done(self) -> bytes:
        return b"data: [DONE]\n\n"

    def chunk(self, fields: Mapping[str, object], number: int = 1) -> bytes:
        whole = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": "m", **fields}
        return self.line(json.dumps(whole).encode())

    def line(self, payload: bytes) -> bytes:
        return b"data: " + payload + b"\n\n"

    def refusal(self, message: str) -> bytes:
        return json.dumps({"error": {"message": message, "type": "server_error", "code": None}}).encode()

    def mid_error(self, message: str) -> bytes:
        return self.line(self.refusal(message))

    def silence(self) -> bytes:
        return b": still working\n\n"


class OllamaWire:
    """POST /api/chat with `stream: true`."""

    content_type = "application/x-ndjson"

    def piece(self, text: str) -> bytes:
        return self.part({"message": {"role": "assistant", "content": text}, "done": False})

    def raw_piece(self, json_string: bytes) -> bytes:
        return self.piece("@text@").replace(b'"@text@"', json_string)

    def end(self, reason: str, usage: Mapping[str, object] | None) -> bytes:
        counts: dict[str, object] = {}
        if usage is not None:
            counts = {"prompt_eval_count": usage["prompt"], "eval_count": usage["completion"]}
        durations = {"total_duration": 5_000_000, "load_duration": 1_000_000}
        message = {"role": "assistant", "content": ""}
        return self.part({"message": message, "done": True, "done_reason": reason, **durations, **counts})

    def part(self, fields: Mapping[str, object]) -> bytes:
        return self.line(json.dumps({"model": "m", "created_at": "2026-11-01T08:00:00Z", **fields}).encode())

    def line(self, payload: bytes) -> bytes:
        return payload + b"\n"

    def refusal(self, message: str) -> bytes:
        return json.dumps({"error": message}).encode()

    def mid_error(self, message: str) -> bytes:
        return self.line(self.refusal(message))

    def silence(self) -> bytes:
        return self.piece("")


def openai_models(names: Sequence[str]) -> bytes:
    """GET /v1/models."""
    data = [{"id": name, "object": "model", "created": 1, "owned_by": "somebody"} for name in names]
    return json.dumps({"object": "list", "data": data}).encode()


def openai_embeddings(model: str, rows: Sequence[Sequence[float]], tokens: int) -> bytes:
    """POST /v1/embeddings."""
    data = [{"object": "embedding", "index": number, "embedding": list(row)} for number, row in enumerate(rows)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return json.dumps({"object": "list", "data": data, "model": model, "usage": usage}).encode()


def openai_whole(text: str, reason: str, usage: Mapping[str, object]) -> bytes:
    """POST /v1/chat/completions without streaming."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
    fields = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return json.dumps({**fields, "usage": _openai_usage(usage)}).encode()


def ollama_tags(names: Sequence[str]) -> bytes:
    """GET /api/tags."""
    details = {"format": "gguf", "family": "llama", "parameter_size": "1.2B", "quantization_level": "Q4_K_M"}
    models = [
        {"name": name, "model": name, "modified_at": "2026-11-01T08:00:00Z", "size": 800_000_000,
         "digest": "0" * 64, "details": details} for name in names
    ]  # fmt: skip
    return json.dumps({"models": models}).encode()


def ollama_show(name: str) -> bytes:
    """POST /api/show."""
    info = {"general.architecture": "llama", "llama.context_length": 8192, "llama.embedding_length": 2048}
    capabilities = ["embedding"] if "embed" in name else ["completion"]
    return json.dumps({"details": {"family": "llama"}, "model_info": info, "capabilities": capabilities}).encode()


def ollama_embed(model: str, rows: Sequence[Sequence[float]], tokens: int) -> bytes:
    """POST /api/embed."""
    fields = {"model": model, "embeddings": [list(row) for row in rows]}
    return json.dumps({**fields, "total_duration": 14_000_000, "prompt_eval_count": tokens}).encode()


def ollama_pull(total_bytes: int = 1000, steps: int = 4) -> list[bytes]:
    """POST /api/pull: the lines of its progress, one by one."""
    digest = f"sha256:{'0' * 64}"
    pulling = [
        {"status": f"pulling {digest[:12]}", "digest": digest, "total": total_bytes,
         "completed": total_bytes * step // steps} for step in range(steps + 1)
    ]  # fmt: skip
    told = [{"status": "pulling manifest"}, *pulling, {"status": "verifying sha256 digest"}, {"status": "success"}]
    return [json.dumps(line).encode() + b"\n" for line in told]


def _choice(delta: Mapping[str, object], reason: str | None = None) -> dict[str, object]:
    return {"index": 0, "delta": dict(delta), "finish_reason": reason}


def _openai_usage(usage: Mapping[str, object]) -> dict[str, object]:
    prompt, completion = usage["prompt"], usage["completion"]
    total = prompt + completion if isinstance(prompt, int) and isinstance(completion, int) else 0
    counts: dict[str, object] = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    hidden = usage.get("reasoning")
    return counts | ({"completion_tokens_details": {"reasoning_tokens": hidden}} if hidden else {})
