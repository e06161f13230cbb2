"""How much a model reasons before it answers: the level asked for, its field in a request, the tokens to reserve. Pure.

Reasoning is not part of an answer, and is billed like one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from reveries.config import LlmSettings, ReasoningEffort
from reveries.llm.base import PROJECT_ROLES, Role
from reveries.llm.provider_rules import EFFORTS, Effort, EffortForm, WireRules

ALLOWANCE_TOKENS: Final[Mapping[Effort, int]] = {
    "none": 0, "minimal": 1024, "low": 2048, "medium": 8192, "high": 16384,
}  # fmt: skip
"""The tokens that a level may use besides the answer. 1024 is the least that Anthropic takes as a budget; the others
are those that pydantic-ai asks for, the third rounded."""

TOKENS_PER_SECOND: Final = 40.0
"""A slow hosted model. Reasoning that is not shown takes this long, in which nothing arrives."""

_AUTOMATIC: Final[Effort] = "low"
_SHOWN_TO_REASON: Final[Effort] = "medium"
"""Assumed of a model that is not known to reason and did."""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """How one call reasons. `asked` None: nothing is asked for, and the model does as it is used to."""

    asked: Effort | None
    expected: Effort

    @property
    def allowance_tokens(self) -> int:
        return ALLOWANCE_TOKENS[self.expected]


def effort_of_role(role: Role, llm: LlmSettings) -> ReasoningEffort:
    """Return the owner's setting for `role`. All work on projects has that of work."""
    match role:
        case Role.CONVERSATION:
            return llm.conversation_reasoning_effort
        case Role.MONOLOGUE:
            return llm.monologue_reasoning_effort
        case Role.CONSOLIDATION:
            return llm.consolidation_reasoning_effort
        case _ if role in PROJECT_ROLES:
            return llm.work_reasoning_effort
        case _:
            return "auto"


def plan_reasoning(setting: ReasoningEffort, rules: WireRules, *, has_reasoned: bool = False) -> Reasoning:
    """Return how a call with the owner's `setting` reasons.

    auto: little, where the model reasons by itself; else nothing is asked for. `has_reasoned`: it did, although it is
    not known to.
    """
    unasked = rules.model.unasked
    if not rules.is_known_to_reason:
        unasked = _SHOWN_TO_REASON if has_reasoned else unasked
        if setting == "auto" or setting == "none" or rules.provider.effort_form is EffortForm.UNKNOWN:
            return Reasoning(None, unasked)
        return Reasoning(setting, setting)
    wanted = (_AUTOMATIC if unasked != "none" else "none") if setting == "auto" else setting
    nearest = _nearest_effort(wanted, rules.efforts)
    if nearest is None and setting != "auto" and not rules.provider.hosts and rules.provider.effort_form:
        return Reasoning(wanted, wanted)  # An unknown server: the owner knows what it takes.
    if nearest is None or (nearest == unasked == "none"):
        return Reasoning(None, unasked)
    return Reasoning(nearest, nearest)


def effort_parameters(asked: Effort | None, rules: WireRules) -> dict[str, object]:
    """Return the arguments for litellm that ask for the level `asked`, in the provider's own form."""
    if asked is None:
        return {}
    match rules.provider.effort_form:
        case EffortForm.UNKNOWN:
            return {}
        case EffortForm.REASONING_EFFORT:
            return {"extra_body": {"reasoning_effort": asked}}
        case EffortForm.OPENROUTER:
            return {"extra_body": {"reasoning": {"effort": asked, "exclude": True}}}
        case EffortForm.DEEPSEEK:
            switch = {"thinking": {"type": "disabled" if asked == "none" else "enabled"}}
            return {"extra_body": switch if asked == "none" else {**switch, "reasoning_effort": asked}}
        case EffortForm.ANTHROPIC:
            return _anthropic_parameters(asked, rules)


def _anthropic_parameters(asked: Effort, rules: WireRules) -> dict[str, object]:
    if asked == "none":
        return {"thinking": {"type": "disabled"}}
    if rules.model.is_budgeted:
        return {"thinking": {"type": "enabled", "budget_tokens": ALLOWANCE_TOKENS[asked]}}
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": asked}}


def _nearest_effort(wanted: Effort, accepted: tuple[Effort, ...]) -> Effort | None:
    """Return `wanted` if it is accepted, else the next that is: more reasoning rather than less."""
    place = EFFORTS.index(wanted)
    return next((effort for effort in (*EFFORTS[place:], *reversed(EFFORTS[:place])) if effort in accepted), None)
