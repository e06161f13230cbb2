"""Completion scripts: bash runs ours; the others are looked at, and run where their shell is."""

import shutil
import subprocess

import click
import pytest

from reveries.client.cli import cli
from reveries.client.features.completion import completion_script
from reveries.client.reference import _list_commands


def completed(*words: str) -> list[str]:
    """What bash offers after WORDS, the last of which is being typed."""
    quoted = " ".join(f"'{word}'" for word in ("reveries", *words))
    script = (
        f"{completion_script('bash', cli)}\nCOMP_WORDS=({quoted})\nCOMP_CWORD={len(words)}\n_reveries\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(["bash", "-u"], input=script, capture_output=True, text=True, check=False, timeout=300)
    assert not done.stderr
    return done.stdout.split()


def test_bash_completes_every_command_and_option() -> None:
    assert {"wake", "doctor", "memory", "--version"} <= set(completed(""))
    assert completed("do") == ["doctor"]
    assert completed("memory", "ins") == ["inspect"]
    assert completed("memory", "search", "--de") == ["--deep"]
    assert completed("memory", "--json", "timel") == ["timeline"]
    assert completed("completion", "z") == ["zsh"]
    assert completed("open", "ba") == ["backups"]


def test_bash_completes_what_an_option_may_be() -> None:
    assert completed("init", "--provider", "ol") == ["ollama"]
    assert completed("models", "test", "--role", "mono") == ["monologue"]


def test_where_nothing_is_known_bash_goes_on_with_files() -> None:
    assert completed("import", "some") == []
    assert "-o default" in completion_script("bash", cli)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_no_command_is_left_out(shell: str) -> None:
    script = completion_script(shell, cli)
    for path, command in _list_commands(cli, "reveries"):
        assert path in script
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.opts[-1].lstrip("-") in script


@pytest.mark.parametrize(("shell", "words"), [("bash", ["-n"]), ("zsh", ["-n"]), ("fish", ["--no-execute"])])
def test_each_shell_takes_its_script(shell: str, words: list[str]) -> None:
    program = shutil.which(shell)
    if program is None:
        # Said in the how-to: of zsh and fish only the text was looked at where they are not installed.
        assert shell in completion_script(shell, cli)
        return
    subprocess.run([program, *words], input=completion_script(shell, cli).encode(), check=True, timeout=300)
