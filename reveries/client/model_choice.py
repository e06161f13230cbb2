"""Sentences on which chat model is used and why, and the question about a larger one. Pure."""

from reveries.client.wording import plural, size
from reveries.config import AUTO_MODEL, LlmSettings
from reveries.protocol import ModelsOverview, SuggestedModel
from reveries.safe_text import one_line

_ALTERNATIVE = "to use another: make wake MODEL=NAME, or reveries models choose NAME (list them: reveries models)"


def other_provider_text(llm: LlmSettings, overview: ModelsOverview | None) -> str:
    """Say which provider or Ollama model replaces the embedded one; empty if none. Only `auto` needs `overview`."""
    if llm.provider not in ("auto", "embedded"):
        return f"The chat model is one of {llm.provider} (llm.provider). Nothing is downloaded."
    chosen = next((model for model in overview.ollama if model.is_chosen), None) if overview else None
    if llm.provider == "embedded" or chosen is None:
        return ""
    return (
        f"The chat model is {one_line(chosen.name)} of your Ollama. Nothing is downloaded "
        "(to run one without Ollama: reveries config set llm.provider embedded)."
    )


def is_auto_model(llm: LlmSettings) -> bool:
    """Whether the embedded model is chosen automatically."""
    return llm.embedded.model == AUTO_MODEL


def suggestion_text(suggestion: SuggestedModel, *, may_ask: bool) -> str:
    """Say in one sentence which model was chosen, why, its download size, and how to choose another. `may_ask`: whether
    the owner can be asked about a larger one."""
    name = one_line(suggestion.model)
    if suggestion.is_here:
        return f"The chat model is {name}, which is already here; {_ALTERNATIVE}."
    machine = f"machine ({plural(suggestion.cores, 'core')}, {size(suggestion.free_bytes)} of memory free)"
    smaller = f"{name} ({size(suggestion.size_bytes)} to download)"
    larger = f"{one_line(suggestion.larger)} ({size(suggestion.larger_bytes)} to download)"
    if suggestion.larger and may_ask:
        return f"This {machine} can run the better {larger}, or the smaller {smaller}; {_ALTERNATIVE}."
    if suggestion.larger:
        return (
            f"The chat model is {smaller}; the better {larger}, which this {machine} can run, needs your "
            f"confirmation in a terminal; {_ALTERNATIVE}."
        )
    if suggestion.silent:
        silent = " and ".join(one_line(who) for who in suggestion.silent)
        return (
            f"The chat model is {smaller}, because {silent}, which has a better one, cannot be reached; {_ALTERNATIVE}."
        )
    return f"The chat model is {smaller}, because it suits this {machine}; {_ALTERNATIVE}."


def question_text(suggestion: SuggestedModel) -> str:
    """Ask about the larger model; the default is no."""
    return f"Download the {size(suggestion.larger_bytes)} model?"
