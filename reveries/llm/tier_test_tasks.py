"""The tasks by which a model's tier is tested, and what counts as right. Pure; no model judges another.

The tasks are fixed and sent at temperature 0, so that a test gives the same result twice. Each stands for something
that the mind asks of a model every day: an answer under a schema (sleep), telling apart the owner, the people around
them and the mind itself, what notes say and what they do not, ending when all is said; and for work on projects the
next step of a task, whether a text holds an answer, and that a text is read and not obeyed.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Final, Literal

import msgspec

from reveries.llm.base import ChatMessage, FinishReason, Prompt, Role
from reveries.llm.structured import parse

UNKNOWN = "NOT IN THE NOTES"

_SYSTEM = "You talk with the person who owns you, the owner. Answer briefly."
_REPEATED_WORDS = 6
_QUOTE_SHARE = 0.75
_SENTENCE_END = re.compile(r"[.!?…]+(?=\s+\w)")


class TaskGroup(StrEnum):
    """What a task is about. All groups but `SIGHT` count the same."""

    FORM = "form"
    """It follows a schema, with the right content."""
    PERSONS = "persons"
    """It keeps persons apart: the owner, those of whom the owner tells, itself."""
    NOTES = "notes"
    """It answers from notes, and says when they do not say."""
    ENDING = "ending"
    """It stops by itself when it has done what it was asked for, and repeats nothing."""
    STEPS = "steps"
    """It chooses the next step of a task: neither one that was done nor an end too early."""
    EVIDENCE = "evidence"
    """It says whether a text holds the answer to a question."""
    UNTRUSTED = "untrusted"
    """It obeys no order that is in a text it was given."""
    SIGHT = "sight"
    """It reads numbers in pictures (`sight`): asked only of models whose name says that they see, and no part of the
    tier."""


TIER_GROUPS: Final = tuple(group for group in TaskGroup if group is not TaskGroup.SIGHT)
"""The groups that make a tier."""


class FormField(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A field of the answer. A quote is right when it stands word for word in the text, is not nearly all of it, and
    holds `right`; everything else has to equal it."""

    asks: str
    kind: Literal["text", "number", "yes_or_no", "choice", "quote"]
    right: str | int | bool
    choices: tuple[str, ...] = ()


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One question with what is right about an answer."""

    name: str
    group: TaskGroup
    ask: str
    notes: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    """What was said, the owner's words and replies by turns."""
    text: str = ""
    """What the fields are about."""
    fields: Mapping[str, FormField] = {}
    says_when_unknown: bool = False
    needs: tuple[str, ...] = ()
    """Patterns that must all be found."""
    never: tuple[str, ...] = ()
    """Patterns of which none may be found."""
    most_words: int = 0
    """This and the next two: 0 for as many as it likes."""
    most_sentences: int = 0
    most_lines: int = 0
    max_tokens: int = 64


class _TaskTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    task: tuple[Task, ...]


@cache
def all_tasks() -> tuple[Task, ...]:
    """Return the tasks in the order in which they are sent."""
    source = resources.files("reveries.llm").joinpath("tier_test_tasks.toml").read_bytes()
    return msgspec.toml.decode(source, type=_TaskTable).task


def prompt_of(task: Task, role: Role, least_tokens: int = 0) -> Prompt:
    """Return the call for `task`, with at least `least_tokens` for the answer."""
    system = _SYSTEM
    if task.notes:
        system += "\nYour notes:\n" + "\n".join(f"- {note}" for note in task.notes)
    earlier_messages = [
        ChatMessage("assistant" if place % 2 else "user", text) for place, text in enumerate(task.before)
    ]
    messages = (ChatMessage("system", system), *earlier_messages, ChatMessage("user", _task_question(task)))
    schema = _schema_of_fields(task.fields) if task.fields else None
    return Prompt(role, messages, max(task.max_tokens, least_tokens), 0.0, schema=schema)


def is_right(task: Task, text: str, reason: FinishReason) -> bool:
    """Whether `text`, which ended for `reason`, does what the task asks."""
    answer = text.replace("’", "'").strip()
    if task.fields:
        return _is_form_right(task, answer)
    if not all(re.search(pattern, answer, re.IGNORECASE) for pattern in task.needs):
        return False
    if any(re.search(pattern, answer, re.IGNORECASE) for pattern in task.never):
        return False
    return task.group is not TaskGroup.ENDING or _is_ended(task, answer, reason)


def _task_question(task: Task) -> str:
    if task.says_when_unknown:
        return f"{task.ask}\nAnswer from your notes alone. If they do not say it, answer only: {UNKNOWN}"
    if not task.fields:
        return task.ask
    fields = "\n".join(f'"{name}": {_field_description(field)}' for name, field in task.fields.items())
    return f"Text: {task.text}\n{task.ask} Answer with one JSON object and nothing else:\n{fields}"


def _field_description(field: FormField) -> str:
    return f"{field.asks} (one of: {', '.join(field.choices)})" if field.choices else field.asks


def _schema_of_fields(fields: Mapping[str, FormField]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {name: _field_schema(field) for name, field in fields.items()},
        "required": list(fields),
        "additionalProperties": False,
    }


def _field_schema(field: FormField) -> dict[str, object]:
    match field.kind:
        case "number":
            return {"type": "integer"}
        case "yes_or_no":
            return {"type": "boolean"}
        case "choice":
            return {"type": "string", "enum": list(field.choices)}
        case _:
            return {"type": "string"}


def _is_form_right(task: Task, text: str) -> bool:
    try:
        answer = parse(text, dict[str, object])
    except ValueError:
        return False
    return answer.keys() == task.fields.keys() and all(
        _is_field_right(field, answer[name], task.text) for name, field in task.fields.items()
    )


def _is_field_right(field: FormField, value: object, text: str) -> bool:
    if type(value) is not type(field.right):
        return False
    if not isinstance(value, str) or not isinstance(field.right, str):
        return value == field.right
    given = value.strip(" \n\"'.,!?")
    if field.kind == "quote":
        return given in text and field.right in given and len(given) < _QUOTE_SHARE * len(text)
    return given.casefold() == field.right.casefold()


def _is_ended(task: Task, text: str, reason: FinishReason) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    sentences = len(_SENTENCE_END.findall(text)) + 1
    return (
        reason is FinishReason.STOP
        and not _repeats(text)
        and len(text.split()) <= (task.most_words or len(text))
        and sentences <= (task.most_sentences or sentences)
        and len(lines) <= (task.most_lines or len(lines))
    )


def _repeats(text: str) -> bool:
    """Whether a line, or six words in a row, occur twice."""
    lines = [line.strip().casefold() for line in text.splitlines() if line.strip()]
    words = text.casefold().split()
    runs = [tuple(words[place : place + _REPEATED_WORDS]) for place in range(len(words) - _REPEATED_WORDS + 1)]
    return len(set(lines)) < len(lines) or len(set(runs)) < len(runs)
