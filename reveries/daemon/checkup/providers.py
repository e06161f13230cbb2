"""Checks what is known of the models' providers, without calling one: failures, refusals, prices."""

import asyncio
from collections.abc import AsyncIterator

from reveries.config import LlmSettings
from reveries.daemon.checkup.inside import ChosenModels, Inside
from reveries.llm.caps import UNKNOWN_PRICE_ADVICE
from reveries.llm.prices import price_of, read_library_prices
from reveries.protocol import Fault, Finding

FALLBACK_UNKNOWN = Fault(
    "fallback-unknown", "wrong", "A fallback names no known provider.", "Fix it: reveries config set"
)
KEY_REFUSED = Fault("key-refused", "wrong", "A provider refused the key.", "Check the key and the account.")
FAILING = Fault("provider-failing", "wrong", "A model's provider fails.", "See which: reveries models")
PRICE_UNKNOWN = Fault("price-unknown", "watch", "The price of a hosted model is unknown.", UNKNOWN_PRICE_ADVICE)


async def check(inside: Inside, chosen: ChosenModels) -> AsyncIterator[Finding | str]:
    """Yield what is known to go wrong with the providers that are in use."""
    if chosen.error:
        yield FALLBACK_UNKNOWN.found(chosen.error.message, chosen.error.advice)
    if hosted := sorted({choice.name for choice in chosen.choices if choice.is_hosted}):
        await asyncio.to_thread(read_library_prices)
    for name in hosted:
        if not price_of(name, inside.llm).is_known:
            sentence = f"The price of {name} is in no list. The dearest is assumed, and most of its calls are refused."
            yield PRICE_UNKNOWN.found(sentence, where=name)
    if inside.memory is None:
        return
    database, circuits = inside.memory.database, inside.memory.circuits
    in_use = named_providers(inside.settings.llm)
    # After a change of llm.embedding_model the earlier one serves recall until everything is embedded again.
    serving = {str(row["model_id"]) for row in await database.rows("vectors.serving")}
    refused = {sentence for _, sentence in circuits.refusing}
    for sentence in circuits.problems(in_use | serving):
        yield (KEY_REFUSED if sentence in refused else FAILING).found(sentence)


def named_providers(llm: LlmSettings) -> set[str]:
    """Return the providers that the settings name or that run here; problems of others do not matter. Pure."""
    models = (llm.conversation_model, llm.monologue_model, llm.consolidation_model, llm.work_model)
    several = (llm.conversation_fallbacks, llm.monologue_fallbacks, llm.consolidation_fallbacks, llm.work_fallbacks)
    named = [*models, *(name for names in several for name in names)]
    return {"embedded", "ollama", llm.provider, llm.embedding_model, *(name.partition("/")[0] for name in named)}
