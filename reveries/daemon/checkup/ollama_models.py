"""Checks that Ollama answers and has what the settings name."""

from collections.abc import AsyncIterator

from reveries.daemon.checkup.inside import ChosenModels, Inside
from reveries.protocol import Fault, Finding
from reveries.redaction import redact

UNREACHABLE = Fault("ollama-unreachable", "wrong", "Ollama does not answer.", "Start it, or check llm.ollama_url.")
MODEL_MISSING = Fault("ollama-model-missing", "wrong", "Ollama does not have the model.", "reveries models pull NAME")


async def check(inside: Inside, chosen: ChosenModels) -> AsyncIterator[Finding | str]:
    """Yield what it lacks, if a role or the embedder needs it."""
    wanted = sorted({choice.model for choice in chosen.choices if choice.provider == "ollama"})
    provider, is_served, embedder = inside.llm.embedding_model.partition("/")
    if is_served and provider == "ollama":
        wanted.append(embedder)
    if not wanted:
        return
    if chosen.at_ollama is None:
        yield UNREACHABLE.found(f"No Ollama answers at {redact(inside.llm.ollama_url)}.", where="llm.ollama_url")
        return
    for model in wanted:
        if not model:
            yield MODEL_MISSING.found("Ollama has no model that can talk.", "Fetch one: ollama pull llama3.2")
        elif model not in chosen.at_ollama and f"{model}:latest" not in chosen.at_ollama:
            yield MODEL_MISSING.found(f"Ollama does not have {model}.", f"Fetch it: ollama pull {model}")
