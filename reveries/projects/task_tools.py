"""The tools of one try of a task: what it may call, what each call needs, what it leaves in rows and in the folder."""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

import msgspec

from reveries import gates
from reveries.config import WebSettings
from reveries.errors import ToolError
from reveries.gates import ToolGate
from reveries.knowledge.model import Chunk
from reveries.projects.approvals import HeldCall
from reveries.projects.grants import GRANTABLE_TOOLS, grants_for_task, read_grants
from reveries.projects.material import list_chunks
from reveries.projects.model import AgentState, QuestionKind, WorkStep, WorkTask
from reveries.projects.server_tools import OpenServer, ServerTools
from reveries.projects.store import NewQuestion, ProjectStore
from reveries.projects.watching import StepRows
from reveries.safe_text import one_line
from reveries.tools.folder_copies import FolderCopies
from reveries.tools.folder_tools import CHANGING, LOOKING, RUNNING, FolderTools
from reveries.tools.loop import CallRecord, StepState
from reveries.tools.reach import CallFacts, Permit, Reach, decide_call, digest_call, source_of_host
from reveries.tools.registry import Tool, ToolCaller, ToolRegistry
from reveries.tools.results import ToolResult
from reveries.tools.sandbox import Sandbox
from reveries.tools.worker import FolderAccess, open_folder_worker

if TYPE_CHECKING:
    from reveries.tools.web import WebTools

WORK_ROLE: Final = "work"
_FOUND: Final = 8
_MOST_FOUND_CHARS: Final = 8_000
_MOST_SHOWN_CHARS: Final = 1_200
_MOST_SHOWN_FILES: Final = 6
_UNKNOWN: Final = "It was begun, and then the mind was stopped: nobody knows whether it happened."


def open_web_tools(owner_words: str, search_url: str) -> "WebTools":
    """Late: a mind that looks nothing up does not carry what that takes."""
    from reveries.tools.web import WebTools

    return WebTools(owner_words, search_url)


@dataclass(frozen=True, kw_only=True)
class ToolServices:
    """What tools are made of on this machine."""

    sandbox: Sandbox
    copies: FolderCopies
    web: Callable[[], WebSettings]
    open_web: "Callable[[str, str], WebTools]" = open_web_tools
    """By the owner's words and the address of the search."""
    open_server: OpenServer


HoldBreak = Callable[[], AbstractContextManager[None]]


class SearchKnowledge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[str, msgspec.Meta(min_length=1, max_length=400)]


FindChunks = Callable[[str, int], Awaitable[list[Chunk]]]


