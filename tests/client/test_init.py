"""`reveries init`: what it offers, what it writes, and that Enter is an answer to everything."""

import json
import socket
import stat
import time
import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries import protocol
from reveries.client.setup import (
    Answers,
    caps_text,
    changed_settings,
    choice_page,
    choose_key_file,
    find_option,
    list_options,
    next_steps,
    options_page,
    parse_key,
    uses_embedded,
)
from reveries.config import Home, Settings, build_settings, get_setting, load_settings, read_default_toml
from reveries.errors import UsageError
from tests.client.command_line import in_terminal, reveries
from tests.fakes.daemon import Script, awake_in_thread, overview
from tests.fakes.weights import put_weights

SETTINGS = load_settings(None)
SECRET = "sk-test-0123456789"
LARGER = protocol.SuggestedModel("large", 1_100_000_000, is_here=False, larger="larger", larger_bytes=2_500_000_000)


@pytest.fixture(autouse=True)
def weights_that_are_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model: nobody asks a publisher for another."""
    folder = tmp_path / "models"
    for name in ("qwen2.5-coder-1.5b-instruct", "all-minilm-l6-v2"):
        put_weights(folder, name)
    monkeypatch.setenv("REVERIES_MODELS", str(folder))
    return folder


# --- what it says ----------------------------------------------------------------------------------------------------


def test_each_choice_says_what_leaves_the_machine_and_what_it_costs() -> None:
    offered = {one.provider: one for one in list_options(overview(), SETTINGS)}
    assert offered["auto"].leaves == offered["embedded"].leaves == "Nothing leaves this machine."
    assert "Ollama's llama3.2:latest" in offered["auto"].what
    assert offered["openai"].leaves.endswith("goes to OpenAI.")
    assert (
        offered["openai"].cost == "About $0.30 a day if you talk for an hour, and at most $0.80 for thinking and sleep."
    )
    caps = caps_text(1.0, 20.0)
    page = options_page(list(offered.values()), "auto", caps) + choice_page(offered["openai"], caps)
    shown = " ".join(" ".join(part.text for row in page for part in row).split())
    assert shown.count("t most $1.00 a day and $20.00 a month (caps).") == 2
    assert "› 1 auto" in shown
    with pytest.raises(UsageError):
        find_option(overview(), SETTINGS, "nobody")


def test_an_ollama_that_would_hand_it_on_is_not_what_auto_uses() -> None:
    cloud = overview(ollama=[one for one in overview().ollama if one.leaves_machine])
    auto, _, ollama, *_ = list_options(cloud, SETTINGS)
    assert "big:cloud" not in auto.what
    assert (auto.leaves, "another computer" in ollama.leaves) == ("Nothing leaves this machine.", True)
    embeds = overview(ollama=[protocol.OllamaOffer("nomic-embed-text", 1, leaves_machine=False)])
    assert "nomic" not in list_options(embeds, SETTINGS)[0].what
    far = overview(
        ollama=[protocol.OllamaOffer("llama3.2", 1, leaves_machine=True, is_chosen=True)], ollama_url="http://far:11434"
    )
    llm = msgspec.structs.replace(SETTINGS.llm, ollama_url="http://far:11434")
    assert "http://far:11434" in list_options(far, msgspec.structs.replace(SETTINGS, llm=llm))[0].leaves


@pytest.mark.requirement("RA-41")
@pytest.mark.parametrize(
    ("llm", "maker", "key"),
    [
        ({"conversation_fallbacks": ["openai/gpt-4.1"]}, "OpenAI", "llm.conversation_fallbacks"),
        ({"monologue_fallbacks": ["embedded", "cerebras"]}, "Cerebras", "llm.monologue_fallbacks"),
        ({"consolidation_model": "anthropic/claude-haiku-4-5"}, "Anthropic", "llm.consolidation_model"),
        ({"embedding_model": "openai/text-embedding-3-small"}, "OpenAI", "llm.embedding_model"),
    ],
)
def test_whoever_else_is_told_something_is_named_with_the_setting_that_says_so(
    llm: dict[str, object], maker: str, key: str
) -> None:
    for one in list_options(overview(), build_settings({"llm": llm}, "test"))[:3]:
        assert one.leaves == f"What you say, and what it remembers of it, goes to {maker} ({key})."
        assert (one.cost, one.leaves_machine) == (f"Requests to {maker} cost money.", True)


def test_what_an_ollama_hands_on_is_no_secret_to_this_machine() -> None:
    def leaves(**llm: object) -> dict[str, str]:
        return {one.provider: one.leaves for one in list_options(overview(), build_settings({"llm": llm}, "test"))}

    handed = leaves(provider="ollama", conversation_model="gpt-oss:120b-cloud")
    assert "another computer" in handed["ollama"]
    assert handed["embedded"] == "Nothing leaves this machine."
    assert "another computer" in leaves(embedding_model="ollama/nomic", ollama_url="http://far:1")["embedded"]
    assert leaves(embedding_model="ollama/nomic")["embedded"] == "Nothing leaves this machine."
    both = leaves(conversation_fallbacks=["anthropic/x", "openai/y"])
    assert both["openai"].endswith("goes to OpenAI. Some of it goes to Anthropic (llm.conversation_fallbacks).")


@pytest.mark.requirement("F2")
def test_a_copy_of_a_model_of_ollamas_cloud_is_named_as_what_it_is() -> None:
    offers = [protocol.OllamaOffer("mine:latest", 1, True), protocol.OllamaOffer("small", 1, False, is_chosen=True)]
    settings = build_settings({"llm": {"conversation_fallbacks": ["ollama/mine"]}}, "test")
    told = {one.provider: one.leaves for one in list_options(overview(ollama=offers), settings)}
    assert "another computer" in told["embedded"]
    assert "llm.conversation_fallbacks" in told["embedded"]


def test_init_does_not_say_free_where_a_fallback_is_paid(home: Home) -> None:
    home.create()
    home.config.write_text('[llm]\nconversation_fallbacks = ["openai/gpt-4.1"]\n')
    told = " ".join(reveries(home, "init", "--provider", "embedded").out.split())
    assert "Nothing leaves" not in told
    assert "goes to OpenAI (llm.conversation_fallbacks). Requests to OpenAI cost money. In total at most" in told


# --- what it changes -------------------------------------------------------------------------------------------------


def test_what_stays_as_it_is_is_not_written() -> None:
    assert changed_settings(SETTINGS, Answers(owner="", provider="auto", dollars_per_day=1.0)) == {}


def test_a_cap_that_is_raised_is_raised_for_the_conversation_too() -> None:
    assert changed_settings(SETTINGS, Answers(dollars_per_day=30.0)) == {
        "budget.dollars_per_day": 30.0,
        "budget.dollars_per_month": 30.0,
        "budget.conversation.dollars_per_day": 30.0,
        "budget.conversation.dollars_per_month": 30.0,
    }
    assert changed_settings(SETTINGS, Answers(dollars_per_day=0.5)) == {"budget.dollars_per_day": 0.5}


@given(
    day=st.none() | st.floats(0, 10_000, allow_nan=False),
    month=st.none() | st.floats(0, 100_000, allow_nan=False),
    provider=st.sampled_from(["auto", "embedded", "openai", "cerebras"]),
)
def test_every_answer_makes_settings_that_are_accepted(day: float | None, month: float | None, provider: str) -> None:
    tables = tomllib.loads(read_default_toml())
    for key, value in changed_settings(SETTINGS, Answers("Ada", provider, day, month)).items():
        *path, name = key.split(".")
        table = tables
        for part in path:
            table = table[part]
        table[name] = value
    written = build_settings(tables, "test")
    assert get_setting(written, "llm.provider") == provider
    assert day is None or written.budget.dollars_per_day == day


def test_a_key_never_serves_another_provider(tmp_path: Path) -> None:
    openais = str(tmp_path / "openai.key")
    chose = build_settings({"llm": {"provider": "openai", "api_key_file": openais}}, "test")
    assert choose_key_file(tmp_path, chose, "anthropic", was_pasted=False) == ""
    assert choose_key_file(tmp_path, chose, "anthropic", was_pasted=True) == str(tmp_path / "anthropic.key")
    own = build_settings({"llm": {"api_key_file": "/elsewhere/key"}}, "test")
    assert choose_key_file(tmp_path, own, "anthropic", was_pasted=False) is None
    (tmp_path / "openai.key").write_text(SECRET)
    assert choose_key_file(tmp_path, SETTINGS, "openai", was_pasted=False) == openais


def test_what_was_pasted_by_mistake_is_no_key() -> None:
    assert parse_key(f"  {SECRET}\n") == SECRET
    for mistake in ("dear diary", "schlüssel", "x" * 501, "a\x1b[0m"):
        with pytest.raises(UsageError):
            parse_key(mistake)


def test_the_next_steps_are_what_is_still_missing() -> None:
    def steps(provider: str, **found: object) -> str:
        llm = msgspec.structs.replace(SETTINGS.llm, provider=provider, embedding_model="large")
        page = next_steps(overview(**found), msgspec.structs.replace(SETTINGS, llm=llm))
        return "\n".join("".join(part.text for part in row) for row in page)

    assert "models pull large" in steps("embedded")
    assert "make hosted" in steps("cerebras")
    assert "REVERIES_API_KEY" in steps("cerebras")
    assert "REVERIES_API_KEY" not in steps("openai")
    assert "make hosted" not in steps("openai", is_hosted_installed=True)
    assert "ollama/llama3.2" in steps("ollama", ollama=[])
    assert steps("auto").endswith("reveries wake")


def test_the_model_that_suits_the_machine_is_what_is_still_to_be_fetched() -> None:
    bare = overview(ollama=[])

    def steps(settings: Settings, suggested: protocol.SuggestedModel | None) -> str:
        return str(next_steps(bare, settings, suggested=suggested))

    assert "models pull large" in steps(SETTINGS, LARGER)
    assert "models pull" not in steps(SETTINGS, msgspec.structs.replace(LARGER, model="smollm2-135m"))
    named = build_settings({"llm": {"embedded": {"model": "smollm2-135m"}}}, "test")
    assert "models pull large" not in steps(named, LARGER)
    assert "large, 1.1 GB, to download" in list_options(bare, SETTINGS, LARGER)[0].what
    assert changed_settings(SETTINGS, Answers(embedded_model="larger")) == {"llm.embedded.model": "larger"}


def test_no_model_of_this_machine_is_needed_where_another_answers() -> None:
    assert uses_embedded(overview(), "embedded")
    assert not uses_embedded(overview(), "auto")
    assert uses_embedded(overview(ollama=[]), "auto")
    assert not uses_embedded(overview(ollama=[]), "openai")


# --- as a command ----------------------------------------------------------------------------------------------------


def test_without_a_terminal_it_says_so_and_asks_nothing(home: Home) -> None:
    ran = reveries(home, "init")
    assert ran.code == 2
    assert "needs a terminal" in ran.err
    assert not home.config.exists()


def test_the_defaults_need_nothing_to_be_written(home: Home) -> None:
    ran = reveries(home, "init", "--yes")
    assert ran.code == 0
    assert "Nothing leaves this machine. Free." in ran.out
    assert "There is nothing to change" in ran.out
    assert not home.config.exists()


@pytest.mark.requirement("R-161")
def test_what_it_writes_explains_itself_and_is_for_the_owner_alone(home: Home) -> None:
    ran = reveries(home, "init", "--provider", "openai", "--name", "Ada", "--dollars-per-day", "0.5")
    assert ran.code == 0
    assert "at most $0.50 a day" in " ".join(ran.out.split())
    text = home.config.read_text()
    assert "# What the mind calls you." in text
    assert stat.S_IMODE(home.config.stat().st_mode) == 0o600
    settings = load_settings(home.config)
    assert (settings.owner.name, settings.llm.provider, settings.budget.dollars_per_day) == ("Ada", "openai", 0.5)
    assert max(len(row) for row in text.splitlines()) <= 120


def test_a_month_s_cap_below_the_day_s_is_said_to_be_the_one_that_holds(home: Home) -> None:
    def told(day: str, month: str) -> str:
        ran = reveries(home, "init", "--yes", "--dollars-per-day", day, "--dollars-per-month", month)
        assert ran.code == 0
        return " ".join(ran.out.split())

    assert "The monthly cap ($5.00) is lower than the daily one ($50.00), so it applies." in told("50", "5")
    assert "so it applies" not in told("2", "20")


def test_the_comments_and_settings_that_were_there_stay(home: Home) -> None:
    home.create()
    before = '# mine\n[llm]\nprovider = "openai"  # for now\n\n[monologue]\nenabled = false # quiet\n'
    home.config.write_text(before)
    ran = reveries(home, "init", "--provider", "embedded", "--name", "Ada")
    assert '-provider = "openai"  # for now' in ran.out
    assert '+provider = "embedded"' in ran.out
    text = home.config.read_text()
    assert text.startswith("# mine")
    assert "# for now" in text
    assert "enabled = false # quiet" in text
    assert load_settings(home.config).llm.provider == "embedded"


def test_json_only_looks_unless_it_is_told_what_to_write(home: Home) -> None:
    looked = json.loads(reveries(home, "init", "--json", "--name", "Ada").out)
    assert looked["changes"] == {"owner.name": "Ada"}
    assert looked["written"] is False
    assert not home.config.exists()
    assert [one["provider"] for one in looked["options"]][:3] == ["auto", "embedded", "ollama"]
    wrote = json.loads(reveries(home, "init", "--json", "--name", "Ada", "--yes").out)
    assert wrote["written"] is True
    assert load_settings(home.config).owner.name == "Ada"


def test_an_ollama_that_does_not_answer_holds_nothing_up(home: Home) -> None:
    seconds: list[float] = []
    with socket.socket() as closed, socket.create_server(("127.0.0.1", 0)) as silent:
        closed.bind(("127.0.0.1", 0))  # Nobody listens there: that is known at once.
        for number, other in enumerate((closed, silent)):
            place = Home(home.path.with_name(f"h{number}"))
            place.create()
            place.config.write_text(f'[llm]\nollama_url = "http://127.0.0.1:{other.getsockname()[1]}"\n')
            began = time.monotonic()
            assert reveries(place, "init", "--yes").code == 0
            seconds.append(time.monotonic() - began)
    # A second for Ollama; the rest is processes that start on a machine which may be busy, now more, now less.
    assert seconds[1] < 3 * seconds[0] + 7, seconds


def test_a_settings_file_that_is_wrong_is_said_to_be_and_left_alone(home: Home) -> None:
    home.create()
    home.config.write_text("[llm\n")
    ran = reveries(home, "init", "--yes")
    assert ran.code == 78
    assert home.config.read_text() == "[llm\n"


# --- in a terminal ---------------------------------------------------------------------------------------------------


def test_enter_and_enter_is_a_whole_conversation(home: Home) -> None:
    output, code = in_terminal(home, [(b"call you?", b"\r"), (b"Which", b"\r"), (b"reveries wake", b"")], "init")
    assert code == 0, output
    assert b"There is nothing to change" in output
    assert not home.config.exists()


def test_a_key_that_is_pasted_is_never_shown_and_kept_for_the_owner_alone(home: Home) -> None:
    exchange = [
        (b"call you?", b"Ada\r"),
        (b"Which", b"cerebras\r"),
        (b"dollars a day", b"0.25\r"),
        (b"Paste the key", SECRET.encode() + b"\r"),
        (b"Write it?", b"\r"),
        (b"reveries wake", b""),
    ]
    output, code = in_terminal(home, exchange, "init")
    assert code == 0, output
    assert SECRET.encode() not in output
    file = home.path / "cerebras.key"
    assert file.read_text().strip() == SECRET
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    settings = load_settings(home.config)
    assert settings.llm.api_key_file == str(file)
    assert (settings.llm.provider, settings.budget.dollars_per_day) == ("cerebras", 0.25)
    assert SECRET not in home.config.read_text()


def test_a_key_in_the_environment_is_named_and_neither_shown_nor_used(home: Home) -> None:
    exchange = [(b"call you?", b"\r"), (b"Which", b"\r"), (b"reveries wake", b"")]
    output, code = in_terminal(home, exchange, "init", OPENAI_API_KEY=SECRET)
    assert code == 0
    assert b"OPENAI_API_KEY (used only if you choose so)" in output
    assert SECRET.encode() not in output
    assert not home.config.exists()


@pytest.mark.parametrize("answer", [b"n\r", b"\x03"])
def test_a_no_or_ctrl_c_leaves_everything_as_it_was(home: Home, answer: bytes) -> None:
    exchange = [(b"call you?", b"Ada\r"), (b"Which", b"2\r"), (b"Write it?", answer)]
    output, code = in_terminal(home, exchange, "init")
    assert code == (0 if answer == b"n\r" else 130), output
    assert not home.config.exists()


def test_a_mind_that_is_awake_is_told_and_what_waits_for_a_restart_is_said(home: Home) -> None:
    with awake_in_thread(home, Script(needs_restart=["llm.provider"])) as mind:
        ran = reveries(home, "init", "--provider", "embedded")
        assert "reveries sleep; reveries wake" in ran.out
        assert mind.requests(protocol.ApplyConfig)
