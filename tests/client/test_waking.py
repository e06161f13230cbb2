"""Waking: what is checked before, what is passed on, what happens when two wake at once."""

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from reveries.client.features.wake import Awake, FailedWake, WakePlan, _show_awake, prepare_wake, wake_mind
from reveries.config import Home
from reveries.errors import ConfigError
from tests.client.command_line import environment, reveries
from tests.fakes.daemon import awake_in_thread

_REPOSITORY = Path(__file__).parents[2]


def _plan(home: Home, code: str, seconds: float = 300.0) -> WakePlan:
    """A plan whose daemon runs `code` in this home."""
    setting = json.dumps({"REVERIES_HOME": str(home.path)})
    start = f"import os, sys; os.environ.update({setting}); sys.path.insert(0, {str(_REPOSITORY)!r}); {code}"
    return WakePlan(home, (sys.executable, "-c", start), wake_seconds=seconds)


@pytest.mark.requirement("R-1", "R-16")
def test_wake_returns_when_the_mind_answers_and_leaves_it_on_its_own(home: Home) -> None:
    outcome = wake_mind(_plan(home, "from tests.fakes.daemon import main; main()"))
    assert isinstance(outcome, Awake)
    assert not outcome.was_awake
    try:
        assert os.getsid(outcome.pid) == outcome.pid
        assert stat.S_IMODE((home.logs / "daemon.out").stat().st_mode) == 0o600
        assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
        assert wake_mind(_plan(home, "raise SystemExit(99)")) == Awake(outcome.pid, "Reverie", was_awake=True)
    finally:
        assert reveries(home, "sleep").code == 0
        os.waitpid(outcome.pid, 0)


def test_the_childs_own_sentence_and_exit_code_are_passed_on(home: Home) -> None:
    code = "print('noise', file=sys.stderr); print('reveries: No weights. Pull them.', file=sys.stderr); sys.exit(69)"
    assert wake_mind(_plan(home, code)) == FailedWake("reveries: No weights. Pull them.", 69)


def test_a_package_that_an_update_needs_is_named_with_what_installs_it(home: Home) -> None:
    outcome = wake_mind(_plan(home, "import a_package_of_the_next_version.words"))
    assert isinstance(outcome, FailedWake)
    assert "a_package_of_the_next_version is not installed" in outcome.sentence
    assert "make wake" in outcome.sentence
    assert "safe mode" not in outcome.sentence


def test_only_the_last_wakes_words_count(home: Home) -> None:
    wake_mind(_plan(home, "print('reveries: Old.', file=sys.stderr); sys.exit(69)"))
    outcome = wake_mind(_plan(home, "sys.exit(74)"))
    assert isinstance(outcome, FailedWake)
    assert outcome.exit_code == 74
    assert "ended with code 74" in outcome.sentence
    assert str(home.logs / "daemon.out") in outcome.sentence


def test_a_child_that_a_signal_ended_is_told_so(home: Home) -> None:
    outcome = wake_mind(_plan(home, "os.kill(os.getpid(), 9)"))
    assert isinstance(outcome, FailedWake)
    assert outcome.exit_code == 1
    assert "signal 9" in outcome.sentence


@pytest.mark.requirement("R-16")
def test_who_wakes_second_waits_for_the_first(home: Home) -> None:
    """The child that lost the race for the lock ends with 75; whoever won it answers."""
    with awake_in_thread(home):
        hidden = home.socket.rename(home.path / "hidden.sock")
        code = f"os.rename({str(hidden)!r}, {str(home.socket)!r}); sys.exit(75)"
        outcome = wake_mind(_plan(home, code))
    assert outcome == Awake(os.getpid(), "Reverie", was_awake=True)


def test_a_mind_that_does_not_answer_in_time_is_said_so(home: Home) -> None:
    outcome = wake_mind(_plan(home, "import time; time.sleep(3)", seconds=0.3))
    assert isinstance(outcome, FailedWake)
    assert "did not answer within 0.3 s" in outcome.sentence


def test_a_settings_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no settings file"):
        prepare_wake(tmp_path / "none.toml")


@pytest.mark.requirement("R-161")
@pytest.mark.parametrize(
    ("toml", "told"),
    [
        ("[budget]\ndollar_per_day = 2\n", "There is no setting budget.dollar_per_day (in {file}). Did you mean"),
        ("[budget]\ndollars_per_day = 'lots'\n", "The setting budget.dollars_per_day in {file} is wrong"),
        ("[budget\n", "The settings file {file} is not valid TOML"),
        ("[recall]\nlimit = 0\n", "The setting recall.limit in {file} is wrong"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_started(home: Home, toml: str, told: str) -> None:
    home.path.mkdir()
    home.config.write_text(toml)
    ran = reveries(home, "wake")
    assert ran.code == 78
    assert ran.err.startswith("reveries: " + told.format(file=home.config))
    assert len(ran.err.splitlines()) == 1
    assert not home.logs.exists()


def test_a_home_that_is_too_deep_is_refused(tmp_path: Path) -> None:
    deep = Home(tmp_path / ("d" * 120))
    for words in (("wake",), ("status",)):
        ran = reveries(deep, *words)
        assert ran.code == 73
        assert "is too long" in ran.err
        assert "REVERIES_HOME=" in ran.err
    assert not deep.path.exists()


def test_a_home_that_cannot_be_made_is_refused(home: Home) -> None:
    home.path.write_text("a file stands here")
    ran = reveries(home, "wake")
    assert ran.code == 73
    assert f"The home {home.path} cannot be created" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_an_unreadable_settings_file_is_refused(home: Home) -> None:
    home.path.mkdir()
    home.config.mkdir()
    ran = reveries(home, "wake")
    assert ran.code == 78
    assert f"The settings file {home.config} cannot be read" in ran.err


def test_foreground_runs_in_place(home: Home) -> None:
    """The real daemon's module is started by exec: with settings that it refuses, its own code is the exit code."""
    home.path.mkdir()
    home.config.write_text("[nonsense]\n")
    assert reveries(home, "wake", "--foreground").code == 78


def test_the_environment_of_the_tests_is_this_home(home: Home) -> None:
    assert environment(home)["REVERIES_HOME"] == str(home.path)


def test_a_chosen_provider_without_a_key_is_said_when_it_wakes(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REVERIES_HOME", str(home.path))
    for name in ("REVERIES_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    home.create()
    home.config.write_text('[llm]\nprovider = "openai"\n')
    plan = prepare_wake(None)
    _show_awake(Awake(7, "Reverie", was_awake=False), "", plan.worries, wanted_safe=False)
    assert "openai is chosen, but there is no API key for it." in capsys.readouterr().out
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    assert not prepare_wake(None).worries
