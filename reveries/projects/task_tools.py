"""The tools for one attempt at a task: which may be called, what each call needs, and how calls are recorded."""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

import msgspec

from reveries import gates
from reveries.config import WebSettings
from reveries.errors import ToolError
from reveries.gates import ToolGate
from reveries.knowledge.model import Chunk
from reveries.projects.approvals import PendingCall
from reveries.projects.attempt_evidence import (
    MOST_EVIDENCE_CHARS,
    CommandRun,
    FileText,
    describe_files,
    describe_runs,
    find_made_files,
    find_used_files,
    is_prose,
    order_paths,
)
from reveries.projects.folder_listing import digest_files, folder_access, list_folder_files
from reveries.projects.folder_reading import NoteListing, list_notes
from reveries.projects.grants import GRANTABLE_TOOLS, grants_for_task
from reveries.projects.model import AgentState, NewQuestion, QuestionKind, TaskFile, WorkStep, WorkTask
from reveries.projects.prompt_material import list_chunks
from reveries.projects.server_tools import OpenServer, ServerTools
from reveries.projects.step_material import FolderFile
from reveries.projects.store import ProjectStore
from reveries.projects.work_observers import StepRows
from reveries.safe_text import one_line
from reveries.tools.folder_copies import FolderCopies
from reveries.tools.folder_tools import CHANGING, LOOKING, RUNNING, FolderTools
from reveries.tools.loop import CallRecord, StepState
from reveries.tools.reach import (
    FOLDER_SOURCE,
    CallFacts,
    Permit,
    Reach,
    decide_call,
    digest_call,
    source_of_host,
)
from reveries.tools.registry import Tool, ToolCaller, ToolRegistry
from reveries.tools.results import ToolResult
from reveries.tools.sandbox import Sandbox
from reveries.tools.worker import open_folder_worker

if TYPE_CHECKING:
    from reveries.tools.web import WebTools

WORK_ROLE: Final = "work"
_MOST_CHUNKS: Final = 8
_MOST_CHUNK_CHARS: Final = 8_000
_MOST_SHOWN_FILES: Final = 12
_MOST_TASK_FILES: Final = 200
_UNKNOWN: Final = "It was begun, and then the mind was stopped: nobody knows whether it happened."


def open_web_tools(owner_words: str, search_url: str) -> "WebTools":
    """Import late, so that a mind that never searches the web does not load the libraries for it."""
    from reveries.tools.web import WebTools

    return WebTools(owner_words, search_url)


@dataclass(frozen=True, kw_only=True)
class ToolServices:
    """What the tools need from this machine."""

    sandbox: Sandbox
    copies: FolderCopies
    web: Callable[[], WebSettings]
    open_web: "Callable[[str, str], WebTools]" = open_web_tools
    """Called with the owner's words and the URL of the search service."""
    open_server: OpenServer


DeferBreak = Callable[[], AbstractContextManager[None]]


class SearchKnowledge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[str, msgspec.Meta(min_length=1, max_length=400)]


FindChunks = Callable[[str, int], Awaitable[list[Chunk]]]