@dataclass(kw_only=True)
class TaskTools:
    """Opened for one try, closed at its end: no worker outlives it."""

    services: ToolServices
    store: ProjectStore
    state: AgentState
    task: WorkTask
    steps: StepRows
    find_chunks: FindChunks
    sources: set[str]
    """Foreign sources of all that was looked at in this try: results add theirs."""
    names: dict[str, str] = field(default_factory=dict)
    """By the name that stands before the model ("k1"): the id of a chunk."""
    servers: ServerTools | None = None
    """Opened; closed with these."""
    hold_break: HoldBreak = contextlib.nullcontext
    """While it is held, a word of the owner waits: what changes something comes to its end, and its result is kept."""

    def __post_init__(self) -> None:
        self._shown_sources: dict[str, str] = {}
        self._files: dict[str, str] = {}
        self._runs: dict[str, tuple[int, str]] = {}
        self.folder = folder_access(self.state)
        self._worker = open_folder_worker(self.services.sandbox, self.folder) if self.folder is not None else None
        if self.servers is not None and gates.is_enforced(ToolGate.RESULT):
            self.sources |= self.servers.sources
        every = [replace(tool, run=self._recorded(tool)) for tool in self._every_tool()]
        listed = frozenset(self._listed())
        self.tools = [tool for tool in every if tool.name in listed]
        """What the role of work may call in this project."""
        self._registry = ToolRegistry(every, {WORK_ROLE: listed & {tool.name for tool in every}}, self._permit)

    async def call(self, name: str, arguments: Mapping[str, object], is_unknown: bool = False) -> str:
        """One call by the role of work. Raises what the registry raises."""
        caller = ToolCaller(WORK_ROLE, session_id=self.state.session_id, context_sources=frozenset(self.sources))
        result = await self._registry.invoke(caller, name, arguments, is_unknown=is_unknown)
        assert isinstance(result, ToolResult)
        return result.text

    async def earlier_calls(self) -> list[CallRecord]:
        """What this try did before it was broken off, or waited for a yes; and of earlier tries, what nobody knows
        whether it happened and must not happen twice."""
        steps = [one for one in await self.store.steps_of(self.task.id) if one.reach]
        since = self.task.try_began_at if self.task.try_began_at is not None else math.inf
        kept = [
            one
            for number, one in enumerate(steps)
            if one.began_at >= since or (self._is_in_doubt(one) and not _is_settled(one, steps[number + 1 :]))
        ]
        return [await self._replay(one) for one in kept]

    def _is_in_doubt(self, step: WorkStep) -> bool:
        is_repeatable = any(tool.name == step.tool and tool.is_repeatable for tool in self.tools)
        return step.state == "unknown" and not is_repeatable

    async def close(self) -> None:
        """End what was started, and write down how the folder was left."""
        if self.servers is not None:
            await self.servers.close()
        if self._worker is not None:
            await self._worker.close()
            assert self.folder is not None
            await asyncio.to_thread(self.services.copies.note_end, self.task.id, self.folder.path)

    async def read(self, path: str) -> str:
        """A file of the folder whole, by code. Raises ToolError."""
        assert self._worker is not None
        self.sources |= {"folder"}
        return str(await self._worker.call("read", {"path": path}))

    async def find(self, pattern: str) -> list[str]:
        """Paths of the folder that match, by code. Raises ToolError."""
        assert self._worker is not None
        return [str(one["path"]) for one in await self._worker.call("find", {"pattern": pattern})]

    # --- evidence -----------------------------------------------------------------------------------------------------

    async def digests(self, paths: tuple[str, ...]) -> dict[str, str]:
        """The SHA-256 of those of these files that are there."""
        found: dict[str, str] = {}
        for path in paths:
            try:
                found[path] = str(await self._worker.call("digest", {"path": path})) if self._worker else ""
            except ToolError:
                continue
        return {path: digest for path, digest in found.items() if digest}

    @property
    def commands(self) -> dict[str, int]:
        """What each command that was run ended with, the last time."""
        return {command: code for command, (code, _) in self._runs.items()}

    async def describe(self) -> list[str]:
        """What was done, for fresh eyes: commands with their end, files with their beginning."""
        lines = [f"- command, ended with {code}: {one_line(run)} ({said})" for run, (code, said) in self._runs.items()]
        for path in list(self._files)[-_MOST_SHOWN_FILES:]:
            try:
                text = await self.read(path)
            except ToolError:
                lines.append(f"- file {path}: it is not there any more")
                continue
            lines.append(f"- file {path}, {len(text):,} characters: {one_line(text, _MOST_SHOWN_CHARS)}")
        return lines

    # --- what waits for the owner -------------------------------------------------------------------------------------

    async def approval_for(self, call: CallRecord, why: CallFacts) -> NewQuestion:
        """The question whether this call may be made: with its tool, its arguments, and why it is asked."""
        granted = grants_for_task(await read_grants(self.store.database, self.task.project_id), self.task.id)
        missing = sorted(self._shown_sources.get(one, one) for one in why.foreign_sources - granted.sources)
        is_out = why.reach is Reach.OUT
        arguments = msgspec.json.encode(dict(call.arguments)).decode()
        # A server's tool is granted as it is then, by `grant give` alone.
        to_grant = call.tool if is_out and call.tool in GRANTABLE_TOOLS else ""
        held = HeldCall(call.tool, arguments, why.digest, to_grant, tuple(missing) if is_out else ())
        told = [f"{call.tool} {arguments}", f"It is part of “{self.task.title}”."]
        if why.is_unknown:
            told.append("It was begun before the mind was stopped, and may have happened already.")
        if missing and is_out:
            told.append(f"What it read before may have led it there: {', '.join(missing)}.")
        ask = "May it do this again?" if why.is_unknown else "May it do this?"
        answers = "once, this task, always, or no" if is_out else "once, or no"
        return NewQuestion(
            f"{ask} {call.tool}: {_essence(call)} Say {answers}.",
            QuestionKind.APPROVAL,
            context="\n".join(told),
            blocks=(self.task.id,),
            task_id=self.task.id,
            payload=msgspec.json.encode(held).decode(),
            foreign_sources=why.foreign_sources,
        )

    # --- within -------------------------------------------------------------------------------------------------------

    def _every_tool(self) -> list[Tool]:
        found = [Tool("search", "knowledge", "What the project knows.", Reach.LOOK, SearchKnowledge, self._search)]
        if self._worker is not None:
            found += FolderTools(self._worker, self._before_change).tools()
        words = "\n".join(self._owner_words())
        self._web = self.services.open_web(words, self.services.web().search_url)
        found += self._web.tools()
        return found + (self.servers.tools if self.servers is not None else [])

    def _listed(self) -> list[str]:
        """Nothing is written where the folder may only be read, run without a sandbox, or looked up outside where that
        is off."""
        may_write = self.folder is not None and self.folder.may_write
        web = self.services.web()
        return [
            "search",
            *LOOKING,
            *(CHANGING if may_write else ()),
            *(RUNNING if may_write and self.services.sandbox.can_run else ()),
            *(("fetch",) if web.enabled else ()),
            *(("web_search",) if web.enabled and web.search_url else ()),
            *(tool.name for tool in (self.servers.tools if self.servers is not None else ())),
        ]

    def _owner_words(self) -> list[str]:
        """What the owner wrote: the goal, and answers to questions that no foreign text had a hand in."""
        goal = [self.state.goal.text] if self.state.goal is not None else []
        own = [one for one in self.state.questions if not one.foreign_sources]
        return [*goal, *(one.answer for one in own if one.answer)]

    async def _search(self, given: SearchKnowledge, _: ToolCaller) -> ToolResult:
        known = set(self.names.values())
        new = [chunk for chunk in await self.find_chunks(given.query, _FOUND) if chunk.id not in known]
        text, names = list_chunks(new, _MOST_FOUND_CHARS, first=len(self.names) + 1)
        self.names |= names
        told = text if names else "nothing that does not stand above already"
        return ToolResult(told, frozenset[str]().union(*(chunk.foreign_sources for chunk in new)))

    async def _before_change(self) -> None:
        assert self.folder is not None
        await asyncio.to_thread(self.services.copies.take, self.task.id, self.folder.path)

    async def _permit(self, call: CallFacts) -> Permit:
        """Whether the owner lets it go; what is approved once is used up when it begins."""
        grants = grants_for_task(await read_grants(self.store.database, self.task.project_id), self.task.id)
        return decide_call(call, grants)

    def _recorded(self, tool: Tool) -> Callable[..., Awaitable[ToolResult]]:
        """A tool that leaves a row before it begins and after it ended."""

        async def run(given: msgspec.Struct, caller: ToolCaller) -> ToolResult:
            arguments = msgspec.to_builtins(given)
            digest = digest_call(tool.name, arguments)
            position = await self.steps.begin_call(tool.name, arguments, tool.reach, caller.foreign_sources, digest)
            with self.hold_break() if tool.reach is Reach.INSIDE else contextlib.nullcontext():
                try:
                    result = await tool.run(given, caller)
                except ToolError as error:
                    await self.steps.end_call(position, ToolResult(str(error)), is_done=False)
                    raise
                assert isinstance(result, ToolResult)
                self._note(tool.name, arguments, result)
                await self.steps.end_call(position, result, is_done=True)
            return result

        return run

    async def _replay(self, step: WorkStep) -> CallRecord:
        arguments = msgspec.json.decode(step.arguments)
        text, state = step.result, StepState.DONE if step.state == "done" else StepState.FAILED
        if step.state == "unknown":
            text, state = _UNKNOWN, StepState.UNKNOWN
        elif step.tool == "search":
            # The names of what it found are only in memory: they are given anew, in the same order.
            text = (await self._search(msgspec.convert(arguments, SearchKnowledge), ToolCaller(WORK_ROLE))).text
        if state is StepState.DONE:
            result = ToolResult(text, step.foreign_sources, step.path, step.sha256, step.exit_code)
            self._note(step.tool, arguments, result)
            if step.tool in GRANTABLE_TOOLS:
                self._web.note_known(text)
        return CallRecord(step.tool, arguments, text, state)

    def _note(self, tool: str, arguments: Mapping[str, object], result: ToolResult) -> None:
        if gates.is_enforced(ToolGate.RESULT):
            self.sources |= result.foreign_sources
        if result.path:
            self._files[result.path] = result.sha256
        if result.exit_code is not None:
            self._runs[str(arguments.get("command", ""))] = result.exit_code, f"output {result.sha256[:12]}"
        hosts = result.hosts or ([host] if (host := _host_in(arguments)) else [])
        self._shown_sources |= {source_of_host(host): f"web:{host}" for host in hosts}


def _is_settled(step: WorkStep, later: list[WorkStep]) -> bool:
    """Whether the same was done again since, with a yes."""
    return any((one.tool, one.arguments) == (step.tool, step.arguments) and one.state == "done" for one in later)


def folder_access(state: AgentState) -> FolderAccess | None:
    """The folder of a project, where it has one."""
    path = Path(state.project.folder)
    return FolderAccess(path, state.project.may_write) if state.project.folder and path.is_absolute() else None


def _host_in(arguments: Mapping[str, object]) -> str:
    try:
        return urlsplit(str(arguments.get("url", ""))).hostname or ""
    except ValueError:
        return ""


def _essence(call: CallRecord) -> str:
    told = next((call.arguments[name] for name in ("url", "query", "command") if name in call.arguments), "")
    return f"{one_line(str(told), 200)}." if told else ""
