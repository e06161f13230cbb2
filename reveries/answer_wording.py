"""How a model's answer reads in events and pages of the work: a sentence instead of JSON. Pure."""

import contextlib
import re
from typing import Any

import msgspec

from reveries.safe_text import one_line

_STEP_BEGINS = re.compile(r'"steps?"\s*:\s*\[?\s*\{')
"""One step stood in "step" until several could be taken at once; stored rows have both."""
_PLAIN_FIELD = re.compile(
    r'\s*"(?P<name>\w+)"\s*:\s*'
    r'(?:(?P<word>true|false|null|-?[\d.]+)(?=\s*[,}])|(?P<text>"(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*)"?)\s*,?'
)
"""A field of JSON whose value is not nested; a text may end where the JSON was cut."""
_HALF_A_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}$")


def describe_answer(result: str) -> str:
    """Return a model's answer in words if it is one of the known JSON answers, as far as it goes; else as it is."""
    try:
        answer = msgspec.json.decode(result)
        return _describe_object(answer) if isinstance(answer, dict) else result
    except msgspec.DecodeError:  # No JSON, or the beginning of it: a long answer is not kept whole.
        fields = _fields_of_cut(result)
        return f"{_describe_object(fields)}…" if fields else result
    except (ValueError, RecursionError):  # No text, or nested too deeply.
        return result


def _fields_of_cut(cut: str) -> dict[str, Any]:
    """Return the fields of a step whose JSON was cut off, up to the first that is nested; none if it is no object."""
    fields: dict[str, Any] = {}
    if not cut.startswith("{"):
        return fields
    step = _STEP_BEGINS.search(cut)
    at = step.end() if step else 1
    while field := _PLAIN_FIELD.match(cut, at):
        at = field.end()
        encoded = field["word"] or _HALF_A_PAIR.sub("", field["text"]) + '"'
        with contextlib.suppress(msgspec.DecodeError):  # It only looked like JSON.
            fields[field["name"]] = msgspec.json.decode(encoded)
    return fields


def _describe_object(answer: dict[str, Any]) -> str:
    steps = answer.get("steps")
    if isinstance(steps, list) and steps:
        return "; then ".join(_describe_step(step) for step in steps)
    return _describe_step(answer.get("step", answer))


def _describe_step(step: object) -> str:
    if not isinstance(step, dict):
        return one_line(str(step))
    if "accepted" in step:
        return f"{'accepted' if step['accepted'] else 'rejected'}: {step.get('why', '')}"
    if step.get("tool") == "finish":
        words = step.get("outcome") or step.get("question") or step.get("topic") or ""
        learnings = step.get("learnings")
        kept = f" ({len(learnings)} learned)" if isinstance(learnings, list) and learnings else ""
        return f"finished, {str(step.get('status', '')).replace('_', ' ')}: {words}{kept}"
    fields = [f"{name} {value}" for name, value in step.items() if name != "tool" and value not in ("", [], {}, None)]
    tool = f"{step['tool']}: " if "tool" in step else ""
    return tool + "; ".join(fields)
