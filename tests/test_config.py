"""Settings: what is wrong is named with its file and its key, and nothing is guessed."""

import contextlib
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as checking
from hypothesis import strategies as st

from reveries.config import (
    SOCKET_PATH_LIMIT_BYTES,
    Home,
    build_settings,
    describe_setting,
    get_setting,
    known_keys,
    load_settings,
    read_default_toml,
)
from reveries.errors import ConfigError, HomeError
from reveries.llm.assets import manifest
from reveries.llm.choose import HOSTED_PROVIDERS
from reveries.own_addresses import is_this_machine
from reveries.settings_checks import EMBEDDING_PROVIDERS, LOCAL_EMBEDDERS
from tests.rows import check_rows


def written(folder: Path, text: str | bytes) -> Path:
    file = folder / "config.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


# --- the shipped defaults --------------------------------------------------------------------------------------------


@pytest.mark.requirement("R-134", "R-157", "R-158", "R-159")
def test_the_defaults_are_those_of_the_specification() -> None:
    settings = load_settings(None)
    monologue, memory, breaker = settings.monologue, settings.memory, settings.circuit_breaker
    assert (monologue.enabled, monologue.max_tokens_per_cycle, monologue.target_tokens_per_second) == (True, 2000, 5.0)
    assert (monologue.idle_check_seconds, monologue.settle_tokens_per_second) == (300, 1.0)
    assert (memory.raw_retention_hours, memory.consolidation_interval_hours) == (48, 4)
    assert (memory.consolidation_volume, memory.decay_half_life_days, memory.minimum_salience) == (20, 30, 0.1)
    assert (breaker.enabled, breaker.distress_threshold, breaker.max_consecutive_distress) == (True, 0.6, 3)
    assert (breaker.max_tokens_per_second, breaker.loop_window_tokens) == (20.0, 100)


@pytest.mark.requirement("R-161", "R-167")
def test_the_constants_that_the_specification_leaves_open_are_settings() -> None:
    settings = load_settings(None)
    recall = settings.recall
    assert (recall.seeds, recall.max_hops, recall.decay_per_hop) == (5, 3, 0.5)
    assert (recall.activation_threshold, recall.limit) == (0.05, 10)
    assert settings.memory.self_model_salience == 0.7
    assert settings.monologue.settle_window_tokens == 50


def test_no_hosted_provider_is_a_default() -> None:
    llm = load_settings(None).llm
    assert llm.provider == "auto"
    assert (llm.base_url, llm.api_key_file) == ("", "")


def test_every_setting_says_its_unit_or_needs_none() -> None:
    numbers = [key for key in known_keys() if isinstance(get_setting(load_settings(None), key), int | float)]
    unit = re.compile(r"_(seconds|minutes|hours|days|tokens|bytes|megabytes|day|month|second|cycle|dollars)$")
    bare = {key.rpartition(".")[2] for key in numbers if not unit.search(key)}
    assert bare == {
        "activation_threshold",
        "ask_above_count",
        "most_steps",
        "niceness",
        "ask_above_share",
        "backups_most_share",
        "believe_base_url",
        "consolidation_volume",
        "conversation_reserve_share",
        "decay_per_hop",
        "distress_threshold",
        "dormant_accessibility",
        "dormant_salience",
        "enabled",
        "limit",
        "live_episodes",
        "max_consecutive_distress",
        "max_hops",
        "merge_cosine",
        "minimum_salience",
        "most_tasks",
        "on_battery",
        "plain",
        "seeds",
        "self_model_salience",
        "thinking",
        "threads",
    }


# --- a file laid over them -------------------------------------------------------------------------------------------


@pytest.mark.requirement("R-161")
def test_a_file_changes_only_what_it_names(tmp_path: Path) -> None:
    settings = load_settings(written(tmp_path, "[memory]\nminimum_salience = 0.2\n[llm.embedded]\nthreads = 1\n"))
    assert settings.memory.minimum_salience == 0.2
    assert settings.memory.raw_retention_hours == 48
    assert settings.llm.embedded.threads == 1
    assert settings.llm.embedded.model == load_settings(None).llm.embedded.model


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "nowhere.toml") == load_settings(None)


