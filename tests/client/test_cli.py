"""Every command as a real process, against a mind on a real socket."""

import json
import os
import signal
import stat
import subprocess
import sys
import time

import click
import pytest

from reveries import protocol
from reveries.client import cli
from reveries.client.wording import span
from reveries.config import Home
from tests.client.command_line import environment, in_terminal, reveries
from tests.client.test_tui import HOSTILE
from tests.command_reference import cli_reference, exit_code_table
from tests.fakes.daemon import NOW, Script, awake_in_thread, status
from tests.fakes.listening import until_it_listens

_TURN = protocol.FoundTurn("t1", "Ada", NOW, "the pear stays", 0.91, "e1abcdef99")
_EPISODE = protocol.FoundEpisode(
    "e1abcdef99", "Ada plans two beds.", NOW, 0.8, 0.6, "owner", "deep", "the pear stays", "Ada", ["e0", "e1abcdef99"]
)
FOUND = protocol.Found(0, [_EPISODE], [_TURN], 12, 0.003)
DETAIL = protocol.EpisodeDetail(
    request_id=0,
    episode_id="e1abcdef99",
    summary="Ada plans two beds.",
    happened_at=NOW,
    ended_at=NOW + 600,
    last_accessed_at=NOW,
    access_count=2,
    salience=0.6,
    confidence=0.9,
    accessibility=1.0,
    valence=0.3,
    origin="owner",
    tainted=False,
    depth="deep",
    topics=["garden"],
    entities=["ada"],
    exemplars=[protocol.ExemplarDetail("the pear stays", "garden", NOW, "Ada", "t1", "it matters to her")],
    links=[protocol.LinkDetail("e0", "temporal", 0.7, "The day before.")],
    before=["e0"],
    after=[],
    gap_seconds=7200.0,
    gap_significance="a morning",
    sources=[protocol.SaidTurn("t1", "Ada", True, "the pear stays", NOW, False)],
)


@pytest.mark.requirement("R-28", "RA-2")
@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("say", "hello"),
        ("consolidate",),
        ("memory",),
        ("memory", "search", "x"),
        ("memory", "inspect", "x"),
        ("monologue",),
        ("monologue", "history"),
    ],
)
def test_a_command_that_needs_the_mind_says_how_to_wake_it(home: Home, words: tuple[str, ...]) -> None:
    ran = reveries(home, *words)
    assert ran.code == 3
    assert ran.err == "reveries: The mind is asleep. Wake it: reveries wake\n"
    assert ran.out == ""


@pytest.mark.requirement("R-18")
def test_status_shows_the_mandatory_four(home: Home) -> None:
    awake_since = NOW - 3 * 3600
    before = span(time.time() - awake_since)
    with awake_in_thread(home):
        ran = reveries(home, "status")
    assert ran.code == 0
    assert any(f"for {one}" in ran.out for one in (before, span(time.time() - awake_since)))
    assert "17 episodes" in ran.out
    assert "thinking" in ran.out
    assert "5 experiences, 3 new episodes" in ran.out
    assert "\x1b" not in ran.out


def test_status_loads_no_heavy_library_and_few_modules(home: Home) -> None:
    # What it costs in processor time is measured by bench/client.py.
    with awake_in_thread(home):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "reveries", "status"],
            env=environment(home),
            check=True,
            capture_output=True,
            text=True,
            timeout=300,
        )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert {"reveries.client.sync_call", "asyncio", "msgspec"} <= loaded
    assert not {"numpy", "textual", "rich", "httpx", "litellm", "sqlite3", "structlog", "tomlkit"} & loaded
    assert not {
        name for name in loaded if name.startswith(("reveries.daemon", "reveries.memory", "reveries.client.tui"))
    }
    assert sum(name.startswith("reveries") for name in loaded) <= 40
    assert len(loaded) <= 300


def test_importing_the_command_line_loads_nothing_heavy(home: Home) -> None:
    code = (
        "import sys, reveries.client.cli; "
        "print([name for name in ('numpy', 'litellm', 'textual', 'rich', 'asyncio', 'msgspec') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(home), capture_output=True, check=True, timeout=300
    )
    assert done.stdout == b"[]\n"


