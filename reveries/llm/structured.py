"""Structured answers: constrained where the model can be, parsed leniently, checked, repaired once (R-113).

A model's answer is untrusted input. The result has the requested type, or an error is raised and the caller uses its
fallback. No question is sent twice in the same words.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Protocol, TypeVar, cast

import msgspec

from reveries.errors import ModelAnswerError
from reveries.llm.base import ChatMessage, ChatModel, Delta, Finished, FinishReason, Prompt
from reveries.llm.hidden_thinking import without_thinking
from reveries.prompts import prompt as read_prompt

Answer = TypeVar("Answer")

_MAX_STARTS = 8
_MAX_SHOWN_CHARS = 2000
_MAX_PROBLEM_CHARS = 300
_NOT_SENT = ("title", "default", "discriminator")
"""Parts of a schema that say nothing about the answer. A discriminator points to references, which are inlined."""
_DECODER = json.JSONDecoder(strict=False)
_FENCED = re.compile(r"```[\w-]*\s*\n(.*?)(?:```|\Z)", re.DOTALL)


class AnswerOutcome(StrEnum):
    """The outcome of one structured question."""

    VALID = "valid"
    REPAIRED = "repaired"
    """Valid after the model was shown its error."""
    FAILED = "failed"


class AnswerRecorder(Protocol):
    """Counts how often a model's answers are valid."""

    async def record(self, model: str, outcome: AnswerOutcome) -> None:
        """Record the outcome of one question to `model`."""
        ...


class _UnusableError(Exception):
    """Why an answer cannot be used, in words that the model is shown."""


async def ask_structured(
    model: ChatModel,
    prompt: Prompt,
    type_: type[Answer],
    schema: Mapping[str, object] | None = None,
    *,
    clamp: Callable[[Answer], Answer] | None = None,
    recorder: AnswerRecorder | None = None,
) -> Answer:
    """Send `prompt` and parse the answer as `type_`; `clamp` may bring its values into range.

    `schema` None: the prompt's own, else one made from `type_`. `recorder` receives the outcome, except when the call
    brought no answer. Raises ModelAnswerError after one repair, and whatever `model.stream` raises.
    """
    try:
        answer, outcome = await _ask_structured_once(model, prompt, type_, schema, clamp)
    except ModelAnswerError:
        if recorder is not None:
            await recorder.record(model.name, AnswerOutcome.FAILED)
        raise
    if recorder is not None:
        await recorder.record(model.name, outcome)
    return answer


async def _ask_structured_once(
    model: ChatModel,
    prompt: Prompt,
    type_: type[Answer],
    schema: Mapping[str, object] | None,
    clamp: Callable[[Answer], Answer] | None,
) -> tuple[Answer, AnswerOutcome]:
    chosen = schema if schema is not None else prompt.schema
    first = replace(prompt, schema=chosen if chosen is not None else schema_of(type_))
    text = ""
    try:
        text, reason = await collect(model, first)
        return _read_answer(text, reason, type_, clamp), AnswerOutcome.VALID
    except _UnusableError as problem:
        repair = _repair_prompt(first, text, str(problem))
    try:
        return _read_answer(*await collect(model, repair), type_, clamp), AnswerOutcome.REPAIRED
    except _UnusableError as problem:
        raise ModelAnswerError(
            f"{model.name} did not answer in the form that was asked for: {problem}",
            advice="What was asked about is kept; it is asked again later.",
        ) from problem


async def collect(model: ChatModel, prompt: Prompt) -> tuple[str, FinishReason]:
    """Return the whole text of one call, and why it ended."""
    pieces: list[str] = []
    reason = FinishReason.STOP
    async with contextlib.aclosing(model.stream(prompt)) as events:
        async for event in events:
            if isinstance(event, Delta):
                pieces.append(event.text)
            elif isinstance(event, Finished):
                reason = event.reason
    return "".join(pieces), reason


def parse(text: str, type_: type[Answer]) -> Answer:
    """Return the first JSON value of `type_` in `text`, ignoring prose and code fences around it.

    Numbers written as strings are accepted. Raises ValueError saying what is wrong.
    """
    problem = "there is no JSON object in it"
    for candidate in _candidates(without_thinking(text)):
        try:
            return msgspec.json.decode(candidate.encode("utf-8", "replace"), type=type_, strict=False)
        except (msgspec.MsgspecError, RecursionError) as error:
            # "Malformed" does not help a model that wrote prose; the error of an object does.
            if candidate.lstrip().startswith("{"):
                problem = str(error) or "it is nested too deep"
    raise ValueError(problem)


def schema_of(type_: type[object]) -> dict[str, object]:
    """Return a JSON schema of `type_` with references inlined, every field required and no others allowed.

    Models leave out optional fields; a type's defaults are for answers that were not constrained.
    """
    schema = msgspec.json.schema(type_)
    definitions = schema.pop("$defs", {})
    return cast("dict[str, object]", _closed_schema(_inline_definitions(schema, definitions, ())))


def _inline_definitions(node: object, definitions: Mapping[str, object], inside: tuple[str, ...]) -> object:
    if isinstance(node, list):
        return [_inline_definitions(item, definitions, inside) for item in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("$ref")
    if isinstance(reference, str):
        name = reference.rpartition("/")[2]
        if name in inside:
            return {}  # a recursive type: from here on, anything
        return _inline_definitions(definitions[name], definitions, (*inside, name))
    return {key: _inline_definitions(value, definitions, inside) for key, value in node.items()}


def _closed_schema(node: object) -> object:
    if isinstance(node, list):
        return [_closed_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    properties = node.get("properties")
    if not isinstance(properties, dict):
        return {key: _closed_schema(value) for key, value in node.items() if key not in _NOT_SENT}
    return {
        "type": "object",
        "properties": {name: _closed_schema(value) for name, value in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


def _read_answer(
    text: str, reason: FinishReason, type_: type[Answer], clamp: Callable[[Answer], Answer] | None
) -> Answer:
    try:
        answer = parse(text, type_)
    except ValueError as error:
        cut = "It was cut off because it was too long: be shorter. " if reason is FinishReason.LENGTH else ""
        raise _UnusableError(f"{cut}{str(error)[:_MAX_PROBLEM_CHARS]}") from error
    return clamp(answer) if clamp is not None else answer


def _repair_prompt(prompt: Prompt, text: str, problem: str) -> Prompt:
    return replace(
        prompt,
        messages=(
            *prompt.messages,
            ChatMessage("assistant", text[:_MAX_SHOWN_CHARS] or "…"),
            ChatMessage("user", read_prompt("answer_repair", problem=problem)),
        ),
    )


def _candidates(text: str) -> Iterator[str]:
    """Yield what may be the object: the whole text, fenced blocks, then every {…} that is JSON."""
    yield text
    for fenced in _FENCED.finditer(text):
        yield fenced[1]
    start = text.find("{")
    for _ in range(_MAX_STARTS):
        if start < 0:
            return
        try:
            _, end = _DECODER.raw_decode(text, start)
            yield text[start:end]
        except (ValueError, RecursionError):
            end = start + 1
        start = text.find("{", end)
