"""Completion scripts: bash runs its own; of zsh and fish the text is looked at, and checked where their shell is."""

import shutil
import subprocess

import pytest
from click.shell_completion import BashComplete

from reveries.client.cli import cli
from reveries.client.features.completion import completion_script


def completed(monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """What bash offers after WORDS, the last of which is being typed."""
    monkeypatch.setenv("COMP_WORDS", " ".join(("reveries", *words)))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    return BashComplete(cli, {}, "reveries", "_REVERIES_COMPLETE").complete().split()


def test_every_command_option_and_value_is_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"plain,wake", "plain,doctor", "plain,memory"} <= set(completed(monkeypatch, ""))
    assert completed(monkeypatch, "do") == ["plain,doctor", "plain,document"]
    assert completed(monkeypatch, "memory", "ins") == ["plain,inspect"]
    assert completed(monkeypatch, "memory", "search", "--de") == ["plain,--deep"]
    assert completed(monkeypatch, "open", "ba") == ["plain,backups"]
    assert completed(monkeypatch, "init", "--provider", "ol") == ["plain,ollama"]
    assert completed(monkeypatch, "models", "test", "--role", "mono") == ["plain,monologue"]


def test_a_file_is_completed_by_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    assert completed(monkeypatch, "import", "some") == ["file,some"]


@pytest.mark.parametrize(("shell", "words"), [("bash", ["-n"]), ("zsh", ["-n"]), ("fish", ["--no-execute"])])
def test_each_shell_takes_its_script(shell: str, words: list[str]) -> None:
    script = completion_script(shell, cli)
    assert f"{shell}_complete" in script
    # In docs/howto: of zsh and fish only the text was looked at where they are not installed.
    if program := shutil.which(shell):
        subprocess.run([program, *words], input=script.encode(), check=True, timeout=300)
