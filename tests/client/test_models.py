"""`reveries models` and `models test`: what is shown of each model, asleep and awake."""

import json
import signal
import subprocess
import sys
import time

import msgspec

from reveries import protocol
from reveries.client.features.models import overview_page, probes_page
from reveries.client.render import Page
from reveries.config import Home
from tests.client.command_line import environment, reveries
from tests.fakes.daemon import Script, awake_in_thread, overview, probed


def text(page: Page) -> str:
    return "\n".join("".join(part.text for part in row) for row in page)


def probe(**changes: object) -> protocol.ModelProbe:
    fields: dict[str, object] = {
        "role": "conversation",
        "model": "openai/gpt-4.1",
        "answer": "valid",
        "load_seconds": 0.0,
        "first_token_seconds": 0.42,
        "tokens_per_second": 61.25,
        "seconds": 1.3,
        "prompt_tokens": 90,
        "completion_tokens": 60,
        "reserved_dollars": 0.00146,
        "dollars": 0.00066,
        "is_usage_known": True,
        "error": "",
        "advice": "",
    }
    return protocol.ModelProbe(**(fields | changes))  # type: ignore[arg-type]


def test_each_role_says_its_model_why_where_it_goes_and_what_it_costs() -> None:
    shown = text(overview_page(overview())).splitlines()
    assert shown[0] == "  conversation   openai/gpt-4.1  leaves this machine  $2 / $8 per million tokens"
    assert "why: the owner said so" in shown[1]
    assert "16,384 tokens of context" in shown[2]
    assert "if it fails: embedded/smollm2-135m" in shown[3]
    assert "stays on this machine  free" in shown[4]
    assert "structured answers: 7 valid, 2 after a repair, 1 failed" in shown[7]


def test_everything_else_that_there_is_is_listed() -> None:
    shown = text(overview_page(overview()))
    assert "● smollm2-135m" in shown
    assert "○ large" in shown
    assert "your own file" in shown
    assert "ollama/llama3.2:latest  2.0 GB" in shown
    assert "ollama/big:cloud  leaves this machine" in shown
    assert "about $0.30 an hour of talk  key found: OPENAI_API_KEY" in shown
    assert "at most $1.00 a day" in shown
    assert "make hosted" in shown


def test_an_ollama_that_is_silent_or_empty_is_said_to_be() -> None:
    assert "does not answer" in text(overview_page(overview(ollama_answers=False, ollama=[])))
    assert "models pull ollama/" in text(overview_page(overview(ollama=[])))


def test_a_probe_shows_speed_form_and_cost() -> None:
    shown = text(probes_page(probed(probe(), probe(role="monologue", load_seconds=2.5, answer="repaired"))))
    assert "first token 420 ms, 61.2 tokens/s, 150 tokens, $0.0007 of $0.0015 reserved" in shown
    assert "follows a JSON schema after a correction" in shown
    assert "loaded in 2.5 s" in shown
    assert "this test      $0.0013" in shown
    assert "7 valid, 2 after a repair, 1 failed" in shown


def test_a_probe_that_cannot_be_told_apart_from_its_worst_says_so() -> None:
    shown = text(probes_page(probed(probe(is_usage_known=False, dollars=0.00146))))
    assert "usage unknown: $0.0015 stay reserved" in shown
    failed = text(probes_page(probed(probe(answer="", error="It is gone.", advice="Ask again."))))
    assert "It is gone. Ask again." in failed


def tier_test(**changes: object) -> protocol.TierTest:
    fields: dict[str, object] = {
        "model": "embedded/small",
        "tier": 1,
        "scores": [protocol.TierScore("form", 4, 6), protocol.TierScore("persons", 3, 6)],
        "seconds": 95.0,
        "prompt_tokens": 1700,
        "completion_tokens": 300,
        "dollars": 0.0,
        "error": "",
        "advice": "",
    }
    return protocol.TierTest(**(fields | changes))  # type: ignore[arg-type]


def test_a_tier_is_shown_with_its_scores_and_what_follows_from_it() -> None:
    shown = text(probes_page(msgspec.structs.replace(probed(probe()), tiers=[tier_test(), tier_test(dollars=1.5)])))
    assert "JSON schema    4 of 6" in shown
    assert "who is who     3 of 6" in shown
    assert "tier           1  95.0 s, 2,000 tokens, $0" in shown
    assert "It gets one simple task at a time" in shown
    assert "this test      $1.50" in shown


