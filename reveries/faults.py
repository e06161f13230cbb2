"""Every fault that `reveries doctor` can name: its id, how bad it is, what it means, what to do next.

An id never changes its meaning: scripts and notes hold on to it. docs/reference/faults.md is made from this.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["wrong", "watch", "note"]
"""wrong: something does not work, or is in danger. watch: it works, and may not for long. note: for your knowledge."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that can be wrong. `is_mended`: `reveries doctor --fix` puts it right."""

    severity: Severity
    meaning: str
    next_step: str
    is_mended: bool = False


_WAKE = "Wake it: reveries wake"
_RESTART = "Let it begin anew: reveries sleep, then reveries wake"
_ANEW = "Let it begin anew as what is installed: reveries wake"
_FETCH = "Fetch them: reveries models pull"
_FIX = "Let it be mended: reveries doctor --fix"

FAULTS: Final[Mapping[str, Fault]] = {
    # The home folder.
    "home-too-deep": Fault(
        "wrong", "The path of the home is too long for a socket.", "Choose a shorter REVERIES_HOME: REVERIES_HOME=~/r"
    ),
    "home-missing": Fault("note", "There is no home yet: no mind ever woke here.", "Begin: reveries init"),
    "home-not-folder": Fault(
        "wrong", "Where the home should be there is something else.", "Move it, or choose another REVERIES_HOME."
    ),
    "home-mode": Fault("wrong", "Other users may look into the home.", _FIX, is_mended=True),
    "home-owner": Fault(
        "wrong", "The home belongs to another user.", "Use the account that it belongs to, or another REVERIES_HOME."
    ),
    "home-in-open-folder": Fault(
        "wrong",
        "Others may write into a folder that the home is in, or have it, and could put something else in its place.",
        "Close that folder to them (chmod go-w), or choose another REVERIES_HOME.",
    ),
    "home-not-writable": Fault(
        "wrong", "The home cannot be written.", "Make it writable, or choose another REVERIES_HOME."
    ),
    "home-on-network": Fault(
        "wrong",
        "The home is on a network file system: locks and the write-ahead log are not safe there.",
        "Put it to sleep, move the home to a disk of this machine, and name that in REVERIES_HOME.",
    ),
    "file-mode": Fault("wrong", "Other users may read files of the mind.", _FIX, is_mended=True),
    "file-owner": Fault(
        "wrong", "Files of the mind belong to another user.", "Give them back: sudo chown -R $USER the home"
    ),
    "folder-missing": Fault("watch", "A folder of the home is gone.", _FIX, is_mended=True),
    "leftover-partial": Fault("watch", "A backup or download broke off and left a part.", _FIX, is_mended=True),
    # Room.
    "disk-full": Fault("wrong", "There is no room on the disk.", "Free some room; the mind goes on by itself."),
    "disk-low": Fault("watch", "There is little room on the disk.", "Free some room: 200 MB at least."),
    "disk-no-inodes": Fault("wrong", "The disk takes no more files.", "Remove files that you do not need."),
    "logs-large": Fault("watch", "The logs take much room.", "Look why: reveries logs"),
    # Lock and socket.
    "lock-not-file": Fault(
        "wrong", "Where the lock should be there is something else.", "Move it away, then: reveries wake"
    ),
    "socket-stale": Fault("watch", "A daemon that died left its socket.", _FIX, is_mended=True),
    "socket-not-socket": Fault(
        "wrong", "Where the socket should be there is something else.", "Move it away, then: reveries wake"
    ),
    "socket-foreign": Fault(
        "wrong",
        "Another program listens on the mind's socket.",
        "End that program, or choose another REVERIES_HOME.",
    ),
    "socket-mode": Fault("wrong", "Other users may open the socket.", _FIX, is_mended=True),
    "socket-owner": Fault(
        "wrong", "The socket belongs to another user.", "Use the account that woke it, or another REVERIES_HOME."
    ),
    "socket-gone": Fault(
        "wrong",
        "A daemon lives, but its socket is gone: nobody can reach it.",
        "End the process, then: reveries wake",
    ),
    # The daemon.
    "asleep": Fault("note", "The mind sleeps.", _WAKE),
    "not-answering": Fault(
        "wrong",
        "The daemon lives and does not answer.",
        "It may still be waking. If it stays so, end the process, then: reveries wake",
    ),
    "other-protocol": Fault("wrong", "The daemon speaks another version of the protocol.", _ANEW),
    "other-version": Fault("watch", "The daemon runs another Reveries than is installed.", _ANEW),
    "crash-loop": Fault(
        "wrong", "The daemon woke again and again and never fell asleep.", "See why: reveries logs -n 50"
    ),
    "last-wake-failed": Fault("wrong", "The last try to wake failed.", "Do what it says, then: reveries wake"),
    "degraded": Fault("wrong", "The mind says that something of it does not work.", "Do what it says."),
    "loop-slow": Fault(
        "watch", "The daemon answers late: something holds its loop.", "See what it does: reveries status"
    ),
    # Settings.
    "config-unreadable": Fault("wrong", "The settings file cannot be read.", "Check its owner and its mode."),
    "config-not-text": Fault("wrong", "The settings file is not UTF-8 text.", "Save it as UTF-8."),
    "config-not-toml": Fault("wrong", "The settings file is not TOML.", "Mend that line."),
    "config-unknown-key": Fault("wrong", "A setting has a name that there is not.", "All of them: reveries config"),
    "config-wrong-value": Fault("wrong", "A setting has a value that it cannot have.", "Mend that line."),
    "fallback-unknown": Fault("wrong", "A fallback names no provider.", "Mend it: reveries config set"),
    "key-file-unreadable": Fault(
        "wrong", "The file with the provider's key cannot be read.", "Check llm.api_key_file."
    ),
    "key-file-mode": Fault("wrong", "Other users may read the provider's key.", _FIX, is_mended=True),
    "key-file-empty": Fault("wrong", "The file with the provider's key is empty.", "Put the key into it."),
    "key-missing": Fault(
        "wrong", "A hosted provider is chosen and has no key.", "Name a file with it: llm.api_key_file"
    ),
    "key-refused": Fault("wrong", "A provider refused the key.", "Put the key or the account right."),
    "calendar-missing": Fault("watch", "The calendar is not where the settings say.", "Check calendar.path."),
    "database-folder-missing": Fault(
        "wrong", "The folder that storage.db_path names is not there.", "Make it, or mend storage.db_path."
    ),
    # What is installed.
    "path-file": Fault(
        "watch",
        "A file that no package brought runs code whenever this Python starts.",
        "Look at what is in it; what you do not know, delete.",
    ),
    "package-missing": Fault("wrong", "A Python package is missing.", "Install Reveries again: pip install reveries"),
    "package-advised": Fault(
        "note", "A Python package is missing without which it works, slower.", "Install Reveries again."
    ),
    "hosted-missing": Fault(
        "wrong",
        "A hosted provider is chosen and what speaks to it is not installed.",
        "Install it: pip install 'reveries[hosted]'",
    ),
    "sqlite-unsafe": Fault(
        "note",
        "SQLite is of a version with the WAL-reset bug; one connection alone is safe, two would not be.",
        "Install pysqlite3, and never open the memory with another program.",
    ),
    # The memory.
    "database-gone": Fault(
        "wrong",
        "The memory is gone or empty, and it lived: there are backups of it, or what lies beside it tells.",
        "Choose one: reveries backup list, then reveries backup restore NAME. Waking takes the newest that is whole.",
    ),
    "database-not-file": Fault("wrong", "Where the memory should be there is no file.", "Move it away."),
    "database-damaged": Fault(
        "wrong",
        "The memory is damaged, or no database.",
        "Choose a backup: reveries backup list, then reveries backup restore NAME. Waking takes the newest that is "
        "whole; the damaged file is kept.",
    ),
    "database-newer": Fault(
        "wrong", "The memory was written by a newer Reveries.", "Wake it with the newer Reveries that wrote it."
    ),
    "database-older": Fault("note", "The memory is of an older schema.", "The next wake migrates it, after a backup."),
    "database-locked": Fault(
        "wrong", "Another program holds the memory's file.", "End that program: nothing else may open the memory."
    ),
    "not-storing": Fault(
        "wrong",
        "The memory takes nothing new, though the disk has room.",
        "Do what it says; then it goes on by itself.",
    ),
    "database-pragma": Fault("wrong", "SQLite does not run as it must.", _RESTART),
    "vectors-slow": Fault(
        "note",
        "sqlite-vec cannot be loaded: what is only on disk is searched slowly.",
        "Install sqlite-vec, or a Python whose SQLite loads extensions.",
    ),
    "clock-behind": Fault(
        "wrong", "The machine's clock is behind the last thing that was remembered.", "Set the clock, then look again."
    ),
    "snapshot-damaged": Fault(
        "watch",
        "The snapshot of memory cannot be read; the next wake reads every row, which takes longer.",
        "Nothing is lost. The next one takes its place.",
    ),
    "backup-none": Fault("watch", "There is no backup of the memory.", "Let it be awake for an hour, or put to sleep."),
    "backup-old": Fault("watch", "The newest backup is old.", "Let it be awake for an hour, or put to sleep."),
    # Tools.
    "sandbox-missing": Fault(
        "note",
        "Commands cannot be walled in on this machine, so work on projects runs none.",
        "On Debian and Ubuntu: sudo apt install bubblewrap",
    ),
    # Models and money.
    "weights-missing": Fault("wrong", "The model's weights are not on this machine.", _FETCH),
    "weights-damaged": Fault("wrong", "The model's weights are not the file that they should be.", _FETCH),
    "embedder-missing": Fault(
        "wrong", "The embedder's weights are not on this machine: recall goes by words alone.", _FETCH
    ),
    "embedder-damaged": Fault("wrong", "The embedder's weights are not what they should be.", _FETCH),
    "model-too-large": Fault(
        "wrong", "The model does not fit into this machine's memory.", "Choose a smaller one: reveries models"
    ),
    "ollama-unreachable": Fault("wrong", "Ollama does not answer.", "Start it, or check llm.ollama_url."),
    "ollama-model-missing": Fault("wrong", "Ollama does not have the model.", "Fetch it: reveries models pull"),
    "provider-failing": Fault("wrong", "A model's provider fails.", "See which: reveries models"),
    "ledger-over-cap": Fault(
        "watch", "A limit of the budget is reached.", "See: reveries usage. It goes on when the limit renews."
    ),
}


def fault_table() -> str:
    """Every fault, as Markdown."""
    head = [
        "# Faults",
        "",
        "The faults that `reveries doctor` can report. Generated from reveries/faults.py by docs/generate.py.",
        "",
        "If there is a *wrong* or a *watch* fault the command ends with 1; with only *note* faults, with 0.",
        "",
        "| id | | what it means | what to do | fixed by `--fix` |",
        "|---|---|---|---|---|",
    ]
    rows = [
        f"| `{name}` | {fault.severity} | {fault.meaning} | {fault.next_step} | {'yes' if fault.is_mended else ''} |"
        for name, fault in FAULTS.items()
    ]
    return "\n".join([*head, *rows, ""])
