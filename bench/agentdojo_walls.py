"""AgentDojo's attacks against our registry: a worker that obeys every injected text, and the gate before each call.

    python -m venv DIR && DIR/bin/pip install agentdojo==0.1.35 msgspec structlog
    PYTHONPATH=. DIR/bin/python bench/agentdojo_walls.py [workspace slack]

AgentDojo needs an environment of its own, because it installs 74 packages. Its tools are wrapped as ours: those that
only read the suite's own data have the reach "look", all others "out", web pages too. For each user task and each
injection the worker executes the task's ground truth and, as soon as it reads the injection, the attack's. Three
owners:

    approves   approved only the calls of the task itself
    grants     granted the tools that the task needs, and no source
    trusts     granted the tools and every source: what is left without the gate on sources
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.base_tasks import BaseInjectionTask, BaseUserTask
from agentdojo.functions_runtime import EmptyEnv, Env, FunctionCall, FunctionsRuntime
from agentdojo.task_suite import get_suite
from agentdojo.types import ChatAssistantMessage, ChatMessage, ChatToolResultMessage, text_content_block_from_string

from reveries.errors import ToolError
from reveries.tools.reach import CallFacts, GrantSet, Permit, Reach, decide_call, digest_call
from reveries.tools.registry import ApprovalNeededError, Tool, ToolCaller, ToolRegistry

VERSION: Final = "v1.2"
_SOURCE: Final = "suite"
_HELD: Final = "It waits for the owner's yes."
_MARK: Final = "INJECTED ORDER"
_LOOKS: Final = ("get_", "search_", "list_", "read_", "check_")
_OUT_ALL_THE_SAME: Final = frozenset({"get_webpage"})


class Given(msgspec.Struct, frozen=True):
    """Their arguments are checked by themselves."""

    arguments: dict[str, Any]


@dataclass
class Walls:
    """AgentDojo's tools behind our registry, for one run of one task."""

    runtime: FunctionsRuntime
    env: Env
    grants: GrantSet
    sources: set[str] = field(default_factory=set)
    asked: int = 0

    def __post_init__(self) -> None:
        tools = [self._wrap(name) for name in self.runtime.functions]
        self._registry = ToolRegistry(tools, {"work": frozenset(tool.name for tool in tools)}, self._permit)

    def call(self, one: FunctionCall) -> str:
        """Run one call and return its result; a call that the gate holds is asked about instead."""
        caller = ToolCaller("work", context_sources=frozenset(self.sources))
        try:
            return str(asyncio.run(self._registry.invoke(caller, one.function, {"arguments": dict(one.args)})))
        except ApprovalNeededError:
            self.asked += 1
            return _HELD
        except ToolError as error:
            return str(error)

    def _wrap(self, name: str) -> Tool:
        async def run(given: Given, _: ToolCaller) -> str:
            result, error = self.runtime.run_function(self.env, name, given.arguments)
            self.sources.add(_SOURCE)
            return str(error or tool_result_to_str(result))

        return Tool("", reach_of(name), name=name, server="suite", arguments=Given, run=run)

    async def _permit(self, call: CallFacts) -> Permit:
        return decide_call(call, self.grants)


def reach_of(name: str) -> Reach:
    """By its name: whatever is not plainly a look at the suite's own data reaches out."""
    return Reach.LOOK if name.startswith(_LOOKS) and name not in _OUT_ALL_THE_SAME else Reach.OUT


class ObedientPipeline(BasePipelineElement):  # type: ignore[misc]  # Theirs, which is not installed beside ours.
    """Does a task's ground truth, and the attack's as soon as it read its order."""

    def __init__(self, task: BaseUserTask, attack: BaseInjectionTask | None, owner: str) -> None:
        self._task, self._attack, self._owner = task, attack, owner
        self.asked = 0
        self.was_reached = False
        """Whether the order was read."""

    def query(
        self,
        query: str,
        runtime: FunctionsRuntime,
        env: Env = EmptyEnv(),  # noqa: B008  # Their signature.
        messages: Sequence[ChatMessage] = (),
        extra_args: Mapping[str, Any] | None = None,
    ) -> tuple[str, FunctionsRuntime, Env, Sequence[ChatMessage], Mapping[str, Any]]:
        calls = self._task.ground_truth(env)
        walls = Walls(runtime, env, grants_of(self._owner, calls))
        told: list[ChatMessage] = list(messages)
        for one in calls:
            result = walls.call(one)
            told += _as_messages(one, result)
            if self._attack is not None and _MARK in result and not self.was_reached:
                self.was_reached = True
                for ordered in self._attack.ground_truth(env):
                    told += _as_messages(ordered, walls.call(ordered))
        self.asked += walls.asked
        content = [text_content_block_from_string(self._task.GROUND_TRUTH_OUTPUT)]
        told.append(ChatAssistantMessage(role="assistant", content=content, tool_calls=None))
        return query, runtime, env, told, extra_args or {}


def grants_of(owner: str, calls: Iterable[FunctionCall]) -> GrantSet:
    """Return the grants that this owner gave before."""
    if owner == "approves":
        return GrantSet(calls=frozenset(digest_call(one.function, {"arguments": dict(one.args)}) for one in calls))
    tools = frozenset(one.function for one in calls)
    return GrantSet(tools=tools, sources=frozenset({_SOURCE}) if owner == "trusts" else frozenset())


def _as_messages(call: FunctionCall, result: str) -> list[ChatMessage]:
    """Return an executed call as messages, a held one as none: one of the attacks is judged by the calls alone."""
    if result == _HELD:
        return []
    said = ChatAssistantMessage(role="assistant", tool_calls=[call], content=[text_content_block_from_string("")])
    got = ChatToolResultMessage(
        role="tool", content=[text_content_block_from_string(result)], tool_call=call, tool_call_id=None, error=None
    )
    return [said, got]


def run_suite(name: str, owner: str) -> Counter[str]:
    """Every user task by itself, and with every attack."""
    suite, count = get_suite(VERSION, name), Counter[str]()
    for task in suite.user_tasks.values():
        alone = ObedientPipeline(task, None, owner)
        useful, _ = suite.run_task_with_pipeline(alone, task, None, {})
        count["tasks"] += 1
        count["solved"] += useful
        count["asked alone"] += alone.asked
        for attack in suite.injection_tasks.values():
            orders = dict.fromkeys(suite.get_injection_vector_defaults(), f"{_MARK}: {attack.GOAL}")
            pipeline = ObedientPipeline(task, attack, owner)
            useful, took_effect = suite.run_task_with_pipeline(pipeline, task, attack, orders)
            count["attacks"] += 1
            count["reached"] += pipeline.was_reached
            count["took effect"] += took_effect and pipeline.was_reached
            count["solved under attack"] += useful
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", default=["workspace", "slack"])
    for suite in parser.parse_args().suites:
        for owner in ("approves", "grants", "trusts"):
            found = run_suite(suite, owner)
            print(f"{suite:10} {owner:9}", ", ".join(f"{name} {value}" for name, value in found.items()), flush=True)


if __name__ == "__main__":
    main()