@dataclass(kw_only=True)
class TaskTools:
    """The tools for one attempt at a task. `close` ends the worker and the MCP servers."""

    services: ToolServices
    store: ProjectStore
    state: AgentState
    task: WorkTask
    steps: StepRows
    find_chunks: FindChunks
    sources: set[str]
    """Foreign sources of everything read in this attempt; each result adds its own."""
    names: dict[str, str] = field(default_factory=dict)
    """Chunk ids by the name that the prompt uses ("k1")."""
    servers: ServerTools | None = None
    """Open MCP servers; closed by `close`."""
    defer_break: DeferBreak = contextlib.nullcontext
    """Context manager that defers an interruption by the owner: a call that changes something finishes first, and its
    result is stored."""

    def __post_init__(self) -> None:
        self._shown_sources: dict[str, str] = {}
        self._files: dict[str, str] = {}
        self._runs: dict[str, CommandRun] = {}
        self._files_before: list[FolderFile] | None = None
        self._told: list[str] = []
        """The texts that were handed to tools: what names a file there used it."""
        self._told_prose: list[str] = []
        """Those that became files for people to read."""
        self.began_at = self.store.now
        self.folder = folder_access(self.state)
        self._worker = open_folder_worker(self.services.sandbox, self.folder) if self.folder is not None else None
        if self.servers is not None and gates.is_enforced(ToolGate.RESULT):
            self.sources |= self.servers.sources
        built = [replace(tool, run=self._record_calls(tool)) for tool in self._build_tools()]
        allowed = frozenset(self._list_allowed_names())
        self.tools = [tool for tool in built if tool.name in allowed]
        """The tools that the work role may call in this project."""
        self._registry = ToolRegistry(built, {WORK_ROLE: allowed & {tool.name for tool in built}}, self._permit)

    async def call(self, name: str, arguments: Mapping[str, object], is_unknown: bool = False) -> ToolResult:
        """Call a tool as the work role. Raises what the registry raises."""
        caller = ToolCaller(WORK_ROLE, session_id=self.state.session_id, context_sources=frozenset(self.sources))
        result = await self._registry.invoke(caller, name, arguments, is_unknown=is_unknown)
        assert isinstance(result, ToolResult)
        return result

    async def earlier_calls(self) -> list[CallRecord]:
        """Return the calls of this attempt before it was interrupted or waited for an approval, and those of earlier
        attempts whose outcome is unknown and that must not be repeated."""
        steps = [step for step in await self.store.tasks.steps_of(self.task.id) if step.reach]
        since = self.task.try_began_at if self.task.try_began_at is not None else math.inf
        relevant = [
            step
            for number, step in enumerate(steps)
            if step.began_at >= since or (self._is_in_doubt(step) and not _succeeded_later(step, steps[number + 1 :]))
        ]
        return [await self._replay(step) for step in relevant]

    def _is_in_doubt(self, step: WorkStep) -> bool:
        is_repeatable = any(tool.name == step.tool and tool.is_repeatable for tool in self.tools)
        return step.state == "unknown" and not is_repeatable

    async def close(self) -> None:
        """Stop the servers and the worker, and record the state of the folder."""
        if self.servers is not None:
            await self.servers.close()
        if self._worker is not None:
            await self._worker.close()
            assert self.folder is not None
            await asyncio.to_thread(self.services.copies.record_end, self.task.id, self.folder.path)

    async def read(self, path: str) -> str:
        """Return the whole text of a file in the folder, for code rather than the model. Raises ToolError."""
        assert self._worker is not None
        self.sources |= {"folder"}
        return str(await self._worker.call("read", {"path": path}))

    async def find(self, pattern: str) -> list[str]:
        """Return the paths that match a pattern, for code rather than the model. Raises ToolError."""
        assert self._worker is not None
        return [str(match["path"]) for match in await self._worker.call("find", {"pattern": pattern})]

    async def list_notes(self) -> NoteListing:
        """Return the notes in the folder, for code rather than the model. Raises ToolError."""
        assert self._worker is not None
        return await list_notes(self._worker)

    # --- evidence -----------------------------------------------------------------------------------------------------

    async def digests(self, paths: tuple[str, ...]) -> dict[str, str]:
        """Return the SHA-256 of each of these files that exists."""
        return await digest_files(self._worker, paths) if self._worker is not None else {}

    @property
    def commands(self) -> dict[str, int]:
        """The last exit code of each command that was run."""
        return {command: run.exit_code for command, run in self._runs.items()}

    async def list_folder(self) -> list[FolderFile]:
        """Return the files of the folder; empty without one. The first listing is what the attempt found there."""
        if self._worker is None:
            return []
        self.sources |= {FOLDER_SOURCE}
        files = await list_folder_files(self._worker)
        if self._files_before is None:
            self._files_before = files
        return files

    async def record_rejection(self, arguments: Mapping[str, object], why: str) -> str:
        """Record that an outcome was handed in and rejected, so that an interrupted attempt goes on knowing it."""
        position = await self.steps.begin_call("finish", arguments, Reach.LOOK, frozenset(self.sources), "")
        await self.steps.end_call(position, ToolResult(why), is_done=False)
        return why

    async def describe_evidence(self, named: Sequence[str]) -> list[str]:
        """Return records for the audit, read anew: the commands, and the files that are named, written or made."""
        made = find_made_files(self._files_before or (), await self.list_folder())
        files = [await self._read_shown(path) for path in order_paths(named, self._files, made)[:_MOST_SHOWN_FILES]]
        runs = describe_runs(list(self._runs.values()))
        return runs + describe_files(files, MOST_EVIDENCE_CHARS - min(MOST_EVIDENCE_CHARS // 2, sum(map(len, runs))))

    async def list_task_files(self) -> tuple[TaskFile, ...]:
        """Return what this attempt made in the folder, and what of it was used, with hashes."""
        now = await self.list_folder()
        made = {*find_made_files(self._files_before or (), now), *self._files}
        used = find_used_files([file.path for file in now if file.path not in made], self._told, self._told_prose)
        digests = await self.digests((*sorted(made), *used)[:_MOST_TASK_FILES])
        return tuple(TaskFile(path, digest, path in made) for path, digest in digests.items())

    async def _read_shown(self, path: str) -> FileText:
        try:
            return FileText(path, await self.read(path))
        except ToolError as error:
            return FileText(path, None, error.message)

    # --- approvals ----------------------------------------------------------------------------------------------------

    async def approval_for(self, call: CallRecord, why: CallFacts) -> NewQuestion:
        """Return the question that asks the owner to approve a call: its tool, its arguments and the reason."""
        granted = grants_for_task(await self.store.grants.of_project(self.task.project_id), self.task.id)
        missing = sorted(self._shown_sources.get(name, name) for name in why.foreign_sources - granted.sources)
        is_out = why.reach is Reach.OUT
        arguments = msgspec.json.encode(dict(call.arguments)).decode()
        # Tools of MCP servers are pinned to their current form, so only `grant give` grants them.
        to_grant = call.tool if is_out and call.tool in GRANTABLE_TOOLS else ""
        pending = PendingCall(call.tool, arguments, why.digest, to_grant, tuple(missing) if is_out else ())
        context = [f"{call.tool} {arguments}", f"It is part of “{self.task.title}”."]
        if why.is_unknown:
            context.append("It was begun before the mind was stopped, and may have happened already.")
        if missing and is_out:
            context.append(f"What it read before may have led it there: {', '.join(missing)}.")
        ask = "May it do this again?" if why.is_unknown else "May it do this?"
        answers = "once, this task, always, or no" if is_out else "once, or no"
        return NewQuestion(
            f"{ask} {call.tool}: {_format_main_argument(call)} Say {answers}.",
            QuestionKind.APPROVAL,
            context="\n".join(context),
            blocks=(self.task.id,),
            task_id=self.task.id,
            payload=msgspec.json.encode(pending).decode(),
            foreign_sources=why.foreign_sources,
        )

    # --- internals ----------------------------------------------------------------------------------------------------

    def _build_tools(self) -> list[Tool]:
        tools = [
            Tool(
                "What the project knows.", Reach.LOOK,
                name="search", server="knowledge", arguments=SearchKnowledge, run=self._search,
            )
        ]  # fmt: skip
        if self._worker is not None:
            tools += FolderTools(self._worker, self._before_change).tools()
        words = "\n".join(self._owner_words())
        self._web = self.services.open_web(words, self.services.web().search_url)
        tools += self._web.tools()
        return tools + (self.servers.tools if self.servers is not None else [])

    def _list_allowed_names(self) -> list[str]:
        """Return the names of the tools allowed here: writing needs a writable folder, commands a sandbox, and web
        tools the web setting."""
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
        """Return what the owner wrote: the goal, and answers to questions without foreign sources."""
        goal = [self.state.goal.text] if self.state.goal is not None else []
        own = [question for question in self.state.questions if not question.foreign_sources]
        return [*goal, *(question.answer for question in own if question.answer)]

    async def _search(self, given: SearchKnowledge, _: ToolCaller) -> ToolResult:
        shown_ids = set(self.names.values())
        new = [chunk for chunk in await self.find_chunks(given.query, _MOST_CHUNKS) if chunk.id not in shown_ids]
        text, names = list_chunks(new, _MOST_CHUNK_CHARS, first=len(self.names) + 1)
        self.names |= names
        answer = text if names else "nothing that does not stand above already"
        return ToolResult(answer, frozenset[str]().union(*(chunk.foreign_sources for chunk in new)))

    async def _before_change(self) -> None:
        assert self.folder is not None
        await asyncio.to_thread(self.services.copies.ensure_copy, self.task.id, self.folder.path)

    async def _permit(self, call: CallFacts) -> Permit:
        """Decide whether the owner's grants allow a call. A one-time approval is used up when the call begins."""
        grants = grants_for_task(await self.store.grants.of_project(self.task.project_id), self.task.id)
        return decide_call(call, grants)

    def _record_calls(self, tool: Tool) -> Callable[..., Awaitable[ToolResult]]:
        """Return a `run` for a tool that stores a row before and after each call."""

        async def run(given: msgspec.Struct, caller: ToolCaller) -> ToolResult:
            arguments = msgspec.to_builtins(given)
            digest = digest_call(tool.name, arguments)
            position = await self.steps.begin_call(tool.name, arguments, tool.reach, caller.foreign_sources, digest)
            with self.defer_break() if tool.reach is Reach.INSIDE else contextlib.nullcontext():
                try:
                    result = await tool.run(given, caller)
                except ToolError as error:
                    await self.steps.end_call(position, ToolResult(str(error)), is_done=False)
                    raise
                assert isinstance(result, ToolResult)
                self._note_result(tool.name, arguments, result)
                await self.steps.end_call(position, result, is_done=True)
            return result

        return run

    async def _replay(self, step: WorkStep) -> CallRecord:
        arguments = msgspec.json.decode(step.arguments)
        text, state = step.result, StepState.DONE if step.state == "done" else StepState.FAILED
        if step.state == "unknown":
            text, state = _UNKNOWN, StepState.UNKNOWN
        elif step.tool == "search":
            # The names of its chunks are only in memory: searching again assigns them in the same order.
            text = (await self._search(msgspec.convert(arguments, SearchKnowledge), ToolCaller(WORK_ROLE))).text
        if state is StepState.DONE:
            result = ToolResult(text, step.foreign_sources, step.path, step.sha256, step.exit_code)
            self._note_result(step.tool, arguments, result)
            if step.tool in GRANTABLE_TOOLS:
                self._web.note_known(text)
        return CallRecord(step.tool, arguments, text, state)

    def _note_result(self, tool: str, arguments: Mapping[str, object], result: ToolResult) -> None:
        path = arguments.get("path")
        texts = [text for text in arguments.values() if isinstance(text, str)]
        if isinstance(path, str) and is_prose(path):
            self._told.append(path)
            self._told_prose += texts
        else:
            self._told += texts
        if tool == "search_files":
            self._told.append(result.text)
        if gates.is_enforced(ToolGate.RESULT):
            self.sources |= result.foreign_sources
        if result.path:
            self._files.pop(result.path, None)
            self._files[result.path] = result.sha256
            for name, run in self._runs.items():
                changed = tuple(dict.fromkeys((*run.changed_after, result.path)))
                self._runs[name] = replace(run, changed_after=changed)
        if result.exit_code is not None:
            command = str(arguments.get("command", ""))
            self._runs.pop(command, None)
            self._runs[command] = CommandRun(command, result.exit_code, result.text)
        hosts = result.hosts or ([host] if (host := _find_host(arguments)) else [])
        self._shown_sources |= {source_of_host(host): f"web:{host}" for host in hosts}


def _succeeded_later(step: WorkStep, later: list[WorkStep]) -> bool:
    """Whether the same call succeeded later, after an approval."""
    return any(
        (other.tool, other.arguments) == (step.tool, step.arguments) and other.state == "done" for other in later
    )


def _find_host(arguments: Mapping[str, object]) -> str:
    try:
        return urlsplit(str(arguments.get("url", ""))).hostname or ""
    except ValueError:
        return ""


def _format_main_argument(call: CallRecord) -> str:
    argument = next((call.arguments[name] for name in ("url", "query", "command") if name in call.arguments), "")
    return f"{one_line(str(argument), 200)}." if argument else ""
