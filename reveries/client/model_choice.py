"""Which chat model is taken and why, in a sentence; and the one question, whether a large one may be fetched. Pure."""

from reveries.client.wording import plural, size
from reveries.config import AUTO_MODEL, LlmSettings
from reveries.protocol import ModelsOverview, SuggestedModel
from reveries.safe_text import one_line

_OTHERWISE = "for another one: make wake MODEL=NAME, or reveries models choose NAME (reveries models lists them)"


def where_it_speaks(llm: LlmSettings, overview: ModelsOverview | None) -> str:
    """Who answers in the place of a model that runs in here; empty: none does. `overview`: only `auto` needs it."""
    if llm.provider not in ("auto", "embedded"):
        return f"The chat model is {llm.provider}'s (llm.provider): none is fetched."
    chosen = next((model for model in overview.ollama if model.is_chosen), None) if overview else None
    if llm.provider == "embedded" or chosen is None:
        return ""
    return (
        f"The chat model is {one_line(chosen.name)} of your Ollama, which answers: none is fetched "
        "(for one that needs no Ollama: reveries config set llm.provider embedded)."
    )


def is_auto(llm: LlmSettings) -> bool:
    """Whether the owner has left the choice of the embedded model to the machine."""
    return llm.embedded.model == AUTO_MODEL


def suggestion_text(found: SuggestedModel, *, may_ask: bool) -> str:
    """What was chosen, why, how much it fetches, and how to choose otherwise: one sentence. `may_ask`: the owner is
    there to be asked whether a larger one may be fetched."""
    name = one_line(found.model)
    if found.is_here:
        return f"The chat model is {name}, which is here already; {_OTHERWISE}."
    machine = f"machine ({plural(found.cores, 'core')}, {size(found.free_bytes)} of memory free)"
    fetched = f"{name} ({size(found.size_bytes)} to fetch)"
    larger = f"{one_line(found.larger)} ({size(found.larger_bytes)} to fetch)"
    if found.larger and may_ask:
        return f"This {machine} can run the better {larger}, or the smaller {fetched}; {_OTHERWISE}."
    if found.larger:
        return (
            f"The chat model is {fetched}, for without a terminal nobody can be asked about the better {larger}, "
            f"which this {machine} can run; {_OTHERWISE}."
        )
    if found.silent:
        silent = " and ".join(one_line(who) for who in found.silent)
        return f"The chat model is {fetched}, for {silent}, which has a better one, cannot be reached; {_OTHERWISE}."
    return f"The chat model is {fetched}, for it is the one that suits this {machine}; {_OTHERWISE}."


def question_text(found: SuggestedModel) -> str:
    """Asked once; Enter is no."""
    return f"Fetch the {size(found.larger_bytes)} model?"
