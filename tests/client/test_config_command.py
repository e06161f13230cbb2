"""`reveries config`: one line changes, comments stay, and what is wrong is refused before it is written."""

import json
import stat
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reveries import protocol
from reveries.client.settings_file import draft_changes, lock_settings, write_private, write_setting
from reveries.config import Home, get_setting, load_settings, read_default_toml
from reveries.errors import ConfigError, HomeError
from tests.client.command_line import reveries
from tests.fakes.daemon import Script, awake_in_thread

_FILE = """# mine
[budget]   # money
dollars_per_day = 0.5  # careful

[mind]
name = "Echo"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(_FILE)
    return path


@pytest.mark.requirement("R-27")
def test_set_changes_one_line_and_keeps_the_comments(file: Path) -> None:
    assert write_setting(file, "budget.dollars_per_day", "2") == 2.0
    assert file.read_text() == _FILE.replace("0.5", "2.0")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_set_makes_the_file_and_the_table(tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.toml"
    write_setting(file, "llm.embedded.threads", "2")
    assert load_settings(file).llm.embedded.threads == 2


@pytest.mark.requirement("C4")
def test_of_many_who_set_something_at_once_each_has_its_way_and_nothing_is_left_behind(file: Path) -> None:
    wanted = {"llm.embedded.threads": 2, "recall.limit": 12, "llm.ollama.context_tokens": 5000, "log.level": "debug"}
    with ThreadPoolExecutor(len(wanted)) as threads:
        for _ in range(5):
            file.write_text(_FILE)
            list(threads.map(lambda item: write_setting(file, item[0], str(item[1])), wanted.items()))
            settings = load_settings(file)
            assert {key: get_setting(settings, key) for key in wanted} == wanted
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.requirement("C4")
def test_a_change_waits_for_one_that_was_begun(file: Path) -> None:
    with ThreadPoolExecutor(1) as threads:
        with lock_settings(file):
            other = threads.submit(write_setting, file, "recall.limit", "12")
            write_private(file, draft_changes(file, {"mind.name": "Ada"}).after)
            assert not other.done()
        other.result(timeout=300)
    assert (load_settings(file).mind.name, load_settings(file).recall.limit) == ("Ada", 12)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("mind.name", "Echo Two", "Echo Two"),
        ("mind.name", '"Quoted"', "Quoted"),
        ("mind.name", "7", "7"),
        ("monologue.enabled", "false", False),
        ("recall.limit", "12", 12),
        ("llm.provider", "ollama", "ollama"),
    ],
)
def test_words_need_no_quotes(file: Path, key: str, text: str, value: object) -> None:
    assert write_setting(file, key, text) == value


@pytest.mark.requirement("R-161")
@pytest.mark.parametrize(
    ("key", "text", "told"),
    [
        ("budget.dollar_per_day", "2", "Did you mean budget.dollars_per_day"),
        ("budget.dollars_per_day", "lots", "budget.dollars_per_day"),
        ("budget", "2", "is a table"),
        ("llm.provider", "skynet", "llm.provider"),
        ("recall.limit", "0", "recall.limit"),
        ("monologue.enabled", "perhaps", "monologue.enabled"),
        ("mind.name", "", "mind.name"),
    ],
)
def test_what_is_wrong_is_refused_and_the_file_untouched(file: Path, key: str, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        write_setting(file, key, text)
    assert file.read_text() == _FILE


def test_a_wrong_value_in_the_file_can_be_mended(file: Path) -> None:
    file.write_text("[recall]\nlimit = 0\n")
    assert write_setting(file, "recall.limit", "5") == 5


def test_a_setting_where_a_table_belongs_is_said_so(file: Path) -> None:
    file.write_text("budget = 3\n")
    with pytest.raises(ConfigError, match="not a table"):
        write_setting(file, "budget.dollars_per_day", "2")


def test_a_link_stays_a_link(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    write_setting(link, "mind.name", "Two")
    assert link.is_symlink()
    assert "Two" in file.read_text()


def test_a_file_that_cannot_be_written_is_a_home_error(tmp_path: Path) -> None:
    (tmp_path / "wall").write_text("")
    with pytest.raises(HomeError, match="Nothing was changed"):
        write_setting(tmp_path / "wall" / "config.toml", "mind.name", "Two")


@pytest.mark.requirement("R-27")
def test_config_set_tells_the_mind_and_says_when_it_counts(home: Home) -> None:
    home.path.mkdir()
    asleep = reveries(home, "config", "set", "mind.name", "Echo")
    with awake_in_thread(home, Script(needs_restart=["llm.embedded.threads"])) as fake:
        now = reveries(home, "config", "set", "owner.name", "Two")
        later = reveries(home, "config", "set", "llm.embedded.threads", "2")
        of_the_chat = reveries(home, "config", "set", "client.plain", "true")
        assert len(fake.requests(protocol.ApplyConfig)) == 3
    assert "takes effect at the next wake" in asleep.out
    assert "The mind uses it now" in now.out
    assert "takes effect after a restart" in later.out
    assert "The next chat that you open uses it" in of_the_chat.out
    settings = load_settings(home.config)
    assert (settings.mind.name, settings.owner.name, settings.llm.embedded.threads) == ("Echo", "Two", 2)


@pytest.mark.requirement("R-26")
def test_config_prints_every_setting_as_toml(home: Home, tmp_path: Path) -> None:
    ran = reveries(home, "config")
    copy = tmp_path / "copy.toml"
    copy.write_text(ran.out)
    assert load_settings(copy) == load_settings(None)


def test_config_get_says_what_it_means(home: Home) -> None:
    ran = reveries(home, "config", "get", "monologue.idle_check_seconds")
    assert ran.out.splitlines()[0] == "idle_check_seconds = 300.0"
    assert "The check costs nothing." in ran.out
    assert reveries(home, "config", "get", "monologue").out.count("\n") >= 6
    wrong = reveries(home, "config", "get", "monologue.idle")
    assert wrong.code == 78
    assert "There is no setting monologue.idle" in wrong.err


def test_credentials_in_an_address_are_masked(home: Home) -> None:
    home.path.mkdir()
    home.config.write_text('[llm]\nbase_url = "https://me:secret@host/v1"\n')
    for words in (
        ("config",),
        ("config", "get", "llm.base_url"),
        ("config", "--json"),
        ("config", "get", "llm.base_url", "--json"),
    ):
        ran = reveries(home, *words)
        assert "secret" not in ran.out
        assert "//***@host" in ran.out
    assert json.loads(reveries(home, "config", "--json").out)["llm"]["provider"] == "auto"


def test_the_mind_s_own_settings_are_shown_while_it_is_awake(home: Home) -> None:
    with awake_in_thread(home):
        ran = reveries(home, "config")
    assert str(home.config) in ran.out
    assert read_default_toml().count("=") <= ran.out.count("=") + 5


@pytest.mark.requirement("C5", "R-14")
def test_a_hundred_kills_in_the_middle_of_setting_leave_the_old_or_the_new_and_never_a_half(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('# mine\n[mind]\nname = "Reverie"\n')
    file.chmod(0o600)
    program = """
        import os, pathlib, random, signal, sys, time
        from reveries.client.settings_file import write_setting
        from reveries.config import load_settings
        file, chance = pathlib.Path(sys.argv[1]), random.Random(7)
        write_setting(file, "mind.name", "Warm")
        for number in range(100):
            before = load_settings(file).mind.name
            child = os.fork()
            if child == 0:
                write_setting(file, "mind.name", f"Name{number}" * 50)
                os._exit(0)
            time.sleep(chance.uniform(0.0, 0.012))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            after = load_settings(file).mind.name
            assert after in (before, f"Name{number}" * 50), after
            assert file.read_text().startswith("# mine")
            assert file.stat().st_mode & 0o777 == 0o600
        print("new" if "Name" in after else "old")
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.split() in (["old"], ["new"]), done.stderr
