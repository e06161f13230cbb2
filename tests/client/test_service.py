"""The service's files: what stands in them, what systemd says of them; installing and taking back."""

import json
import plistlib
import subprocess
import sys
from pathlib import Path

import pytest

from reveries.client.service import Service, launchd_plist, systemd_unit
from reveries.config import Home
from tests.client.command_line import reveries


def service(home: str = "/home/ada/.reveries", **environment: str) -> Service:
    return Service(Path(sys.executable), Path(home), Path("/home/ada/models"), environment)


def test_the_unit_wakes_in_the_foreground_and_falls_asleep_politely() -> None:
    unit = systemd_unit(service(REVERIES_HOME="/home/ada/.reveries")).splitlines()
    assert f"ExecStart={sys.executable} -m reveries wake --foreground" in unit
    assert f"ExecStop=-{sys.executable} -m reveries sleep" in unit
    assert "Type=notify" in unit
    # The model goes first when memory runs out: the mind stays.
    assert "OOMPolicy=continue" in unit
    assert "Environment=REVERIES_HOME=/home/ada/.reveries" in unit
    assert "ReadWritePaths=-/home/ada/.reveries -/home/ada/models" in unit


def test_a_home_below_tmp_keeps_its_tmp() -> None:
    assert "PrivateTmp=yes" in systemd_unit(service())
    assert "PrivateTmp" not in systemd_unit(service("/tmp/r"))


def test_names_with_spaces_and_specifiers_are_taken_literally() -> None:
    unit = systemd_unit(service('/home/a b/50%"', REVERIES_HOME="/home/a $b/50%"))
    assert 'ReadWritePaths="-/home/a b/50%%\\"" -/home/ada/models' in unit
    assert 'Environment="REVERIES_HOME=/home/a $b/50%%"' in unit


def test_the_agent_of_macos_is_a_plist() -> None:
    agent = plistlib.loads(launchd_plist(service(REVERIES_HOME="/Users/ada/r"), Path("/Users/ada/r/out")))
    assert agent["ProgramArguments"][1:] == ["-m", "reveries", "wake", "--foreground"]
    assert agent["EnvironmentVariables"] == {"REVERIES_HOME": "/Users/ada/r"}
    assert agent["KeepAlive"] == {"SuccessfulExit": False}


@pytest.mark.system
@pytest.mark.requirement("B8")
def test_systemd_takes_the_unit_and_finds_it_hardened(tmp_path: Path) -> None:
    unit = tmp_path / "reveries.service"
    unit.write_text(systemd_unit(service(str(tmp_path / "home"), REVERIES_HOME=str(tmp_path / "home"))))
    runtime = {"XDG_RUNTIME_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--user", str(unit)], env=runtime, capture_output=True, text=True, timeout=300
    )
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")
    # In tenths: at most 2.5.
    judged = subprocess.run(
        ["systemd-analyze", "security", "--user", "--offline=true", "--threshold=25", "--no-pager", str(unit)],
        env=runtime,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert judged.returncode == 0, judged.stdout


@pytest.mark.skipif(sys.platform == "darwin", reason="The folder is systemd's.")
def test_it_is_installed_shown_and_taken_back(home: Home) -> None:
    settings = home.path.parent / "settings"
    # Nobody's service manager is asked: PATH has none.
    more = {"XDG_CONFIG_HOME": str(settings), "PATH": str(settings)}
    unit = settings / "systemd" / "user" / "reveries.service"

    assert str(home.path) in reveries(home, "service", "install", "--print", more=more).out
    assert not unit.exists()
    installed = reveries(home, "service", "install", more=more)
    assert (installed.code, installed.err) == (0, "")
    assert "Run this yourself: systemctl --user enable reveries.service" in installed.out
    assert f"REVERIES_HOME={home.path}" in unit.read_text()
    told = json.loads(reveries(home, "service", "status", "--json", more=more).out)
    assert told == {
        "file": str(unit),
        "is_installed": True,
        "manager": "",
        "is_enabled": False,
        "is_running": False,
    }
    assert f"Removed: {unit}" in reveries(home, "service", "uninstall", more=more).out
    assert not unit.exists()
    assert reveries(home, "service", "uninstall", more=more).out == "It was not installed.\n"
