"""Tools that read, write and run commands in a project's folder. All of them run in the sandboxed worker."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec

from reveries.safe_text import one_line
from reveries.tools.reach import FOLDER_SOURCE, Reach
from reveries.tools.registry import ToolCaller
from reveries.tools.results import ToolResult, cut_lines, fence
from reveries.tools.tool_group import ToolGroup, offer_tool
from reveries.tools.worker import Worker

SERVER: Final = "folder"
LOOKING: Final = ("read_file", "find_files", "search_files")
CHANGING: Final = ("write_file", "edit_file")
RUNNING: Final = ("run_command",)
_MOST_LISTED: Final = 200
_MOST_NAMED_CHARS: Final = 400
_Path = Annotated[str, msgspec.Meta(max_length=500)]
_FilePath = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
_Text = Annotated[str, msgspec.Meta(max_length=200_000)]


class ReadFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: _FilePath
    from_line: Annotated[int, msgspec.Meta(ge=1)] = 1


class FindFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[str, msgspec.Meta(min_length=1, max_length=200)] = "*"


class SearchFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=400)]
    path: _Path = "."


class WriteFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: _FilePath
    text: _Text


class EditFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: _FilePath
    old: Annotated[str, msgspec.Meta(min_length=1, max_length=200_000)]
    new: _Text


class RunCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[str, msgspec.Meta(min_length=1, max_length=4_000)]
    seconds: Annotated[int, msgspec.Meta(ge=1, le=300)] = 60


@dataclass(frozen=True, slots=True)
class FolderTools(ToolGroup):
    """The folder tools of one task."""

    server = SERVER

    worker: Worker
    before_change: Callable[[], Awaitable[None]]
    """Called before each change; copies the folder before the first one."""

    @offer_tool("Files whose path or name matches; * for all, notes/** below a folder.")
    async def find_files(self, given: FindFiles, _: ToolCaller) -> ToolResult:
        entries = await self.worker.call("find", {"pattern": given.pattern})
        return _looked(_describe_entries(entries, f"for {given.pattern}"))

    @offer_tool("Lines that hold a text.")
    async def search_files(self, given: SearchFiles, _: ToolCaller) -> ToolResult:
        matches = await self.worker.call("search", {"text": given.text, "path": given.path or "."})
        lines, _rest = cut_lines([f"{path}:{number}: {line}" for path, number, line in matches], 1)
        more = f"\n{len(matches) - len(lines)} more." if len(matches) > len(lines) else ""
        return _looked(f"{len(matches)} lines hold “{given.text[:80]}”:\n{fence(lines)}{more}")

    @offer_tool("A file's lines, from one on.")
    async def read_file(self, given: ReadFile, _: ToolCaller) -> ToolResult:
        lines = str(await self.worker.call("read", {"path": given.path})).splitlines()
        kept, rest = cut_lines(lines, given.from_line)
        head = f"{given.path}, line {given.from_line} to {given.from_line + len(kept) - 1} of {len(lines)}:"
        if not kept:
            head = f"{given.path} has {len(lines)} lines."
        more = f"\nIt goes on: from_line {rest}." if rest else ""
        return _looked(f"{head}\n{fence(kept, given.from_line)}{more}")

    @offer_tool("Make a file what text is.", Reach.INSIDE)
    async def write_file(self, given: WriteFile, caller: ToolCaller) -> ToolResult:
        await self.before_change()
        arguments = {"path": given.path, "text": given.text, "is_tainted": bool(caller.foreign_sources)}
        digest = str(await self.worker.call("write", arguments))
        return ToolResult(f"{given.path} is written: {len(given.text):,} characters.", path=given.path, sha256=digest)

    @offer_tool("Replace words that stand once.", Reach.INSIDE, is_repeatable=False)
    async def edit_file(self, given: EditFile, caller: ToolCaller) -> ToolResult:
        await self.before_change()
        arguments = {"path": given.path, "old": given.old, "new": given.new}
        arguments_with_taint = arguments | {"is_tainted": bool(caller.foreign_sources)}
        digest = str(await self.worker.call("edit", arguments_with_taint))
        return ToolResult(f"{given.path} is changed.", path=given.path, sha256=digest)

    @offer_tool("Run a shell command in the folder; there is no network.", Reach.INSIDE, is_repeatable=False)
    async def run_command(self, given: RunCommand, caller: ToolCaller) -> ToolResult:
        await self.before_change()
        arguments = {"command": given.command, "seconds": given.seconds, "is_tainted": bool(caller.foreign_sources)}
        ended = await self.worker.call("run", arguments, given.seconds)
        lines = str(ended["output"]).splitlines()
        # The end of a long output says most, so the end is shown.
        kept = list(reversed(cut_lines(lines[::-1], 1)[0]))
        taken_back = one_line(", ".join(ended["taken_back"]), _MOST_NAMED_CHARS)
        dots = f" Dot files are not made or changed here; taken back: {taken_back}." if taken_back else ""
        stopped = f" It was stopped: {ended['stopped_because']}." if ended["stopped_because"] else ""
        head = f"exit code {ended['exit_code']} after {ended['seconds']:.1f} s.{stopped}{dots}"
        omitted = f"\n{len(lines) - len(kept)} lines before:" if len(kept) < len(lines) else ""
        return ToolResult(
            f"{head}{omitted}\n{fence(kept)}".rstrip(),
            frozenset({FOLDER_SOURCE}),
            sha256=str(ended["output_sha256"]),
            exit_code=int(ended["exit_code"]),
        )


def _looked(text: str) -> ToolResult:
    return ToolResult(text, frozenset({FOLDER_SOURCE}))


def _describe_entries(entries: list[dict[str, object]], where: str) -> str:
    lines = [f"{entry['path']} ({entry['size_bytes']:,} bytes)" for entry in entries]
    kept, _ = cut_lines(lines[:_MOST_LISTED], 1)
    more = f"\n{len(lines) - len(kept)} more." if len(lines) > len(kept) else ""
    return f"{len(lines)} {where}:\n{fence(kept)}{more}"