def test_status_as_json_has_every_field(home: Home) -> None:
    with awake_in_thread(home):
        told = json.loads(reveries(home, "status", "--json").out)
    assert {"pid", "awake_since", "state", "health", "last_consolidation", "memory", "models", "usage"} <= told.keys()
    assert "request_id" not in told


def test_a_mind_that_cannot_store_does_not_look_well(home: Home) -> None:
    script = Script(status=status(home, health="not storing", problems=["The disk is full."]))
    with awake_in_thread(home, script):
        ran = reveries(home, "status")
    assert ran.out.splitlines()[0] == "! not storing"
    assert "The disk is full." in ran.out


@pytest.mark.requirement("R-92")
def test_say_prints_the_reply_and_nothing_else(home: Home) -> None:
    with awake_in_thread(home) as fake:
        ran = reveries(home, "say", "hello", "there")
    assert (ran.code, ran.out, ran.err) == (0, "Good morning.\n", "")
    assert [request.text for request in fake.received if isinstance(request, protocol.Say)] == ["hello there"]


def test_say_reads_stdin(home: Home) -> None:
    with awake_in_thread(home) as fake:
        ran = reveries(home, "say", stdin="a\nb\n")
    assert ran.code == 0
    assert [request.text for request in fake.received if isinstance(request, protocol.Say)] == ["a\nb"]


def test_a_private_turn_is_said_off_the_record(home: Home) -> None:
    with awake_in_thread(home, Script(pieces=["Sure."])) as fake:
        assert reveries(home, "say", "--private", stdin="between us").code == 0
        assert reveries(home, "say", "hello").code == 0
    said = [request for request in fake.received if isinstance(request, protocol.Say)]
    assert [request.off_record is True for request in said] == [True, False]


def test_say_as_json_tells_recalled_stored_and_usage(home: Home) -> None:
    item = protocol.RecalledItem("e1", "Ada plans.", 0.9, NOW, "the pear stays", "Ada", True)
    with awake_in_thread(home, Script(recalled=[item])):
        told = json.loads(reveries(home, "say", "--json", "hello").out)
    assert told["text"] == "Good morning."
    assert told["recalled"][0]["quote"] == "the pear stays"
    assert told["stored"] == {"words": "t1", "exchange": "t2"}
    assert told["usage"]["completion_tokens"] == 7


def test_say_of_nothing_is_a_usage_error(home: Home) -> None:
    ran = reveries(home, "say", stdin="  \n")
    assert ran.code == 2
    assert ran.err.startswith("reveries: Say at least one word.")


def test_a_mind_that_goes_away_in_its_reply_leaves_a_sentence(home: Home) -> None:
    with awake_in_thread(home, Script(dies_after="Token")):
        ran = reveries(home, "say", "hello")
    assert ran.code == 76
    assert "Your words are stored" in ran.err
    assert "Traceback" not in ran.err


def test_ctrl_c_stops_the_reply(home: Home) -> None:
    with awake_in_thread(home, Script(holds_reply=True)) as fake:
        process = _started(home, "say", "hello")
        assert process.stdout is not None
        assert process.stdout.read(4) == b"Good"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert b"You stopped it." in err
    assert fake.requests(protocol.Cancel)


@pytest.mark.requirement("R-24")
def test_monologue_streams_until_ctrl_c(home: Home) -> None:
    live: list[protocol.Frame] = [
        protocol.ThoughtBegan(0, "x", "the conversation ended", "She "),
        protocol.ThoughtToken(0, "measured.", 0),
        protocol.ThoughtEnded(0, "x", "settled", "It had come to rest.", 12),
    ]
    with awake_in_thread(home, Script(live=live)):
        process = _started(home, "monologue")
        assert process.stdout is not None
        seen = b""
        while b"come to rest" not in seen:
            seen += process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
    assert process.returncode == 0
    assert b"the conversation ended" in seen
    assert b"She measured.\n" in seen


