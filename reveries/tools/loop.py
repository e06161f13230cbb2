"""The tool loop: one schema-constrained step at a time, the same on every provider, until it ends.

The model names tools with their arguments, or submits its result; several steps at once where none needs to see the
result of another. The answer of a tool is added to the prompt as a record. The same call twice in a row, too many
steps, too much time or too much text ends the loop (V-86..V-89).
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import reduce
from operator import or_
from typing import Annotated, Any, Final, Generic, TypeVar, cast

import msgspec

from reveries.errors import ModelAnswerError, ToolError, UsageError
from reveries.tools.reach import CallFacts, digest_call
from reveries.tools.registry import ApprovalNeededError, Tool
from reveries.tools.results import MOST_RESULT_CHARS, ToolResult

Finish = TypeVar("Finish", bound=msgspec.Struct)

NO_STEP: Final = "(an answer that could not be used)"
MOST_STEPS_AT_ONCE: Final = 8
"""Steps in one answer: enough to write a few files and try them, few enough that a wrong turn costs little."""
_TAG = "tool"
_OLD_RESULT_CHARS = 600


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """Limits that end a loop."""

    steps: int = 25
    seconds: float = 1800.0
    chars: int = 2_000_000
    """Total over all prompts of the results in them. The ledger limits the cost."""


class StepState(StrEnum):
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """It was begun and interrupted, and may have taken effect."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call that was made, as it is shown to the model."""

    tool: str
    arguments: Mapping[str, object]
    text: str
    state: StepState = StepState.DONE

    @property
    def digest(self) -> str:
        return digest_call(self.tool, self.arguments)


@dataclass(frozen=True, slots=True)
class LoopEnd(Generic[Finish]):
    """How a loop ended: with a result, waiting for approval, or given up."""

    finish: Finish | None = None
    held: CallRecord | None = None
    """The call that waits for the owner's approval; `why_held` holds its facts."""
    why_held: CallFacts | None = None
    why_ended: str = ""
    """If it ended with neither: why, as a sentence."""


AskSteps = Callable[[Sequence[CallRecord]], Awaitable[Sequence[Any]]]
"""Asks the model for its next steps after these calls: structs of a tool's arguments or of the result. Raises
ModelAnswerError if no answer could be used."""
MakeCall = Callable[[str, Mapping[str, object], bool], Awaitable[ToolResult]]
"""Makes a call. The flag: it is unknown whether the call took effect before."""


@dataclass(slots=True)
class ToolLoop(Generic[Finish]):
    """One run of the loop. `calls` holds the calls of an earlier, interrupted run."""

    ask_steps: AskSteps
    make_call: MakeCall
    finish_type: type[Finish]
    limits: LoopLimits = field(default_factory=LoopLimits)
    calls: list[CallRecord] = field(default_factory=list)
    now: Callable[[], float] = time.monotonic
    review: Callable[[Finish], Awaitable[str]] | None = None
    """Looks at the result before the loop ends; returns what is to be mended, and then the loop goes on."""

    async def run(self) -> LoopEnd[Finish]:
        """Run until there is a result, a call needs approval, or a limit is reached. Steps of the same try before an
        interruption count. Errors of the model and of the budget are raised."""
        began, chars = self.now(), 0
        while len(self.calls) < self.limits.steps:
            try:
                steps = await self.ask_steps(self.calls)
            except ModelAnswerError as error:
                if why := self._note_unusable(error):
                    return LoopEnd(why_ended=why)
                continue
            chars += sum(len(call.text) for call in self.calls)
            if (why := self._why_end(began, chars)) or (end := await self._take(steps)) is not None:
                return LoopEnd(why_ended=why) if why else cast("LoopEnd[Finish]", end)
        return LoopEnd(why_ended=f"It had not finished after {self.limits.steps} steps.")

    async def _take(self, steps: Sequence[Any]) -> LoopEnd[Finish] | None:
        """Take the steps of one answer in order. One that fails ends them: what follows was meant for another result;
        so does the limit of steps. Return how the loop ends; None if the model is to be asked again."""
        for number, step in enumerate(steps, 1):
            name, arguments = name_of(step), arguments_of(step)
            if isinstance(step, self.finish_type):
                if not (to_mend := await self.review(step) if self.review is not None else ""):
                    return LoopEnd(finish=step)
                self.calls.append(CallRecord(name, arguments, to_mend, StepState.FAILED))
                return None
            if len(self.calls) >= self.limits.steps:
                return None
            if self._is_repeated(name, arguments):
                return LoopEnd(why_ended=f"It did the same twice in a row: {name}.")
            try:
                record, is_as_meant = await self._call(name, arguments)
            except ApprovalNeededError as error:
                return LoopEnd(held=CallRecord(name, arguments, ""), why_held=error.call)
            left = len(steps) - number
            self.calls.append(record if is_as_meant or not left else _without_rest(record, left))
            if not is_as_meant:
                return None
        return None

    def _note_unusable(self, error: ModelAnswerError) -> str:
        """Tell the model why its answer was not used: the same question would bring the same answer. Return why the
        loop ends if it was told that before."""
        if self.calls and self.calls[-1].tool == NO_STEP:
            return f"The model gave no usable answer: {error.message}"
        self.calls.append(CallRecord(NO_STEP, {}, f"{error.message} Answer otherwise.", StepState.FAILED))
        return ""

    async def _call(self, name: str, arguments: Mapping[str, object]) -> tuple[CallRecord, bool]:
        """Make a call. Return its record, and whether it went as it was meant to: a command that ends with another code
        than 0 did not."""
        digest = digest_call(name, arguments)
        last = next((call for call in reversed(self.calls) if call.digest == digest), None)
        is_unknown = last is not None and last.state is StepState.UNKNOWN
        try:
            result = await self.make_call(name, arguments, is_unknown)
        except (ToolError, UsageError) as error:
            return CallRecord(name, arguments, str(error)[:MOST_RESULT_CHARS], StepState.FAILED), False
        return CallRecord(name, arguments, result.text), not result.exit_code

    def _is_repeated(self, name: str, arguments: Mapping[str, object]) -> bool:
        last = self.calls[-1] if self.calls else None
        return last is not None and last.state is not StepState.UNKNOWN and last.digest == digest_call(name, arguments)

    def _why_end(self, began: float, chars: int) -> str:
        if self.now() - began > self.limits.seconds:
            return f"It had not finished after {self.limits.seconds / 60:.0f} minutes."
        return "It read more than one task may." if chars > self.limits.chars else ""


