"""Generate docs/reference from the program: requirements, settings, protocol, commands, exit codes.

`python docs/generate.py` writes the pages; `--check` writes nothing and ends with 1 when a page is out of date.
"""

import argparse
import inspect
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, get_args, get_origin

import msgspec

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # tests.requirements is not part of the package.

from reveries import protocol  # noqa: E402
from reveries.client import checkup as client_checkup  # noqa: E402
from reveries.client.features.paths import PlaceShown  # noqa: E402
from reveries.client.features.say import SayUsage  # noqa: E402
from reveries.client.progress import ProgressLine  # noqa: E402
from reveries.client.weights import PulledModel  # noqa: E402
from reveries.config import read_default_toml  # noqa: E402
from reveries.daemon import checkup as daemon_checkup  # noqa: E402
from reveries.daemon.program_tools import TOOL_GROUPS  # noqa: E402
from reveries.tools.reach import Reach  # noqa: E402
from reveries.tools.registry import Tool  # noqa: E402
from tests import day_cost, requirements  # noqa: E402
from tests.command_reference import (  # noqa: E402
    cli_reference,
    exit_code_table,
    list_json_answers,
    list_json_options,
)

REFERENCE: Final = ROOT / "docs" / "reference"


def main() -> int:
    """Write the pages, or compare them. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page is out of date")
    is_check = parser.parse_args().check
    stale = [name for name, make in PAGES.items() if _read(REFERENCE / name) != _with_newline(make())]
    if is_check:
        for name in stale:
            sys.stderr.write(f"docs/reference/{name} is out of date: make docs\n")
        return 1 if stale else 0
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (REFERENCE / name).write_text(_with_newline(PAGES[name]()), encoding="utf-8")
        sys.stdout.write(f"docs/reference/{name}\n")
    return 0


def config_page() -> str:
    """Return the settings page: the shipped config.toml with its comments."""
    return "\n".join(
        [
            "# Settings",
            "",
            "Generated from reveries/config.toml by docs/generate.py. `reveries config` shows the current values.",
            "",
            "```toml",
            read_default_toml().strip(),
            "```",
        ]
    )


def protocol_page() -> str:
    """Return the protocol page: every wire message with its fields."""
    lines = [
        "# Protocol",
        "",
        "Generated from reveries/protocol/ by docs/generate.py.",
        "",
        f"Version {protocol.PROTOCOL_VERSION}. A frame is at most {protocol.MAX_FRAME_BYTES} bytes.",
        "",
        inspect.cleandoc(protocol.__doc__ or ""),
    ]
    lines += ["", "## Requests", *_message(protocol.Hello)]
    for request, rules in protocol.REQUESTS.items():
        safe = " It also works in safe mode." if rules.is_safe else ""
        before = f" Before that may come: {', '.join(map(_frame_link, rules.before))}." if rules.before else ""
        until = " once it is cancelled" if rules.is_watch else ""
        lines += [*_message(request), "", f"It is answered by {_frame_link(rules.answer)}{until}.{before}{safe}"]
    lines += ["", "## Frames from the daemon"]
    for frame in protocol.leaf_messages(protocol.Frame):
        lines += _message(frame)
    lines += ["", "## Types used in messages"]
    for part in _parts():
        lines += _message(part)
    return "\n".join(lines)


def _frame_link(frame: type[protocol.Frame]) -> str:
    return f"[{frame.__name__}](#{frame.__name__.lower()})"


def mcp_page() -> str:
    """Return the page of MCP tools, by group."""
    lines = [
        "# Tools over MCP",
        "",
        "Generated from the program by docs/generate.py. [A memory for your coding agent](../howto/mcp.md) says how to",
        "use them. Tools that change projects need your permission for the program: `reveries mcp allow NAME --write`.",
        "The others only read, or add in the program's own name. `tools/list` has the complete schemas.",
    ]
    for group in TOOL_GROUPS:
        tools = group.describe_tools()
        lines += ["", f"## {tools[0].server}", ""]
        lines += ["| tool | what it does | fields (? is optional) | answer | who may |", "|---|---|---|---|---|"]
        lines += [_tool_row(tool) for tool in tools]
    return "\n".join(lines)


def _tool_row(tool: Tool) -> str:
    schema, answer = tool.schema, tool.answer_schema
    required = schema.get("required", ())
    fields = ", ".join(f"`{name}`{'' if name in required else '?'}" for name in schema["properties"])
    given = ", ".join(f"`{name}`" for name in answer["properties"])
    who = "all" if tool.reach is Reach.LOOK else "all, in its own name" if tool.is_additive else "who is allowed"
    return f"| `{tool.name}` | {tool.description} | {fields or '-'} | {given} | {who} |"


def json_page() -> str:
    """Return the page of what each command writes with --json."""
    long_ones = [f"`{words}`" for words, option in list_json_options().items() if option.takes_long]
    answers = list_json_answers()
    lines = [
        "# JSON",
        "",
        "Generated from the commands and reveries/protocol/ by docs/generate.py.",
        "",
        "With `--json` a command writes one object on standard output. Times are unix seconds, and texts contain no",
        "terminal control sequences. Errors stay one sentence on standard error, with the [exit code](exit-codes.md).",
        "Fields may be added; none is removed or changes its meaning. The fields of a frame are described in [the",
        "protocol](protocol.md), here without those that only the wire needs (`t`, `request_id`).",
        "",
        f"Commands that take long ({', '.join(long_ones)}) write their",
        "progress on standard error meanwhile, with `--json` as one [ProgressLine](#progressline) a line, at most four",
        "a second. A line there that is not an object is a sentence for people.",
        "",
        "| command | object |",
        "|---|---|",
    ]
    own: dict[str, type[msgspec.Struct]] = {}
    for command, cls in answers.items():
        if isinstance(cls, str):
            lines.append(f"| `reveries {command}` | {cls} |")
            continue
        is_frame = getattr(protocol, cls.__name__, None) is cls
        lines.append(
            f"| `reveries {command}` | [{cls.__name__}]({'protocol.md' if is_frame else ''}#{cls.__name__.lower()}) |"
        )
        if not is_frame:
            own[cls.__name__] = cls
    own |= {cls.__name__: cls for cls in (SayUsage, PlaceShown, PulledModel, ProgressLine)}
    for cls in own.values():
        lines += _message(cls)
    return "\n".join(lines)


def _message(cls: type[msgspec.Struct]) -> list[str]:
    tag = cls.__struct_config__.tag
    lines = ["", f"### {cls.__name__}", ""]
    if tag:
        lines += [f'`t` is `"{tag}"`.', ""]
    if cls.__doc__ and "__doc__" in vars(cls):
        lines += [inspect.cleandoc(cls.__doc__), ""]
    lines += ["| field | type |", "|---|---|"]
    hints = typing.get_type_hints(cls, include_extras=True)
    for field in msgspec.structs.fields(cls):
        default = "" if field.default is msgspec.NODEFAULT else _default(field.default)
        lines.append(f"| `{field.name}` | {_type(hints[field.name])}{default} |")
    return lines


def _default(value: object) -> str:
    return ", optional" if value is msgspec.UNSET else f", default {value!r}"


def _parts() -> list[type[msgspec.Struct]]:
    """Return the structs that are fields of messages, in the order of their definition."""
    return [
        value
        for name, value in vars(protocol).items()
        if isinstance(value, type)
        and issubclass(value, msgspec.Struct)
        and not value.__struct_config__.tag
        and not name.startswith("_")
    ]


def _type(hint: object) -> str:
    """Describe a type in words short enough for a table."""
    if get_origin(hint) is Annotated:
        inner, *constraints = get_args(hint)
        limits = [_limits(meta) for meta in constraints if isinstance(meta, msgspec.Meta)]
        return ", ".join([_type(inner), *filter(None, limits)])
    if arguments := get_args(hint):
        words = [_type(argument) for argument in arguments if argument is not msgspec.UnsetType]
        if get_origin(hint) is list:
            return f"list of {words[0]}"
        return f"map of {words[0]} to {words[1]}" if get_origin(hint) is dict else " or ".join(words)
    if hint is type(None):
        return "nil"
    return getattr(hint, "__name__", str(hint))


def _limits(meta: msgspec.Meta) -> str:
    named = {
        "at least": meta.ge,
        "at most": meta.le,
        "length at least": meta.min_length,
        "length at most": meta.max_length,
    }
    return ", ".join(f"{what} {limit}" for what, limit in named.items() if limit is not None)


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


def _with_newline(page: str) -> str:
    return page.rstrip() + "\n"


def fault_page() -> str:
    """Return the table of all faults that `reveries doctor` can report."""
    head = [
        "# Faults",
        "",
        "The faults that `reveries doctor` can report. Generated from the checks (client/checkup, daemon/checkup).",
        "",
        "If there is a *wrong* or a *watch* fault the command ends with 1; with only *note* faults, with 0.",
        "",
        "| id | | what it means | what to do | fixed by `--fix` |",
        "|---|---|---|---|---|",
    ]
    faults = protocol.faults_in(client_checkup) | protocol.faults_in(daemon_checkup)
    rows = [
        f"| `{name}` | {fault.severity} | {fault.meaning} | {fault.next_step} | {'yes' if fault.is_fixable else ''} |"
        for name, fault in faults.items()
    ]
    return "\n".join([*head, *rows, ""])


PAGES: Final[dict[str, Callable[[], str]]] = {
    "cli.md": cli_reference,
    "config.md": config_page,
    "cost.md": day_cost.page,
    "exit-codes.md": exit_code_table,
    "faults.md": fault_page,
    "json.md": json_page,
    "mcp.md": mcp_page,
    "protocol.md": protocol_page,
    "requirements.md": requirements.render_requirements_page,
}

if __name__ == "__main__":
    sys.exit(main())