@pytest.mark.requirement("R-25")
def test_monologue_history_takes_spans_and_times(home: Home) -> None:
    entry = protocol.ThoughtEntry("x", NOW, NOW + 9, "a timer", "settled", "The pear stays.", 5, [])
    began = time.time()
    with awake_in_thread(home, Script(thoughts=[entry])) as fake:
        ran = reveries(home, "monologue", "history", "--since", "2h")
        reveries(home, "monologue", "history", "--since", "2025-03-04T14:00+00:00", "--json")
        wrong = reveries(home, "monologue", "history", "--since", "soon")
    assert "The pear stays." in ran.out
    assert "ended: settled" in ran.out
    asked = [request.since for request in fake.received if isinstance(request, protocol.AskThoughts)]
    assert began <= asked[0] + 7200 <= time.time()
    assert asked[1] == 1741096800.0
    assert wrong.code == 2
    assert "'soon' is not a valid time" in wrong.err


@pytest.mark.requirement("R-20")
def test_consolidate_shows_its_log_and_what_is_left(home: Home) -> None:
    with awake_in_thread(home) as fake:
        ran = reveries(home, "consolidate", "--limit", "2")
    assert "x1: a walk" in ran.out
    assert "Processed 2 experiences" in ran.out
    assert "3 experiences left." in ran.out
    assert [request.limit for request in fake.received if isinstance(request, protocol.Consolidate)] == [2]


@pytest.mark.requirement("R-171", "R-21")
def test_memory_shows_its_statistics(home: Home) -> None:
    with awake_in_thread(home):
        ran = reveries(home, "memory")
    assert "20 temporal, 31 thematic" in ran.out
    assert "0.12 minimum" in ran.out


@pytest.mark.requirement("R-22")
def test_memory_search_shows_quote_source_and_ranked_turns(home: Home) -> None:
    with awake_in_thread(home, Script(found=FOUND)) as fake:
        ran = reveries(home, "memory", "search", "pear", "tree")
        told = json.loads(reveries(home, "memory", "search", "pear", "--json").out)
    assert [asked.query for asked in fake.received if isinstance(asked, protocol.Search)] == ["pear tree", "pear"]
    assert "“the pear stays” Ada" in ran.out
    assert "e1abcdef" in ran.out
    assert told["turns"][0]["turn_id"] == "t1"
    assert told["episodes"][0]["path"] == ["e0", "e1abcdef99"]


@pytest.mark.requirement("R-23")
def test_memory_inspect_shows_the_whole_episode(home: Home) -> None:
    with awake_in_thread(home, Script(episode=DETAIL)):
        ran = reveries(home, "memory", "inspect", "e1")
    for expected in (
        "Ada plans two beds.",
        "“the pear stays”",
        "temporal",
        "garden",
        "2 h",
        "what was said",
        "turn t1",
    ):
        assert expected in ran.out


def test_inspecting_what_is_not_there_ends_with_1(home: Home) -> None:
    with awake_in_thread(home):
        ran = reveries(home, "memory", "inspect", "zz")
    assert (ran.code, ran.err) == (1, "reveries: No episode begins with that. Search for it.\n")


@pytest.mark.requirement("F5")
def test_hostile_memories_are_printed_harmlessly(home: Home) -> None:
    episode = protocol.FoundEpisode("e1", HOSTILE, NOW, 0.8, 0.6, "owner", "deep", HOSTILE, HOSTILE, ["e1"])
    found = protocol.Found(0, [episode], [protocol.FoundTurn("t", HOSTILE, NOW, HOSTILE, 0.9, "e1")], 1, 0.1)
    with awake_in_thread(home, Script(found=found, pieces=list(HOSTILE))):
        outputs = [
            reveries(home, "memory", "search", "x").out,
            reveries(home, "memory", "search", "--json", "x").out,
            reveries(home, "say", "hello").out,
        ]
    for output in outputs:
        assert not [char for char in output if char not in "\n\t" and (ord(char) < 32 or 0x7F <= ord(char) < 0xA0)]
        assert "\u202e" not in output
        assert "[TODO]" in output
    assert json.loads(outputs[1])["episodes"][0]["summary"] == HOSTILE


@pytest.mark.requirement("R-17")
def test_sleep_waits_until_the_process_is_gone(home: Home) -> None:
    daemon = subprocess.Popen([sys.executable, "-m", "tests.fakes.daemon"], env=environment(home))
    try:
        until_it_listens(home.socket)
        ran = reveries(home, "sleep")
        assert (ran.code, ran.out) == (0, "Reverie is asleep. Wake it: reveries wake\n")
        assert daemon.wait(30) == 0
    finally:
        daemon.kill()
        daemon.wait()
    assert reveries(home, "sleep").out == "It is already asleep.\n"