def test_an_empty_file_means_the_defaults(tmp_path: Path) -> None:
    assert load_settings(written(tmp_path, "")) == load_settings(None)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    file = written(tmp_path, b'\xef\xbb\xbf[mind]\nname = "Momo"\n')
    assert load_settings(file).mind.name == "Momo"


@pytest.mark.requirement("R-161")
@pytest.mark.parametrize(
    ("text", "key", "nearest"),
    [
        ("[monologue]\nenable = true\n", "monologue.enable", "monologue.enabled"),
        ("[llm]\nprovidr = 'auto'\n", "llm.providr", "llm.provider"),
        ("[llm.embeded]\nthreads = 1\n", "llm.embeded.threads", "llm.embedded.threads"),
        ("max_hops = 2\n", "max_hops", "recall.max_hops"),
        ("[recall]\nMAX_HOPS = 2\n", "recall.MAX_HOPS", "recall."),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_right_name(
    tmp_path: Path, text: str, key: str, nearest: str
) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ConfigError) as refused:
        load_settings(file)
    assert key in refused.value.message
    assert str(file) in refused.value.message
    assert nearest in refused.value.advice


def test_a_key_that_is_near_nothing_points_to_the_list(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        load_settings(written(tmp_path, "zzzzzzzzqqq = 1\n"))
    assert refused.value.advice == "List all settings: reveries config"


@pytest.mark.requirement("R-161")
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[recall]\nmax_hops = "three"\n', "recall.max_hops"),
        ("[recall]\nmax_hops = 2.5\n", "recall.max_hops"),
        ("[recall]\nmax_hops = true\n", "recall.max_hops"),
        ("[recall]\nmax_hops = 9\n", "recall.max_hops"),
        ("[memory]\nminimum_salience = 1.1\n", "memory.minimum_salience"),
        ("[memory]\nminimum_salience = -0.1\n", "memory.minimum_salience"),
        ("[memory]\nminimum_salience = nan\n", "memory.minimum_salience"),
        ("[memory]\ndecay_half_life_days = 0\n", "memory.decay_half_life_days"),
        ("[memory]\ndecay_half_life_days = inf\n", "memory.decay_half_life_days"),
        ("[monologue]\nenabled = 1\n", "monologue.enabled"),
        ('[llm]\nprovider = "skynet"\n', "llm.provider"),
        ('[mind]\nname = ""\n', "mind.name"),
        ("mind = 3\n", "mind"),
        ("[llm]\nembedded = 1\n", "llm.embedded"),
        ('[log]\nlevel = "loud"\n', "log.level"),
    ],
)
def test_a_wrong_value_is_refused_naming_its_file_and_key(tmp_path: Path, text: str, key: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ConfigError) as refused:
        load_settings(file)
    assert f"{key} " in refused.value.message
    assert str(file) in refused.value.message
    assert refused.value.advice


def test_a_whole_number_serves_where_a_fraction_may_stand(tmp_path: Path) -> None:
    assert load_settings(written(tmp_path, "[memory]\nraw_retention_hours = 24\n")).memory.raw_retention_hours == 24.0


def test_a_file_that_is_not_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    file = written(tmp_path, '[mind]\nname = "Momo"\n[broken\n')
    with pytest.raises(ConfigError, match="line 3") as refused:
        load_settings(file)
    assert str(file) in refused.value.message


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="UTF-8"):
        load_settings(written(tmp_path, b'[mind]\nname = "\xff"\n'))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(tmp_path)


def test_settings_are_frozen() -> None:
    settings = load_settings(None)
    with pytest.raises(AttributeError):
        settings.mind.name = "Other"  # type: ignore[misc]


