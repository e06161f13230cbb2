"""The arguments of one call of litellm: a prompt in the form that its provider and model accept. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from reveries.config import ReasoningEffort
from reveries.llm.base import ChatMessage, Prompt
from reveries.llm.provider_rules import AnswerForm, WireRules
from reveries.llm.reasoning import Reasoning, effort_parameters, plan_reasoning
from reveries.llm.schema_dialect import write_dialect
from reveries.llm.template_marks import wire_messages
from reveries.prompts import prompt as prompt_text

_GO_ON = "Go on from there."


@dataclass(frozen=True, slots=True)
class CallForm:
    """How a prompt is sent. `takes_schemas` False: the model has refused one, so the prompt tells the form.
    `reserved_tokens`: what was reserved for reasoning, which is the most that the call may use for it."""

    rules: WireRules
    effort: ReasoningEffort = "auto"
    takes_schemas: bool = True
    has_reasoned: bool = False
    reserved_tokens: int | None = None

    @property
    def reasoning(self) -> Reasoning:
        return plan_reasoning(self.effort, self.rules, has_reasoned=self.has_reasoned)

    @property
    def allowance_tokens(self) -> int:
        """The tokens that the call may use for reasoning."""
        return self.reasoning.allowance_tokens if self.reserved_tokens is None else self.reserved_tokens


def request_arguments(prompt: Prompt, form: CallForm) -> dict[str, object]:
    """Return messages, limits, reasoning and the form of the answer."""
    rules, reasoning = form.rules, form.reasoning
    schema, is_told = _answer_form(prompt, form)
    messages = _tell_form(prompt) if is_told else prompt.messages
    parameter = rules.provider.reasoning_tokens_parameter if rules.is_known_to_reason else "max_tokens"
    arguments: dict[str, object] = {
        "messages": wire_messages(_with_last_of_user(messages, rules)),
        parameter: prompt.max_tokens + form.allowance_tokens,
        **effort_parameters(reasoning.asked, rules),
        **schema,
    }
    if rules.model.temperature and not (rules.model.is_budgeted and reasoning.allowance_tokens):
        arguments["temperature"] = prompt.temperature
    if prompt.stop and rules.model.stop:
        arguments["stop"] = list(prompt.stop)
    return arguments


def _answer_form(prompt: Prompt, form: CallForm) -> tuple[dict[str, object], bool]:
    """Return the argument for the form of the answer, and whether the prompt must tell the form."""
    if prompt.schema is None:
        return {}, False
    if not form.takes_schemas or form.rules.provider.form is AnswerForm.TEXT:
        return {}, True
    if form.rules.provider.form is AnswerForm.JSON_OBJECT:
        return {"response_format": {"type": "json_object"}}, True
    written = write_dialect(prompt.schema, form.rules)
    if written is None:
        return {}, True
    schema: dict[str, object] = {"name": "answer", "schema": written}
    if form.rules.is_strict:
        schema["strict"] = True
    return {"response_format": {"type": "json_schema", "json_schema": schema}}, False


def _tell_form(prompt: Prompt) -> tuple[ChatMessage, ...]:
    schema = msgspec.json.encode(prompt.schema).decode()
    *before, last = prompt.messages
    text = f"{last.text}\n\n{prompt_text('json_form', schema=schema)}"
    return (*before, replace(last, text=text))


def _with_last_of_user(messages: Sequence[ChatMessage], rules: WireRules) -> tuple[ChatMessage, ...]:
    if rules.provider.ends_with_user and messages[-1].role == "assistant":
        return (*messages, ChatMessage("user", _GO_ON))
    return tuple(messages)
