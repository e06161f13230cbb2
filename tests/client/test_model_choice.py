"""`models choose`, as `make wake` runs it: what is said, what is asked, what is fetched, and what is remembered.

A publisher on loopback plays the real ones, with small files under the names of the ladder.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from reveries.client.model_choice import other_provider_text, suggestion_text
from reveries.config import Home, build_settings, load_settings
from reveries.llm.asset_sources import UrlSource
from reveries.llm.assets import Asset, AssetFile
from reveries.llm.model_ladder import LADDER
from reveries.protocol import SuggestedModel
from tests.client.command_line import Ran, in_terminal, reveries
from tests.fakes.daemon import overview
from tests.fakes.publisher import Publisher, publisher
from tests.rows import check_rows

LARGE, SMALL, CODER = (rung.model for rung in LADDER)
CONTENTS = {LARGE: os.urandom(2_500_000), SMALL: os.urandom(1_100_000), CODER: os.urandom(1_000_000)}
STRONG = "8 16000000000 9000000000"
WEAK = "2 4000000000 9000000000"
_CLI = "tests.fakes.cli_with_publisher"
_QUESTION = b"Download the 2.5 MB model? [y/N]"


# --- the sentence ----------------------------------------------------------------------------------------------------


def _found(**changes: object) -> SuggestedModel:
    found = SuggestedModel(SMALL, 1_117_320_736, is_here=False, cores=8, free_bytes=16_000_000_000)
    return msgspec.structs.replace(found, **changes)


@check_rows("may_ask", [True, False])
@check_rows(
    "found",
    [
        _found(),
        _found(larger=LARGE, larger_bytes=2_497_280_736),
        _found(model=CODER, silent=["huggingface.co"]),
        _found(is_here=True),
    ],
)
def test_it_is_one_sentence_with_what_is_fetched_and_how_to_choose_otherwise(
    found: SuggestedModel, may_ask: bool
) -> None:
    told = suggestion_text(found, may_ask=may_ask)
    assert len(re.findall(r"\.(?= |$)", told)) == 1
    assert found.model in told
    assert "make wake MODEL=NAME" in told
    assert ("1.1 GB to download" in told) != found.is_here
    assert ("2.5 GB" in told) == bool(found.larger)


def test_the_sentence_says_why() -> None:
    assert "this machine (8 cores, 16.0 GB of memory free)" in suggestion_text(_found(), may_ask=True)
    assert "huggingface.co, which has a better one, cannot be reached" in suggestion_text(
        _found(model=CODER, silent=["huggingface.co"]), may_ask=True
    )
    assert "which is already here" in suggestion_text(_found(is_here=True), may_ask=True)


def test_nothing_is_chosen_where_another_than_a_model_of_ours_answers() -> None:
    def told(provider: str) -> str:
        return other_provider_text(build_settings({"llm": {"provider": provider}}, "test").llm, overview())

    assert told("openai") == "The chat model is one of openai (llm.provider). Nothing is downloaded."
    assert "llama3.2:latest of your Ollama" in told("auto")
    assert not told("embedded")
    assert not other_provider_text(load_settings(None).llm, overview(ollama=[]))


# --- as a command ----------------------------------------------------------------------------------------------------


@dataclass
class Place:
    """A home, an empty folder for models, and a publisher."""

    home: Home
    models: Path
    publisher: Publisher
    manifest: Path
    machine: str = STRONG

    @property
    def more(self) -> dict[str, str]:
        told = {"TEST_MANIFEST": str(self.manifest), "TEST_MACHINE": self.machine}
        return {"REVERIES_MODELS": str(self.models), **told}

    def choose(self, *words: str) -> Ran:
        return reveries(self.home, "models", "choose", *words, more=self.more, module=_CLI)

    def choose_in_terminal(self, exchange: list[tuple[bytes, bytes]], *words: str) -> tuple[str, int]:
        output, code = in_terminal(self.home, exchange, "models", "choose", *words, module=_CLI, **self.more)
        return " ".join(output.decode().split()), code

    @property
    def here(self) -> set[str]:
        return {name for name, content in CONTENTS.items() if self.file(name).is_file() and self.has(name, content)}

    def has(self, name: str, content: bytes) -> bool:
        return self.file(name).read_bytes() == content

    def file(self, name: str) -> Path:
        return self.models / name / "w.gguf"

    @property
    def remembered(self) -> str:
        return load_settings(self.home.config).llm.embedded.model


@pytest.fixture
def place(home: Home, tmp_path: Path) -> Iterator[Place]:
    with publisher() as told:
        # The coder model comes from elsewhere: that one answers when the publisher of the others does not.
        told.files |= {f"/{name}": content for name, content in CONTENTS.items()}
        known = [
            Asset(name, "chat", "MIT", "", [_file(content, told.url(f"/{name}"))]) for name, content in CONTENTS.items()
        ]
        manifest = tmp_path / "manifest.json"
        manifest.write_bytes(msgspec.json.encode(known))
        home.create()
        home.config.write_text('[llm]\nprovider = "embedded"\n')
        yield Place(home, tmp_path / "models", told, manifest)


def _file(content: bytes, url: str) -> AssetFile:
    return AssetFile("w.gguf", hashlib.sha256(content).hexdigest(), len(content), [UrlSource(url)])


def test_without_a_terminal_the_small_one_is_fetched_and_the_better_one_named(place: Place) -> None:
    ran = place.choose()
    told = " ".join(ran.out.split())
    assert (ran.code, ran.err) == (0, "")
    assert place.here == {SMALL}
    assert f"the better {LARGE} (2.5 MB to download)" in told
    assert told.endswith(f"{SMALL} is on this machine, from 127.0.0.1.")
    assert place.remembered == "auto"


def test_a_second_time_nobody_is_asked_and_nothing_is_fetched(place: Place) -> None:
    place.choose()
    place.publisher.ranges.clear()
    told, code = place.choose_in_terminal([(b"here already", b"")])
    assert code == 0
    assert "Fetch the" not in told
    assert not place.publisher.ranges


def test_whoever_says_yes_gets_the_large_one_and_is_not_asked_again(place: Place) -> None:
    told, code = place.choose_in_terminal([(_QUESTION, b"y\r"), (b"is on this machine, from", b"")])
    assert (code, place.here, place.remembered) == (0, {LARGE}, LARGE), told
    told, code = place.choose_in_terminal([(b"is here.", b"")])
    assert (code, "Fetch the" in told) == (0, False)


def test_enter_is_the_small_one_and_that_is_remembered(place: Place) -> None:
    told, code = place.choose_in_terminal([(_QUESTION, b"\r"), (b"is on this machine, from", b"")])
    assert (code, place.here, place.remembered) == (0, {SMALL}, SMALL), told


def test_a_weak_machine_is_not_asked(place: Place) -> None:
    place.machine = WEAK
    told, code = place.choose_in_terminal([(b"is on this machine, from", b"")])
    assert (code, "Fetch the" in told, place.here) == (0, False, {SMALL})
    assert "suits this machine (2 cores, 4.0 GB of memory free)" in told


def test_where_the_publisher_is_away_today_s_model_is_fetched_from_where_it_is(place: Place) -> None:
    del place.publisher.files[f"/{LARGE}"], place.publisher.files[f"/{SMALL}"]
    ran = place.choose()
    assert (ran.code, place.here) == (0, {CODER})
    assert "127.0.0.1, which has a better one, cannot be reached" in " ".join(ran.out.split())


def test_a_home_with_today_s_model_goes_on_with_it(place: Place) -> None:
    place.choose(CODER)
    place.home.config.write_text('[llm]\nprovider = "embedded"\n')  # As it was before there was a choice.
    place.publisher.ranges.clear()
    ran = place.choose()
    assert f"{CODER}, which is already here" in " ".join(ran.out.split())
    assert not place.publisher.ranges


def test_a_name_is_fetched_and_written_down_and_auto_takes_that_back(place: Place) -> None:
    ran = place.choose(CODER)
    assert (ran.code, place.here, place.remembered) == (0, {CODER}, CODER)
    place.publisher.ranges.clear()
    ran = place.choose()
    assert (ran.code, place.remembered) == (0, CODER), "what the owner set was not kept to"
    place.choose(LARGE)
    assert place.choose("auto").code == 0
    assert place.remembered == "auto"


def test_a_file_of_ones_own_is_taken_by_its_whole_path(place: Place, tmp_path: Path) -> None:
    (tmp_path / "mine.gguf").write_bytes(b"GGUF")
    ran = reveries(place.home, "models", "choose", "mine.gguf", cwd=tmp_path, more=place.more)
    assert (ran.code, place.remembered) == (0, str(tmp_path / "mine.gguf"))
    ran = place.choose("/nowhere/mine.gguf")
    assert (ran.code, ran.err) == (
        2,
        "reveries: There is no file /nowhere/mine.gguf. Give a name from `reveries models`, or a GGUF file.\n",
    )


def test_an_unknown_name_changes_nothing(place: Place) -> None:
    ran = place.choose("nonesuch")
    assert (ran.code, place.remembered) == (1, "auto")
    assert ran.err.startswith("reveries: There is no model called nonesuch.")


def test_a_hosted_provider_needs_no_model(place: Place) -> None:
    place.home.config.write_text('[llm]\nprovider = "openai"\n')
    ran = place.choose()
    assert ran.out == "The chat model is one of openai (llm.provider). Nothing is downloaded.\n"
    assert not place.publisher.ranges


def test_json_asks_nothing(place: Place) -> None:
    told = json.loads(place.choose("--json").out)
    assert (told["model"], told["source"], told["written"]) == (SMALL, "127.0.0.1", False)
    assert LARGE in told["why"]


# --- in init ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("answer", "model"), [(b"y\r", LARGE), (b"\r", SMALL)])
def test_init_asks_the_same_question_fetches_nothing_and_writes_the_answer(
    place: Place, answer: bytes, model: str
) -> None:
    exchange = [(b"call you?", b"\r"), (b"Which", b"\r"), (_QUESTION, answer), (b"Write it?", b"\r"), (b"wake", b"")]
    output, code = in_terminal(place.home, exchange, "init", module=_CLI, **place.more)
    told = " ".join(output.decode().split())
    assert (code, place.remembered) == (0, model), told
    assert f"can run the better {LARGE} (2.5 MB to download), or the smaller {SMALL} (1.1 MB to download)" in told
    assert f"reveries models pull {model}" in told
    assert (place.here, place.publisher.fetched) == (set(), [])


def test_init_without_a_terminal_takes_the_small_one_and_says_so(place: Place) -> None:
    ran = reveries(place.home, "init", "--yes", more=place.more, module=_CLI)
    told = " ".join(ran.out.split())
    assert (ran.code, place.remembered, place.here) == (0, "auto", set())
    assert f"The chat model is {SMALL} (1.1 MB to download)" in told
    assert f"reveries models pull {SMALL}" in told


# --- what goes wrong -------------------------------------------------------------------------------------------------


def test_ctrl_c_while_it_is_fetched_is_a_sentence_and_the_next_run_goes_on_there(place: Place) -> None:
    place.publisher.holds_after = 400_000
    told, code = place.choose_in_terminal([(_QUESTION, b"y\r"), (b"/2.5 MB", b"\x03")])
    assert code == 130, told
    assert "Interrupted. The downloaded part is kept, and the next run continues there." in told
    assert "Traceback" not in told
    place.publisher.released.set()
    place.publisher.holds_after = 0
    told, code = place.choose_in_terminal([(b"is on this machine, from", b"")])
    assert (code, place.here) == (0, {LARGE}), "it asked again, or began anew"
    resumed_at = int(place.publisher.fetched[-1].removeprefix("bytes=").rstrip("-"))
    assert 0 < resumed_at <= 400_000


def test_wrong_bytes_are_a_sentence_and_never_used(place: Place) -> None:
    place.machine = WEAK
    place.publisher.files[f"/{SMALL}"] = os.urandom(len(CONTENTS[SMALL]))
    ran = place.choose()
    assert (ran.code, place.here) == (69, set())
    [told] = ran.err.splitlines()
    assert "could not be fetched (127.0.0.1: its file is not the expected one (sha256))." in told
    assert not place.file(SMALL).exists()


def test_where_the_disk_has_room_for_none_the_smallest_that_works_offline_is_named_and_none_is_fetched(
    place: Place,
) -> None:
    place.machine = "2 4000000000 0"
    ran = place.choose()
    assert ran.code == 69
    [told] = ran.err.splitlines()
    assert f"There is not enough disk space for w.gguf in {place.models / CODER}: 1 MB are missing" in told
    assert place.publisher.fetched == []