def test_a_test_that_was_not_through_says_why_and_that_the_tier_stays() -> None:
    failed = tier_test(scores=[], error="The budget of this day is used up.", advice="Raise it.")
    shown = text(probes_page(msgspec.structs.replace(probed(probe()), tiers=[failed])))
    assert "so the tier stays 1" in shown
    assert "The budget of this day is used up. Raise it." in " ".join(shown.split())
    assert "of 6" not in shown


def test_a_role_says_its_tier_and_whether_it_is_only_assumed() -> None:
    first, second, *others = overview().roles
    roles = [
        msgspec.structs.replace(first, tier=2, tier_tested_at=1_750_000_000.0),
        msgspec.structs.replace(second, tier=0),
    ]
    shown = text(overview_page(overview(roles=[*roles, *others])))
    assert "16,384 tokens of context, tier 2 (tested 2025-06-15" in shown
    assert "tier 0 (assumed: reveries models test)" in shown
    assert shown.count("tier ") == 2


def test_the_waking_mind_is_asked(home: Home) -> None:
    with awake_in_thread(home) as mind:
        ran = reveries(home, "models", "--json")
        assert json.loads(ran.out)["roles"][0]["model"] == "openai/gpt-4.1"
        ran = reveries(home, "models", "test", "--role", "conversation")
        assert (ran.code, ran.err) == (0, "")
        [request] = mind.requests(protocol.ProbeModels)
        assert isinstance(request, protocol.ProbeModels)
        assert (request.role, request.tiers) == ("conversation", True)
        reveries(home, "models", "test", "--quick")
        [_, request] = mind.requests(protocol.ProbeModels)
        assert isinstance(request, protocol.ProbeModels)
        assert request.tiers is msgspec.UNSET


def test_a_mind_that_sleeps_has_models_too(home: Home) -> None:
    home.create()
    home.config.write_text('[llm]\nprovider = "openai"\nmonologue_model = "embedded/smollm2-135m"\n')
    roles = {role["role"]: role for role in json.loads(reveries(home, "models", "--json").out)["roles"]}
    assert roles["conversation"]["model"] == "openai/gpt-4.1"
    assert roles["conversation"]["leaves_machine"] is True
    assert roles["monologue"]["model"] == "embedded/smollm2-135m"
    assert [roles[name].get("tier") for name in ("conversation", "monologue", "embedding")] == [2, 0, None]
    assert "llm.monologue_model names it" in roles["monologue"]["reason"]


def test_a_mind_that_sleeps_is_tested_under_its_lock_and_counted_in_its_ledger(home: Home) -> None:
    home.create()
    home.config.write_text('[llm]\nprovider = "embedded"\n[llm.embedded]\nmodel = "none"\n')
    ran = reveries(home, "models", "test", "--json", "--role", "consolidation")
    tested = json.loads(ran.out)
    assert ran.code == 69
    for [result] in (tested["probes"], tested["tiers"]):
        assert "There is no model called none" in result["error"]
    assert home.lock.exists()
    assert home.database_default.exists()
    embedding = reveries(home, "models", "test", "--json", "--role", "embedding")
    assert json.loads(embedding.out)["probes"][0]["answer"] == "vectors"


def test_settings_that_are_wrong_are_told_as_everywhere(home: Home) -> None:
    home.create()
    home.config.write_text("[llm]\nprovidr = 1\n")
    ran = reveries(home, "models")
    assert ran.code == 78
    assert ran.err.startswith("reveries: There is no setting llm.providr")


def test_ctrl_c_ends_a_test_and_tells_the_mind(home: Home) -> None:
    with awake_in_thread(home, Script(holds_reply=True)) as mind:
        asking = subprocess.Popen(
            [sys.executable, "-m", "reveries", "models", "test"],
            env=environment(home),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 30
        while not mind.requests(protocol.ProbeModels):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        asking.send_signal(signal.SIGINT)
        assert asking.wait(30) == 130
        assert mind.requests(protocol.Cancel)