# --- asking for one --------------------------------------------------------------------------------------------------


def test_every_key_can_be_asked_for() -> None:
    settings = load_settings(None)
    defaults = tomllib.loads(read_default_toml())
    for key in known_keys():
        node: object = defaults
        for part in key.split("."):
            assert isinstance(node, dict)
            node = node[part]
        found = get_setting(settings, key)
        assert (list(found) if isinstance(found, tuple) else found) == node


def test_a_table_is_given_whole() -> None:
    assert get_setting(load_settings(None), "log") == {"level": "info"}


def test_asking_for_what_is_not_there_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=re.escape("monologue.enabeld")) as refused:
        get_setting(load_settings(None), "monologue.enabeld")
    assert refused.value.advice == "Did you mean monologue.enabled?"


def test_the_comment_above_a_setting_is_its_description() -> None:
    assert (
        describe_setting("monologue.target_tokens_per_second")
        == "Thought is paced to about the speed of human thinking."
    )
    assert describe_setting("llm.provider").startswith("auto: an Ollama that answers, else the embedded model.")
    assert describe_setting("llm.embedded.threads") == "0: as many as suit this machine."


def test_a_setting_without_a_comment_has_no_description_of_its_neighbour() -> None:
    assert describe_setting("monologue.max_tokens_per_cycle") == ""
    assert describe_setting("memory.consolidation_interval_hours") == ""
    assert describe_setting("no.such.key") == ""


def test_settings_can_come_from_tables(tmp_path: Path) -> None:
    assert build_settings({"mind": {"name": "Momo"}}, "a test").mind.name == "Momo"


# --- the home --------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("R-154", "R-160")
def test_the_memory_is_in_the_home_unless_it_is_put_elsewhere() -> None:
    home = Home(Path("/tmp/h"))
    assert home.database(load_settings(None)) == Path("/tmp/h/memory.db")
    elsewhere = build_settings({"storage": {"db_path": "~/mind.db"}}, "a test")
    assert home.database(elsewhere) == Path("~/mind.db").expanduser()