def answer_type(tools: Sequence[Tool], finish_type: type[Finish], hidden: frozenset[str] = frozenset()) -> type[Any]:
    """The type of one answer: a struct with `steps`, each of which is one tool's arguments or the result. Fields named
    in `hidden` are left out: code fills them in."""
    kinds = [_tagged(tool, hidden) for tool in tools]
    union = reduce(or_, [*kinds, finish_type])
    limits = msgspec.Meta(min_length=1, max_length=MOST_STEPS_AT_ONCE)
    several = Annotated[tuple[union, ...], limits]  # type: ignore[valid-type]  # The union of this task's tools.
    return msgspec.defstruct("NextSteps", [("steps", several)], frozen=True)


def _without_rest(record: CallRecord, left: int) -> CallRecord:
    what = "The step after it was" if left == 1 else f"The {left} steps after it were"
    return replace(record, text=f"{record.text}\n{what} not taken.")


def name_of(step: msgspec.Struct) -> str:
    """The name of the tool of a step."""
    return str(step.__struct_config__.tag)


def arguments_of(step: msgspec.Struct) -> dict[str, object]:
    """A step's arguments in plain values."""
    built = cast("dict[str, object]", msgspec.to_builtins(step))
    return {name: value for name, value in built.items() if name != _TAG}


def _tagged(tool: Tool, hidden: frozenset[str]) -> type[msgspec.Struct]:
    fields: list[Any] = []
    names: dict[str, str] = {}
    for argument in msgspec.structs.fields(tool.arguments):
        if argument.encode_name in hidden:
            continue
        names[argument.name] = argument.encode_name
        if argument.default is not msgspec.NODEFAULT:
            fields.append((argument.name, argument.type, argument.default))
        elif argument.default_factory is not msgspec.NODEFAULT:
            fields.append((argument.name, argument.type, msgspec.field(default_factory=argument.default_factory)))
        else:
            fields.append((argument.name, argument.type))
    return msgspec.defstruct(tool.name, fields, tag_field=_TAG, tag=tool.name, frozen=True, kw_only=True, rename=names)


def describe_tools(tools: Sequence[Tool], hidden: frozenset[str] = frozenset()) -> str:
    """One line per tool for a prompt: its name, arguments and description."""
    lines = []
    for tool in tools:
        names = [
            argument.encode_name
            for argument in msgspec.structs.fields(tool.arguments)
            if argument.encode_name not in hidden
        ]
        lines.append(f'- tool "{tool.name}": {", ".join(names) or "no arguments"}. {tool.description}')
    return "\n".join(lines)


def describe_calls(calls: Sequence[CallRecord], most_chars: int) -> str:
    """The calls made so far, for a prompt: whole if they fit, so that a provider finds the beginning in its cache; else
    the newest whole, older ones cut."""
    whole = [_describe_call(number, call, most_chars) for number, call in enumerate(calls, 1)]
    if sum(map(len, whole)) <= most_chars:
        return "\n".join(whole) or "nothing yet"
    parts = [whole[-1]]
    left = most_chars - len(whole[-1])
    for number in range(len(calls) - 1, 0, -1):
        if left <= _OLD_RESULT_CHARS:
            parts.append(f"({number} earlier steps are not shown)")
            break
        parts.append(_describe_call(number, calls[number - 1], max(_OLD_RESULT_CHARS, left // 2), _OLD_RESULT_CHARS))
        left -= len(parts[-1])
    return "\n".join(reversed(parts))


def _describe_call(number: int, call: CallRecord, most_chars: int, most_argument_chars: int | None = None) -> str:
    arguments = msgspec.json.encode(dict(call.arguments)).decode()[: most_argument_chars or most_chars]
    outcome = "" if call.state is StepState.DONE else f" ({call.state.value})"
    text = call.text if len(call.text) <= most_chars else f"{call.text[:most_chars]}\n(cut)"
    return f"{number}. {call.tool} {arguments}{outcome}\n{text}"
