"""The house rules that no linter knows: locks, prompts, sizes, names, and what loads what."""

import ast
import functools
import importlib
import importlib.metadata
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from string import Template
from typing import Final

import pytest

import reveries
from reveries import protocol
from tests.rows import check_rows

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = Path(str(resources.files("reveries")))
LOCKS: Final = sorted(ROOT.glob("requirements*.lock"))
SOURCES: Final = sorted(PACKAGE.rglob("*.py"))

MODULE_LINES: Final = 500
FUNCTION_LINES: Final = 60


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@functools.cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@functools.cache
def nodes_of(file: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(parsed(file)))


# --- lock files ------------------------------------------------------------------------------------------------------


def pins(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", lock.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("lock", LOCKS, ids=named)
def test_a_lock_file_names_no_host_and_no_place(lock: Path) -> None:
    for line in lock.read_text(encoding="utf-8").splitlines():
        assert re.fullmatch(r"[a-z0-9.-]+==\S+( ; .+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?", line), line


@pytest.mark.parametrize("lock", LOCKS, ids=named)
def test_everything_in_a_lock_file_has_a_hash(lock: Path) -> None:
    blocks = re.split(r"^(?=\S)", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert blocks
    assert not [block.split("=")[0] for block in blocks if "--hash=sha256:" not in block]


def test_the_lock_files_agree_on_every_version() -> None:
    versions: dict[str, set[str]] = {}
    for lock in LOCKS:
        for name, version in pins(lock).items():
            versions.setdefault(name, set()).add(version)
    assert not {name: found for name, found in versions.items() if len(found) > 1}


def test_what_the_package_needs_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = project["project"]["dependencies"] + project["dependency-groups"]["build"]
    names = {re.split(r"[<>=;\[ ]", line)[0].lower() for line in needed}
    assert names <= set(pins(ROOT / "requirements.lock"))
    assert "litellm" in pins(ROOT / "requirements-hosted.lock")
    assert "litellm" not in pins(ROOT / "requirements.lock")


@pytest.mark.requirement("F13")
@pytest.mark.parametrize("name", ["Makefile", ".ci/install", ".ci/add-extra", ".ci/install-with-uv"])
def test_what_is_installed_by_hash_runs_no_script_of_its_own(name: str) -> None:
    """A wheel is unpacked; a source distribution runs code of its maker's while it is installed."""
    lines = [line for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if "--require-hashes" in line]
    assert lines
    assert [line for line in lines if "--only-binary=:all:" not in line] == []


@pytest.mark.parametrize("name", ["Makefile", ".ci/install", ".ci/add-extra", ".ci/install-with-uv"])
def test_an_installation_takes_its_versions_from_the_lock_alone(name: str) -> None:
    """pip resolves `coverage[toml]>=7` to the newest release, finds no hash for it and stops.

    With --no-deps it resolves nothing, so a release made tomorrow cannot break an installation.
    """
    lines = [line for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if "--require-hashes" in line]
    assert lines
    assert [line for line in lines if "--no-deps" not in line] == []


def test_an_extra_is_added_to_what_make_install_installed_where_that_is_there(tmp_path: Path) -> None:
    add = [str(ROOT / ".ci/add-extra"), "requirements-mcp.lock"]
    environment = {"PATH": "/usr/bin:/bin", "XDG_DATA_HOME": str(tmp_path)}
    nothing = subprocess.run(add, env=environment, capture_output=True, check=True, text=True)
    assert nothing.stdout + nothing.stderr == ""
    python = tmp_path / "reveries/venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    added = subprocess.run(add, env=environment, capture_output=True, check=True, text=True).stdout
    assert "-m pip" in added
    assert added.endswith("-r requirements-mcp.lock\n")


@pytest.mark.parametrize("with_pipx", [False, True])
def test_make_install_runs_to_its_end_and_installs_the_extras_that_the_clone_has(
    tmp_path: Path, with_pipx: bool
) -> None:
    """With stand-ins for Python and pipx, which print what they are told."""
    clone, programs, home = tmp_path / "clone", tmp_path / "bin", tmp_path / "home"
    shutil.copytree(ROOT / ".ci", clone / ".ci")
    shutil.copy(ROOT / "requirements.lock", clone)
    (clone / ".venv").mkdir()
    (clone / ".venv/mcp.stamp").touch()
    programs.mkdir()
    python = '#!/bin/sh\ncase "$*" in *venv*--clear*) mkdir -p "$4/bin"; cp "$0" "$4/bin/python";; esac\n'
    stubs = {"python3": f'{python}case "$*" in *sys.executable*) echo "$0";; *) echo "$@";; esac\n'}
    if with_pipx:
        stubs["pipx"] = '#!/bin/sh\ncase "$*" in "list --short") echo "reveries 0.1.0";; *) echo "$@";; esac\n'
    for name, script in stubs.items():
        (programs / name).write_text(script, encoding="utf-8")
        (programs / name).chmod(0o755)
    ran = subprocess.run(
        [clone / ".ci/install"], env={"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(home)}, capture_output=True,
        check=False, text=True,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    added = [line.rpartition(" ")[2] for line in ran.stdout.splitlines() if "requirements-" in line]
    assert added == ["requirements-mcp.lock"]
    assert with_pipx or (home / ".local/bin/reveries").is_symlink()


@pytest.mark.requirement("F13")
@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_the_bill_of_materials_has_every_locked_package_with_its_hashes(lock: Path) -> None:
    words = [sys.executable, str(ROOT / ".ci/sbom"), str(lock)]
    made = subprocess.run(words, capture_output=True, check=True, text=True)
    bill = json.loads(made.stdout)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert {part["name"]: part["version"] for part in bill["components"]} == pins(lock)
    assert all(part["hashes"] for part in bill["components"])


_PIP_AUDIT = """#!/bin/sh
for word in "$@"; do lock=$word; done
case "$lock" in *hosted*) echo '%s' ;; *) echo '%s' ;; esac
"""
_SEEN = {"dependencies": [{"name": "click", "version": "1", "vulns": []}]}
_FAULTY = {"dependencies": [{"name": "click", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["2"]}]}]}
_PASSED_OVER = {"dependencies": [{"name": "click", "skip_reason": "Dependency not found on PyPI"}]}


@pytest.mark.requirement("F13")
@pytest.mark.parametrize(
    ("of_hosted", "of_others", "code", "said"),
    [
        (_SEEN, _SEEN, 0, "1 packages looked up, 0 not"),
        (_SEEN, _FAULTY, 1, "CVE-1"),
        (_PASSED_OVER, _SEEN, 2, "NOT AUDITED: requirements-hosted.lock (nothing of it"),
        ("no JSON", _SEEN, 2, "NOT AUDITED"),
        (None, None, 2, "NOTHING WAS AUDITED"),
    ],
)
def test_an_audit_that_looked_at_nothing_does_not_pass(
    tmp_path: Path, of_hosted: object, of_others: object, code: int, said: str
) -> None:
    """pip-audit ends with 0 of what it could not look up."""
    if of_hosted is not None:
        fake = tmp_path / "pip-audit"
        fake.write_text(_PIP_AUDIT % (json.dumps(of_hosted), json.dumps(of_others)), encoding="utf-8")
        fake.chmod(0o755)
    elif (ROOT / ".venv/bin/pip-audit").exists():
        pytest.skip("there is a pip-audit in .venv")
    for told, expected in ({}, code), ({"UNAUDITED": "ok"}, 0 if code == 2 else code):
        ran = subprocess.run(
            [sys.executable, str(ROOT / ".ci/audit")],
            env={"PATH": f"{tmp_path}:/usr/bin:/bin", **told}, capture_output=True, check=False, text=True,
        )  # fmt: skip
        assert ran.returncode == expected
        assert said in ran.stdout + ran.stderr


@pytest.mark.requirement("F13")
def test_no_path_file_runs_code_here_that_no_package_brought() -> None:
    look = "from reveries.client.checkup.machine import unexpected_path_files as u; print(*u())"
    told = subprocess.run([sys.executable, "-c", look], cwd=ROOT, capture_output=True, check=True, text=True)
    assert told.stdout.strip() == ""


@pytest.mark.requirement("F13")
def test_a_path_file_that_runs_code_and_that_no_package_brought_is_found(tmp_path: Path) -> None:
    (tmp_path / "harmless.pth").write_text("/somewhere\n", encoding="utf-8")
    (tmp_path / "extra.pth").write_text("import os; os.environ\n", encoding="utf-8")
    look = "from reveries.client.checkup.machine import unexpected_path_files as u; print(*u())"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    told = subprocess.run([sys.executable, "-c", look], env=environment, capture_output=True, check=True, text=True)
    assert str(tmp_path / "extra.pth") in told.stdout
    assert "harmless.pth" not in told.stdout


def test_what_is_imported_is_declared() -> None:
    """A library that is here only because another one needs it may go with that one's next version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = project["dependencies"] + extras["hosted"] + extras["mcp"] + extras["web"]
    declared = {re.split(r"[<>=;\[ ]", line)[0].lower() for line in lines} | {"reveries"}
    carriers = importlib.metadata.packages_distributions()
    undeclared = {
        name
        for file in SOURCES
        for name in imported_by(file) - sys.stdlib_module_names
        if not {carrier.lower() for carrier in carriers.get(name, [name])} & declared
    }
    assert not undeclared


def imported_by(file: Path) -> set[str]:
    """The top-level names that a module imports."""
    found: set[str] = set()
    for node in nodes_of(file):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.requirement("F1")
def test_nothing_in_the_program_opens_a_gate() -> None:
    """Whether a gate holds is asked as `gates.is_enforced`, which only a test replaces; `gates` has no state."""
    by_another_name = re.compile(r"\bgates\.is_enforced\s*=|from reveries\.gates import .*\bis_enforced\b")
    assert [named(file) for file in SOURCES if by_another_name.search(file.read_text("utf-8"))] == []
    gates = ast.parse((ROOT / "reveries/gates.py").read_text("utf-8"))
    assert {type(node) for node in gates.body} == {ast.Expr, ast.ImportFrom, ast.ClassDef, ast.FunctionDef}


# --- prompts ---------------------------------------------------------------------------------------------------------


def prompts() -> dict[str, set[str]]:
    """The placeholders of each question."""
    files = sorted((PACKAGE / "prompts").glob("*.md"))
    return {file.stem: set(Template(file.read_text(encoding="utf-8")).get_identifiers()) for file in files}


@functools.cache
def asked() -> list[tuple[str, set[str], str]]:
    """Each call of `prompt` in the package: the question, the names of its values, and where it stands."""
    found = []
    for file in SOURCES:
        names = names_of_prompt(file)
        for node in nodes_of(file):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                question = node.args[0]
                assert isinstance(question, ast.Constant), f"{named(file)}:{node.lineno} asks a question by a variable"
                values = {word.arg or "**" for word in node.keywords}
                found.append((str(question.value), values, f"{named(file)}:{node.lineno}"))
    return found


def names_of_prompt(file: Path) -> set[str]:
    """What the loader is called in a module that imports it."""
    return {
        alias.asname or alias.name
        for node in nodes_of(file)
        if isinstance(node, ast.ImportFrom) and node.module == "reveries.prompts"
        for alias in node.names
        if alias.name == "prompt"
    }


@pytest.mark.requirement("R-112")
def test_every_prompt_is_asked_with_exactly_its_placeholders() -> None:
    known = prompts()
    wrong = [where for question, values, where in asked() if known.get(question) != values]
    assert not wrong


@pytest.mark.requirement("R-112")
def test_every_prompt_is_used() -> None:
    assert set(prompts()) == {question for question, _, _ in asked()}


@check_rows("question", sorted(prompts()))
def test_a_prompt_is_plain_text_without_a_stray_placeholder(question: str) -> None:
    text = (PACKAGE / "prompts" / f"{question}.md").read_text(encoding="utf-8")
    assert text.strip()
    assert Template(text).is_valid()
    assert "\t" not in text


# --- sizes and names -------------------------------------------------------------------------------------------------


def test_a_module_is_short_and_says_what_it_is() -> None:
    texts = {named(file): file.read_text(encoding="utf-8") for file in SOURCES}
    assert [name for name, text in texts.items() if len(text.splitlines()) > MODULE_LINES] == []
    assert [name for name, text in texts.items() if text.strip() and not ast.get_docstring(ast.parse(text))] == []


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Its lines without its docstring."""
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(function.body) > 1:
        first = function.body[1]
    return (function.end_lineno or 0) - first.lineno + 1


def test_no_function_is_longer_than_a_page() -> None:
    functions = [
        (named(file), node.name, lines_of(node))
        for file in SOURCES
        for node in nodes_of(file)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert not [function for function in functions if function[2] > FUNCTION_LINES]


def test_no_module_is_a_place_for_anything() -> None:
    vague = {"utils", "util", "helpers", "common", "manager", "managers", "constants", "misc", "shared"}
    assert not [named(file) for file in SOURCES if file.stem in vague or file.parent.name in vague]


def test_no_module_has_the_name_of_a_library() -> None:
    libraries = {"litellm", "ollama", "numpy", "textual", "msgspec", "aiosqlite", "xllamacpp", "onnxruntime", "click"}
    assert not [named(file) for file in SOURCES if file.stem in libraries]


def test_a_package_re_exports_nothing() -> None:
    """A provider that an `__init__` names would be loaded by whoever imports its neighbour, past the contracts.

    The protocol names its own parts and nothing else: to everybody it is one vocabulary, `protocol.Say`. The package
    itself has `reveries.connect`, which is loaded when somebody asks for it and not before.
    """
    for file in SOURCES:
        if file.name == "__init__.py" and file.parent.name not in ("prompts", "queries", "protocol", "reveries"):
            imports = [node for node in nodes_of(file) if isinstance(node, ast.Import | ast.ImportFrom)]
            assert not imports, named(file)
    assert "reveries.client" not in loaded_modules_after("import reveries")
    assert "reveries.client.mind" in loaded_modules_after("import reveries; reveries.connect")


def test_nothing_is_left_for_later() -> None:
    later = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|NotImplementedError")
    assert not [named(file) for file in SOURCES if later.search(file.read_text(encoding="utf-8"))]


# --- requests --------------------------------------------------------------------------------------------------------

OF_OTHER_PROGRAMS: Final = {"Detach"}
"""Requests that no command needs: for a program that keeps its connection and leaves the conversation."""


def names_used(files: Iterable[Path]) -> set[str]:
    """The names and attributes that these modules use."""
    nodes = [node for file in files for node in nodes_of(file)]
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)} | {
        node.id for node in nodes if isinstance(node, ast.Name)
    }


def test_every_request_has_the_parts_that_contributing_names() -> None:
    """For handlers and rules see tests/daemon/test_requests.py, for slash commands and pages test_slash_commands.py."""
    requests = {message.__name__ for message in protocol.REQUESTS}
    sent = names_used((PACKAGE / "client").rglob("*.py"))
    assert requests - sent == OF_OTHER_PROGRAMS
    lists = {"test_requests.py", "test_protocol.py", "given.py", "daemon.py"}
    tested = names_used(file for file in (ROOT / "tests").rglob("*.py") if file.name not in lists)
    assert requests <= tested


def test_every_frame_answers_a_request_or_is_sent_without_one() -> None:
    named = {frame for rules in protocol.REQUESTS.values() for frame in (rules.answer, *rules.before)}
    unasked = {protocol.Welcome, protocol.Failed, protocol.Spoken, protocol.StateChanged, protocol.Switched,
        protocol.Trouble, protocol.BackupRestored, protocol.MindMoved}  # fmt: skip
    """The greeting, a failure, what attached clients are notified of, and what the offline process answers."""
    assert set(protocol.leaf_messages(protocol.Frame)) == named | unasked


# --- what loads what -------------------------------------------------------------------------------------------------


def loaded_after(program: str) -> set[str]:
    """The top-level modules that a fresh process has loaded after `program`."""
    return {name.partition(".")[0] for name in loaded_modules_after(program)}


def loaded_modules_after(program: str) -> set[str]:
    """The modules that a fresh process has loaded after `program`."""
    told = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,  # A hang, on a machine that may be busy.
        cwd=ROOT,
    )
    assert told.returncode == 0, told.stderr
    return set(told.stdout.split())