@pytest.mark.parametrize(("chosen", "found"), [("/tmp/elsewhere", "/tmp/elsewhere"), ("", "~/.reveries")])
def test_the_home_is_where_the_environment_says(chosen: str, found: str) -> None:
    told = subprocess.run(
        [sys.executable, "-c", "from reveries.config import find_home; print(find_home().path)"],
        env=os.environ | {"REVERIES_HOME": chosen},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert told.stdout.strip() == str(Path(found).expanduser())


@pytest.mark.requirement("R-14")
def test_a_home_is_made_for_its_owner_alone(home: Home) -> None:
    home.create()
    assert home.path.stat().st_mode & 0o777 == 0o700
    assert home.logs.stat().st_mode & 0o777 == 0o700
    assert home.backups.stat().st_mode & 0o777 == 0o700


def test_a_home_that_others_could_read_is_closed_to_them(home: Home) -> None:
    home.path.mkdir(mode=0o755)
    home.path.chmod(0o755)
    home.create()
    assert home.path.stat().st_mode & 0o777 == 0o700


def test_a_home_whose_socket_path_is_too_long_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    deep = Home(tmp_path / ("d" * (SOCKET_PATH_LIMIT_BYTES - len(str(tmp_path)))))
    with pytest.raises(HomeError, match="too long") as refused:
        deep.create()
    assert str(deep.path) in refused.value.message
    assert "REVERIES_HOME" in refused.value.advice
    assert not deep.path.exists()


def test_the_length_of_a_socket_path_is_counted_in_bytes() -> None:
    letters = SOCKET_PATH_LIMIT_BYTES - len("/tmp//daemon.sock") - 1
    Home(Path("/tmp") / ("d" * letters)).check()
    with pytest.raises(HomeError):
        Home(Path("/tmp") / ("ß" * letters)).check()


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "h"
    file.write_text("not a folder")
    with pytest.raises(HomeError, match="cannot be created"):
        Home(file).create()
    with pytest.raises(HomeError, match="cannot be created"):
        Home(file / "below").create()


@contextlib.contextmanager
def without_privilege() -> Iterator[None]:
    """As an ordinary user, for root may write everywhere."""
    if os.getuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def test_a_home_in_a_folder_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    with without_privilege(), pytest.raises(HomeError, match="cannot be created: Permission denied") as refused:
        Home(folder / "h").create()
    assert str(folder / "h") in refused.value.message
    assert "REVERIES_HOME" in refused.value.advice
    assert not list(folder.iterdir())


@pytest.mark.parametrize("name", ["nonsense/x", "openai/", "text-embedding-3-small", "/x", "smollm2-135m"])
def test_what_no_embedder_is_called_is_refused_with_the_names_there_are(name: str) -> None:
    with pytest.raises(ConfigError, match=r"llm\.embedding_model") as caught:
        build_settings({"llm": {"embedding_model": name}}, "test")
    assert "all-minilm-l6-v2" in caught.value.advice
    assert "ollama" in caught.value.advice


@pytest.mark.parametrize("name", ["all-minilm-l6-v2", "ollama/nomic-embed-text:v1", "openrouter/openai/x"])
def test_what_an_embedder_may_be_called_is_taken(name: str) -> None:
    assert build_settings({"llm": {"embedding_model": name}}, "test").llm.embedding_model == name


def test_the_names_of_embedders_are_those_that_can_be_built() -> None:
    assert {known.name for known in manifest() if known.kind == "embedding"} == set(LOCAL_EMBEDDERS)
    assert set(EMBEDDING_PROVIDERS) == {"ollama", *HOSTED_PROVIDERS}


@pytest.mark.parametrize("url", ["localhost:1234", "http://", "http://[bad", "ftp://example.org"])
def test_an_address_of_a_server_that_is_none_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(ConfigError, match=r"llm\.base_url") as caught:
        build_settings({"llm": {"base_url": url}}, "here")
    assert "http://localhost:1234/v1" in caught.value.advice


@pytest.mark.parametrize("hours", ["22:00-22:00", "25:00-07:00", "late"])
def test_quiet_hours_that_are_none_are_refused(hours: str) -> None:
    with pytest.raises(ConfigError, match="quiet_hours"):
        build_settings({"monologue": {"quiet_hours": [hours]}}, "here")


GOOD = read_default_toml().encode("utf-8")


@checking(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, len(GOOD) - 1),
    st.integers(0, 400),
    st.sampled_from([b"", b"\xff", b"\x00", b"[", b'"', b"= = ", b"\r\n", b"\xef\xbb\xbf", b"1e999", b"[[mind]]\n"]),
)
@pytest.mark.requirement("C4")
def test_whatever_happened_to_the_file_of_settings_it_is_read_or_refused_by_its_name(
    tmp_path: Path, place: int, length: int, put: bytes
) -> None:
    """Two hundred mutations of a good file: a piece cut out anywhere, and something else in its place."""
    file, refused = written(tmp_path, GOOD[:place] + put + GOOD[place + length :]), None
    try:
        load_settings(file)
    except ConfigError as error:
        refused = error
    assert refused is None or (str(file) in refused.message and refused.exit_code == 78)


@pytest.mark.requirement("F2")
@check_rows(
    ("address", "is_here"),
    [
        ("http://127.0.0.1:11434", True),
        ("localhost:11434", True),
        ("http://[::1]:1/v1", True),
        ("127.8.9.1", True),
        ("http://127.0.0.1.evil.example", False),
        ("http://127.evil.example:11434", False),
        ("http://[::1", False),
        ("http://localhost.evil.example", False),
        ("https://10.0.0.1", False),
        ("", False),
    ],
)
def test_only_an_address_of_this_machines_own_is_said_to_stay_here(address: str, is_here: bool) -> None:
    assert is_this_machine(address) is is_here
