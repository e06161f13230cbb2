"""The log: structured lines, complete tracebacks, no secrets and no control characters."""

import gc
import json
import logging
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path

import pytest
import structlog

from reveries.daemon.process.logs import log_to
from reveries.errors import ModelAnswerError


def _lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "daemon.log").read_text(encoding="utf-8").splitlines()]


@pytest.mark.requirement("R-10")
def test_a_state_is_logged_as_one_line_with_its_keys(tmp_path: Path) -> None:
    with log_to(tmp_path, "info"):
        structlog.get_logger("monologue").info("monologue.state_changed", state="thinking")
    (line,) = _lines(tmp_path)
    assert (line["event"], line["state"], line["level"], line["logger"]) == (
        "monologue.state_changed", "thinking", "info", "monologue",
    )  # fmt: skip


@pytest.mark.requirement("F6")
def test_a_traceback_is_kept_and_the_key_in_it_is_not(tmp_path: Path) -> None:
    key = "sk-abcdefghijklmnop1234"
    with log_to(tmp_path, "debug"):
        try:
            raise ValueError(f"refused with {key}")
        except ValueError:
            structlog.get_logger("llm").exception("call.failed")
        logging.getLogger("somebody").warning("Authorization: Bearer abcdefgh12345678")
    text = (tmp_path / "daemon.log").read_text(encoding="utf-8")
    assert "ValueError: refused with" in text
    assert key not in text
    assert "abcdefgh12345678" not in text


@pytest.mark.requirement("F5")
def test_no_control_character_reaches_the_log(tmp_path: Path) -> None:
    with log_to(tmp_path, "info"):
        logging.getLogger("somebody").warning("title \x1b]0;owned\x07 and \x9b2J")
        structlog.get_logger("x").info("event", text="\x1b[31mred\x1b[0m")
    raw = (tmp_path / "daemon.log").read_bytes()
    assert not [byte for byte in raw if byte < 32 and byte not in (9, 10)]
    assert b"owned" not in raw


@pytest.mark.requirement("H2")
def test_chatty_libraries_are_heard_only_when_they_warn(tmp_path: Path) -> None:
    with log_to(tmp_path, "debug"):
        for name in ("httpx", "a library that nobody knows"):
            logging.getLogger(name).info("GET https://example.invalid/?token=1")
            logging.getLogger(name).warning("careful")
        structlog.get_logger("ours").debug("said")
    assert [line["event"] for line in _lines(tmp_path)] == ["library.logged", "library.logged", "said"]


@pytest.mark.requirement("H2")
@pytest.mark.filterwarnings("always")
def test_of_a_warning_the_log_has_only_where_and_of_what_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with log_to(tmp_path, "debug"):
        warnings.warn("a: DeprecationWarning: my diary of the pear tree", UserWarning, stacklevel=1)
    (line,) = _lines(tmp_path)
    assert (line["event"], line["kind"]) == ("library.logged", "UserWarning")
    assert str(line["where"]).startswith(f"{__file__}:")
    assert "diary" not in (tmp_path / "daemon.log").read_text(encoding="utf-8") + capsys.readouterr().err


_PRIVATE = "my diary of the pear tree"


class _TakenDownBadly:
    def __del__(self) -> None:
        raise ValueError(_PRIVATE)


@pytest.mark.requirement("H2")
def test_what_nobody_caught_is_logged_without_its_words_and_is_not_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise ValueError(_PRIVATE)

    with log_to(tmp_path, "info"):
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
        _TakenDownBadly()
        gc.collect()
    text = (tmp_path / "daemon.log").read_text(encoding="utf-8")
    assert [line["event"] for line in _lines(tmp_path)] == ["thread.failed", "finalizer.failed"]
    assert all("ValueError" in str(line["exception"]) for line in _lines(tmp_path))
    assert _PRIVATE not in text + capsys.readouterr().err


_TAKEN_DOWN_WHILE_LOGGING = """
    import logging, sys, warnings
    from pathlib import Path
    from reveries.daemon.process.logs import log_to

    class SpeaksAtItsEnd:
        def __del__(self):
            warnings.warn("never closed", ResourceWarning, stacklevel=1)
            raise ValueError("nor taken down")

    def collect(frame, event, argument):
        if frame.f_globals["__name__"] in ("queue", "logging.handlers", "reveries.daemon.process.logs"):
            SpeaksAtItsEnd()

    warnings.simplefilter("always")
    with log_to(Path(sys.argv[1]), "info"):
        sys.setprofile(collect)
        logging.getLogger("somebody").warning("careful")
        sys.setprofile(None)
"""
"""The garbage collector may run a finalizer at any step of logging; here it does at each."""


@pytest.mark.requirement("B7")
def test_what_is_taken_down_while_a_line_is_logged_may_log_too(tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(_TAKEN_DOWN_WHILE_LOGGING), str(tmp_path)]
    subprocess.run(command, timeout=300, check=True)
    told = [line["event"] for line in _lines(tmp_path)]
    assert told.count("finalizer.failed") > 3
    assert told.count("library.logged") == told.count("finalizer.failed") + 1


@pytest.mark.requirement("H2")
def test_what_an_unforeseen_error_quotes_stands_in_the_log_only_for_debug(tmp_path: Path) -> None:
    private = "my diary of the pear tree"

    def fail() -> None:
        try:
            raise KeyError(private)
        except KeyError as cause:
            raise ExceptionGroup(
                private, [ValueError(private), ModelAnswerError(private), OSError(2, "No file")]
            ) from cause

    for level in ("info", "debug"):
        folder = tmp_path / level
        folder.mkdir()
        with log_to(folder, level):
            try:
                fail()
            except ExceptionGroup:
                structlog.get_logger("mind").exception("request.failed")
    told = (tmp_path / "info" / "daemon.log").read_text(encoding="utf-8")
    assert private not in told
    for kind in (
        "KeyError",
        "ExceptionGroup",
        "ValueError",
        "ModelAnswerError: model_answer",
        "FileNotFoundError: No file",
        "fail()",
    ):
        assert kind in told
    assert private in (tmp_path / "debug" / "daemon.log").read_text(encoding="utf-8")