def test_the_command_line_loads_nothing_heavy() -> None:
    heavy = {"numpy", "litellm", "textual", "aiosqlite", "onnxruntime", "xllamacpp", "tokenizers", "httpx", "ollama"}
    heavy |= {"numba", "llvmlite"}
    assert not loaded_after("import reveries.client.cli") & (heavy | {"asyncio"})


def test_the_index_knows_nothing_of_what_its_rows_stand_for() -> None:
    """Turns of a talk stand on it today, chunks of documents later."""
    named_there = re.compile(r"\b(turn|episode|conversation|experience|chunk)s?\b", re.IGNORECASE)
    files = [file for file in SOURCES if file.parent.name == "index"]
    assert files
    assert not [named(file) for file in files if named_there.search(file.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("room", ["index", "memory", "monologue", "safety"])
def test_no_room_of_the_mind_loads_a_provider(room: str) -> None:
    package = importlib.import_module(f"reveries.{room}")
    modules = [f"reveries.{room}.{module.name}" for module in pkgutil.iter_modules(package.__path__)]
    loaded = loaded_after("\n".join(f"import {name}" for name in modules))
    assert not loaded & {"litellm", "ollama", "xllamacpp", "onnxruntime", "tokenizers", "textual", "click", "numba"}


def test_importing_the_daemon_loads_no_code_that_works_on_projects() -> None:
    """It is loaded when a project wakes: an idle daemon is no larger for projects."""
    loaded = loaded_modules_after("import reveries.daemon.app")
    assert "reveries.projects.store" in loaded
    assert loaded & {"reveries.projects.work", "reveries.projects.task_execution", "reveries.tools.loop"} == set()


def test_importing_the_daemon_loads_no_client_of_a_provider() -> None:
    assert not loaded_after("import reveries.daemon.app") & {"litellm", "ollama", "openai", "textual", "numba"}


def test_asking_whether_an_ollama_runs_loads_none_of_its_client() -> None:
    asks = "import asyncio\nfrom reveries.llm.ollama_chat import list_ollama\n"
    assert "ollama" not in loaded_after(f"{asks}asyncio.run(list_ollama('http://127.0.0.1:9'))")


def test_importing_does_no_work() -> None:
    """No thread, no socket and no written file comes of importing everything."""
    names = [module.name for module in pkgutil.walk_packages(reveries.__path__, "reveries.")]
    imports = "\n".join(f"import {name}" for name in names if not name.endswith("__main__"))
    loaded_after(
        "import sys, threading\n"
        "def watch(event, arguments):\n"
        "    if event in ('socket.connect', 'socket.bind', 'subprocess.Popen', 'os.mkdir', 'os.remove'):\n"
        "        raise SystemExit(f'{event} {arguments}')\n"
        "sys.dont_write_bytecode = True\n"
        "sys.addaudithook(watch)\n"
        f"{imports}\n"
        "assert threading.active_count() == 1, threading.enumerate()"
    )


def contracts_in(folder: Path) -> "subprocess.CompletedProcess[str]":
    """What import-linter says of the package in `folder`."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        check=False,
    )


@pytest.mark.requirement("R-4")
def test_the_import_contracts_hold() -> None:
    done = contracts_in(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("client/cli.py", "import numpy", "The client speaks only the protocol BROKEN"),
        ("client/cli.py", "import reveries.memory.model", "The client speaks only the protocol BROKEN"),
        ("client/render.py", "import reveries.client.connection", "The client in layers BROKEN"),
        ("client/features/say.py", "import reveries.client.plain_chat", "The client in layers BROKEN"),
        ("daemon/talk/conversation.py", "import reveries.daemon.mind", "The daemon in layers BROKEN"),
        ("memory/sleep/decay.py", "import reveries.daemon.process.single_instance", "Layers point one way BROKEN"),
        ("memory/sleep/decay.py", "import time", "Pure kernels do no I/O BROKEN"),
        ("safety/verdict.py", "import reveries.memory.model", "Layers point one way BROKEN"),
        ("index/terms.py", "import reveries.memory.model", "Layers point one way BROKEN"),
        ("memory/recall/cues.py", "import reveries.memory.live", "Memory in layers BROKEN"),
        ("memory/forgetting/plan.py", "import reveries.memory.sleep.decay", "Memory in layers BROKEN"),
        ("memory/sleep/decay.py", "import reveries.memory.recall.cues", "through the live memory alone BROKEN"),
        ("memory/store.py", "import ollama", "Only the daemon picks a provider BROKEN"),
        ("utils.py", '"""Anything."""', "utils"),
    ],
)
def test_a_fault_planted_in_a_copy_breaks_its_contract(tmp_path: Path, file: str, line: str, contract: str) -> None:
    """The test of the test."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(PACKAGE, tmp_path / "reveries", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "reveries" / file).open("a", encoding="utf-8") as planted:
        planted.write(f"\n{line}\n")
    done = contracts_in(tmp_path)
    assert done.returncode != 0
    assert contract in done.stdout