@pytest.mark.requirement("R-16", "RA-2")
def test_a_second_wake_says_already_awake(home: Home) -> None:
    with awake_in_thread(home):
        ran = reveries(home, "wake")
    assert (ran.code, ran.out) == (0, f"Reverie is already awake (pid {os.getpid()}).\n")


@pytest.mark.requirement("R-19")
def test_the_conversation_in_a_real_terminal_writes_no_payload(home: Home) -> None:
    """F5: the bytes that reach the terminal, from the real application."""
    # The cursor stands on the first letter, and has a colour of its own.
    script = Script(pieces=list("marker " + HOSTILE), turns=[protocol.SaidTurn("a", "you", True, HOSTILE, NOW, False)])
    with awake_in_thread(home, script):
        output, code = in_terminal(home, [(b"ay something to", b"hi\r"), (b"marker", b"\x04"), (b"stays awake", b"")])
    assert code == 0
    assert b"EVIL" not in output
    assert b"\x1b]52" not in output
    assert b"RVZJTA" not in output
    assert "\u202e".encode() not in output
    assert b"Traceback" not in output


def test_without_a_terminal_the_conversation_says_so(home: Home) -> None:
    ran = reveries(home)
    assert ran.code == 2
    assert "needs a terminal" in ran.err


def test_asleep_in_a_terminal_it_says_how_to_wake_it(home: Home) -> None:
    output, code = in_terminal(home, [(b"reveries wake", b"")])
    assert code == 3
    assert b"The mind is asleep" in output


@pytest.mark.parametrize("words", ["reveries foo ", "reveries project Piano "])
def test_completing_after_an_unknown_command_prints_no_error(home: Home, words: str) -> None:
    asked = {"_REVERIES_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()))}
    ran = reveries(home, more=asked)
    assert (ran.code, ran.err) == (0, "")


def test_version_and_unknown_commands(home: Home) -> None:
    assert reveries(home, "--version").out.startswith("reveries 0.")
    ran = reveries(home, "slep")
    assert (ran.code, ran.err) == (2, "reveries: There is no command 'slep'. Did you mean sleep?\n")
    ran = reveries(home, "search", "piano")
    assert ran.err == "reveries: There is no command 'search'. Did you mean reveries memory search?\n"
    ran = reveries(home, "project", "orientatin")
    assert ran.err == "reveries: There is no command 'orientatin'. Did you mean reveries project orientation?\n"
    ran = reveries(home, "project", "My piano")
    assert ran.err == "reveries: There is no command 'My piano'. Did you mean reveries project status \"My piano\"?\n"
    ran = reveries(home, "status", "--jsn")
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1


def test_a_reader_that_goes_away_is_no_error(home: Home) -> None:
    with awake_in_thread(home, Script(pieces=["word " * 1000] * 200)):
        process = _started(home, "say", "hello")
        assert process.stdout is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
        process.stderr.close()
        process.wait(20)
    assert err == b""


def test_what_nobody_foresaw_is_one_sentence_and_a_log(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli._report_crash(ZeroDivisionError("private"), home)
    log = home.logs / "client.log"
    told = capsys.readouterr().err
    assert code == 1
    assert told == f"reveries: An unexpected error occurred. The details are in {log}.\n"
    assert "ZeroDivisionError" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_the_reference_names_every_command_and_exit_code() -> None:
    pages = cli_reference()
    for path in ("reveries wake", "reveries memory search", "reveries config set", "reveries models pull"):
        assert f"## `{path}`" in pages
    table = exit_code_table()
    for code in (0, 1, 2, 3, 65, 66, 69, 73, 74, 75, 76, 78, 130):
        assert f"| {code} |" in table


def _started(home: Home, *words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "reveries", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home),
        bufsize=0,
    )


def test_the_list_of_commands_says_what_each_says_of_itself_and_imports_none() -> None:
    ctx = click.Context(cli.cli)
    for name, entry in cli._COMMANDS.items():
        command = cli.cli.get_command(ctx, name)
        assert command is not None
        assert (command.name, command.get_short_help_str(200)) == (name, entry.help)
    program = "import sys; from reveries.client import cli; cli.run(['--help']); print([*sys.modules])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    assert "reveries.client.features" not in ran.stdout
