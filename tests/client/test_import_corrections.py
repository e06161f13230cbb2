"""`reveries import --list`, `--correct` and `--take-back`, as they are typed."""

import json

from reveries import protocol
from reveries.config import Home, load_settings
from tests.client.command_line import reveries
from tests.daemon.asking import ask
from tests.daemon.mind_kit import NOON, living
from tests.fakes.daemon import Script, awake_in_thread
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import ScriptedModel

PAST = [
    protocol.ImportedTurn(NOON - 900.0, "You", "My boat is called Sole.", "other", "0" * 32),
    protocol.ImportedTurn(NOON - 890.0, "Ben", "A boat?", "other", "1" * 32),
]


async def test_an_import_by_somebody_called_you_becomes_the_owners_with_one_request(home: Home) -> None:
    async with living(home, ScriptedModel(otherwise="So."), PatientClock(NOON), load_settings(None)) as life:
        await ask(life.mind, protocol.Import(1, "life.jsonl", PAST, is_last=True), protocol.Imported)
        changing = protocol.CorrectImport(2, "life.jsonl", ["You"], dry_run=False)
        corrected = await ask(life.mind, changing, protocol.ImportCorrected)
        assert (corrected.now_yours, corrected.turns, corrected.episodes) == (1, 2, 1)
        imports = await ask(life.mind, protocol.AskImports(3), protocol.Imports)
        assert [(entry.name, entry.author) for entry in imports.imports[0].speakers] == [
            ("Ben", "other"), ("You", "owner"),
        ]  # fmt: skip
        found = await life.mind.memory.search("boat Sole", 5)
        assert ("owner", False) in {(ranked.turn.origin.value, ranked.turn.tainted) for ranked in found.turns}


def test_a_correction_is_shown_before_it_is_made(home: Home) -> None:
    plan = protocol.ImportCorrected(0, "life.jsonl", True, False, ["You"], "", 2, 1, 0, [], 0)
    speakers = [protocol.ImportSpeaker("You", "other", 295)]
    listed = protocol.Imports(0, [protocol.ImportedSource("life.jsonl", NOON, NOON, speakers)])
    with awake_in_thread(home, Script(looks={"CorrectImport": plan, "AskImports": listed})) as fake:
        imports = reveries(home, "import", "--list").out
        shown = reveries(home, "import", "--correct", "life.jsonl", "--me", "You", "--dry-run")
        unasked = reveries(home, "import", "--correct", "life.jsonl", "--me", "You")
        sent = [request for request in fake.received if isinstance(request, protocol.CorrectImport)]
        whose = reveries(home, "import", "--correct", "life.jsonl")
        told = json.loads(reveries(home, "import", "--take-back", "life.jsonl", "--yes", "--json").out)
    assert "You 295" in imports
    assert "Nobody in it is you" in imports
    assert "you would be You (2 turns stored anew)" in shown.out
    assert unasked.code == 130
    assert all(request.dry_run for request in sent)
    assert "Say who in it is you." in whose.err
    assert told["turns"] == 2
