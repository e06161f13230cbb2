"""Builds the configured embedder behind the ledger, and the earlier one that old vectors may still need.

The name is a local model of the manifest, "ollama/<name>" or "<hosted provider>/<name>"; `provider` is not used.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from reveries.api_keys import find_api_key
from reveries.clock import Clock
from reveries.config import LlmSettings, find_models_folder
from reveries.errors import ConfigError, ModelMissingError
from reveries.llm.assets import find_weights, manifest
from reveries.llm.base import Embedder
from reveries.llm.budget import Ledger
from reveries.llm.choose import HOSTED_PROVIDERS
from reveries.llm.circuits import Circuits
from reveries.llm.endpoints import endpoint_of
from reveries.llm.hosted_embedding import HostedEmbedder, HostedEmbedderOptions
from reveries.llm.metered_embedding import EmbeddingCache, MeteredEmbedder
from reveries.llm.ollama_client import OllamaEmbedder
from reveries.llm.onnx_embedding import MODEL_ID as MINILM_ID
from reveries.llm.onnx_embedding import OnnxEmbedder
from reveries.llm.prices import price_of
from reveries.llm.remote_embedding import GuardedEmbedder, RemoteEmbedder
from reveries.memory.memory import Memory
from reveries.redaction import redact

MINILM = "all-minilm-l6-v2"
_ANY_TEXT = "Good morning."
_FIRST_LOOK_PAUSE_SECONDS = 30.0
_LONGEST_LOOK_PAUSE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Embedding:
    """The embedder in use. `old` returns the embedder of an earlier model's vectors if that is on the owner's machines;
    a hosted provider that is no longer configured is never called."""

    embedder: Embedder
    where: str
    """Where it runs, for `status`."""
    weights: tuple[str, ...]
    """The weights that it needs on this machine; without them recall uses words only."""
    old: Callable[[str], Embedder | None]
    bare: Embedder | None = None
    """The local embedder without ledger and cache: texts that the breaker checks are not stored."""


def build_embedding(llm: LlmSettings, ledger: Ledger, circuits: Circuits) -> Embedding:
    """Build the embedder; nothing is loaded or called yet. Raises ConfigError for an invalid name."""
    cache = EmbeddingCache(ledger.database)

    def meter(embedder: Embedder) -> Embedder:
        metered = MeteredEmbedder(embedder, ledger, cache, partial(price_of, llm=llm))
        return GuardedEmbedder(metered, circuits) if isinstance(embedder, RemoteEmbedder) else metered

    def find_old(model_id: str) -> Embedder | None:
        local = _find_local_embedder(model_id, llm)
        return meter(local) if local is not None else None

    embedder, where, weights = _choose_embedder(llm)
    return Embedding(meter(embedder), where, weights, find_old, embedder if weights else None)


async def wait_for_embedder(memory: Memory, embedding: Embedding, clock: Clock) -> None:
    """After a start, call a remote embedder until it answers, so that `status` knows.

    A local one is not loaded for this; `Models.problems` checks its file.
    """
    pause = _FIRST_LOOK_PAUSE_SECONDS
    while not embedding.weights:
        await memory.embed_cue(_ANY_TEXT)
        if not memory.no_vector_reason:
            return
        await clock.sleep(pause)
        pause = min(2 * pause, _LONGEST_LOOK_PAUSE_SECONDS)


def _choose_embedder(llm: LlmSettings) -> tuple[Embedder, str, tuple[str, ...]]:
    provider, slash, name = llm.embedding_model.partition("/")
    if not slash and provider == MINILM:
        return _build_minilm(), "on this machine", (MINILM,)
    if slash and name and provider == "ollama":
        return OllamaEmbedder(name, llm.ollama_url, llm.limits), f"Ollama at {redact(llm.ollama_url)}", ()
    if slash and name and provider in HOSTED_PROVIDERS:
        endpoint = endpoint_of(provider, llm, find_api_key, os.environ)
        options = HostedEmbedderOptions(llm.embedding_model, endpoint.api_key, endpoint.base_url, llm.limits)
        return HostedEmbedder(options), f"{provider}, away from this machine", ()
    local = ", ".join(model.name for model in manifest() if model.kind == "embedding")
    raise ConfigError(
        f"llm.embedding_model names no known embedder: {llm.embedding_model}.",
        advice=f"Local embedders: {local}. Others: ollama/NAME, or PROVIDER/NAME ({', '.join(HOSTED_PROVIDERS)}).",
    )


def _find_local_embedder(model_id: str, llm: LlmSettings) -> Embedder | None:
    if model_id == MINILM_ID:
        try:
            find_weights(MINILM)
        except ModelMissingError:
            return None
        return _build_minilm()
    provider, _, name = model_id.partition("/")
    return OllamaEmbedder(name, llm.ollama_url, llm.limits) if provider == "ollama" and name else None


def _build_minilm() -> OnnxEmbedder:
    folder = find_models_folder() / MINILM
    return OnnxEmbedder(folder / "model.onnx", folder / "tokenizer.json")
