"""Every fault that `reveries doctor` can report: its id, its severity, what it means, what to do next.

An id never changes its meaning, because scripts rely on it. docs/reference/faults.md is generated from this.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["wrong", "watch", "note"]
"""wrong: something does not work, or is in danger. watch: it works, but may not for long. note: for information."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault. `is_fixable`: `reveries doctor --fix` fixes it."""

    severity: Severity
    meaning: str
    next_step: str
    is_fixable: bool = False


_WAKE = "Wake it: reveries wake"
_RESTART = "Restart it: reveries sleep, then reveries wake"
_RESTART_INSTALLED = "Restart it with the installed version: reveries wake"
_FETCH = "Download them: reveries models pull"
_FIX = "Fix it: reveries doctor --fix"

FAULTS: Final[Mapping[str, Fault]] = {
    # The home folder.
    "home-too-deep": Fault(
        "wrong", "The path of the home is too long for a socket.", "Choose a shorter REVERIES_HOME: REVERIES_HOME=~/r"
    ),
    "home-missing": Fault("note", "There is no home yet: no mind was ever started here.", "Start with: reveries init"),
    "home-not-folder": Fault(
        "wrong", "The path of the home is not a folder.", "Move it, or choose another REVERIES_HOME."
    ),
    "home-mode": Fault("wrong", "Other users can read the home.", _FIX, is_fixable=True),
    "home-owner": Fault(
        "wrong", "The home belongs to another user.", "Use the account that owns it, or choose another REVERIES_HOME."
    ),
    "home-in-open-folder": Fault(
        "wrong",
        "Other users can write to, or own, a parent folder of the home, and could replace the home.",
        "Remove their write access (chmod go-w), or choose another REVERIES_HOME.",
    ),
    "home-not-writable": Fault(
        "wrong", "The home is not writable.", "Make it writable, or choose another REVERIES_HOME."
    ),
    "home-on-network": Fault(
        "wrong",
        "The home is on a network file system: locks and the write-ahead log are not safe there.",
        "Put it to sleep, move the home to a local disk, and set REVERIES_HOME to the new path.",
    ),
    "file-mode": Fault("wrong", "Other users can read files of the mind.", _FIX, is_fixable=True),
    "file-owner": Fault(
        "wrong",
        "Files of the mind belong to another user.",
        "Take them over: sudo chown -R $USER followed by the path of the home",
    ),
    "folder-missing": Fault("watch", "A folder of the home is missing.", _FIX, is_fixable=True),
    "leftover-partial": Fault("watch", "An interrupted backup or download left a partial file.", _FIX, is_fixable=True),
    # Disk space.
    "disk-full": Fault("wrong", "The disk is full.", "Free some space; the mind continues by itself."),
    "disk-low": Fault("watch", "The disk is nearly full.", "Free some space: at least 200 MB."),
    "disk-no-inodes": Fault(
        "wrong", "The disk cannot hold more files (no free inodes).", "Remove files that you do not need."
    ),
    "logs-large": Fault("watch", "The logs take up much space.", "See why: reveries logs"),
    # Lock and socket.
    "lock-not-file": Fault("wrong", "The lock file is not a regular file.", "Move it away, then: reveries wake"),
    "socket-stale": Fault("watch", "A crashed daemon left its socket.", _FIX, is_fixable=True),
    "socket-not-socket": Fault("wrong", "The path of the socket is not a socket.", "Move it away, then: reveries wake"),
    "socket-foreign": Fault(
        "wrong",
        "Another program listens on the mind's socket.",
        "End that program, or choose another REVERIES_HOME.",
    ),
    "socket-mode": Fault("wrong", "Other users can open the socket.", _FIX, is_fixable=True),
    "socket-owner": Fault(
        "wrong",
        "The socket belongs to another user.",
        "Use the account that started it, or choose another REVERIES_HOME.",
    ),
    "socket-gone": Fault(
        "wrong",
        "The daemon is running, but its socket is missing: no client can reach it.",
        "End the process, then: reveries wake",
    ),
    # The daemon.
    "asleep": Fault("note", "The mind is asleep.", _WAKE),
    "not-answering": Fault(
        "wrong",
        "The daemon is running but does not answer.",
        "It may still be starting. If this persists, end the process, then: reveries wake",
    ),
    "other-protocol": Fault("wrong", "The daemon speaks another version of the protocol.", _RESTART_INSTALLED),
    "other-version": Fault("watch", "The running daemon is not the installed version of Reveries.", _RESTART_INSTALLED),
    "crash-loop": Fault(
        "wrong", "The daemon was started repeatedly and never stopped gracefully.", "See why: reveries logs -n 50"
    ),
    "last-wake-failed": Fault("wrong", "The last attempt to wake failed.", "Follow its message, then: reveries wake"),
    "degraded": Fault("wrong", "The mind reports that a part of it does not work.", "Follow its message."),
    "loop-slow": Fault(
        "watch", "The daemon answers slowly: something blocks its event loop.", "See what it is doing: reveries status"
    ),
    # Settings.
    "config-unreadable": Fault("wrong", "The settings file cannot be read.", "Check its owner and its mode."),
    "config-not-text": Fault("wrong", "The settings file is not UTF-8 text.", "Save it as UTF-8."),
    "config-not-toml": Fault("wrong", "The settings file is not valid TOML.", "Fix that line."),
    "config-unknown-key": Fault("wrong", "A setting has an unknown name.", "List all settings: reveries config"),
    "config-wrong-value": Fault("wrong", "A setting has an invalid value.", "Fix that line."),
    "fallback-unknown": Fault("wrong", "A fallback does not name a known provider.", "Fix it: reveries config set"),
    "key-file-unreadable": Fault(
        "wrong", "The file with the provider's key cannot be read.", "Check llm.api_key_file."
    ),
    "key-file-mode": Fault("wrong", "Other users can read the provider's key.", _FIX, is_fixable=True),
    "key-file-empty": Fault("wrong", "The file with the provider's key is empty.", "Put the key into it."),
    "key-missing": Fault(
        "wrong", "A hosted provider is chosen but has no key.", "Set llm.api_key_file to a file with the key."
    ),
    "key-refused": Fault("wrong", "A provider refused the key.", "Check the key and the account."),
    "calendar-missing": Fault("watch", "The calendar named in the settings does not exist.", "Check calendar.path."),
    "database-folder-missing": Fault(
        "wrong", "The folder in storage.db_path does not exist.", "Create it, or correct storage.db_path."
    ),
    # What is installed.
    "path-file": Fault(
        "watch",
        "A file that no package installed runs code whenever this Python starts.",
        "Read it; delete it if you do not know it.",
    ),
    "package-missing": Fault(
        "wrong", "A Python package is missing.", "Install Reveries again: make install, in its clone"
    ),
    "package-advised": Fault(
        "note", "An optional Python package is missing; without it Reveries is slower.", "Install Reveries again."
    ),
    "hosted-missing": Fault(
        "wrong",
        "A hosted provider is chosen but its client library is not installed.",
        "Install it, in the folder that you installed Reveries from: make hosted",
    ),
    "sqlite-unsafe": Fault(
        "note",
        "This version of SQLite has the WAL-reset bug; it is safe with one connection, but not with two.",
        "Install pysqlite3, and never open the memory with another program.",
    ),
    # The memory.
    "database-gone": Fault(
        "wrong",
        "The memory is missing or empty although it existed: there are backups or other files of it.",
        "Choose one: reveries backup list, then reveries backup restore NAME. The next wake takes the newest "
        "intact one.",
    ),
    "database-not-file": Fault("wrong", "The path of the memory is not a file.", "Move it away."),
    "database-damaged": Fault(
        "wrong",
        "The memory is damaged, or not a database.",
        "Choose a backup: reveries backup list, then reveries backup restore NAME. The next wake takes the newest "
        "intact one; the damaged file is kept.",
    ),
    "database-newer": Fault(
        "wrong", "The memory was written by a newer Reveries.", "Wake it with the newer Reveries that wrote it."
    ),
    "database-older": Fault("note", "The memory has an older schema.", "The next wake migrates it, after a backup."),
    "database-locked": Fault(
        "wrong", "Another program holds the memory's file.", "End that program: nothing else may open the memory."
    ),
    "not-storing": Fault(
        "wrong",
        "The memory cannot store anything new, although the disk has space.",
        "Follow its message; then it continues by itself.",
    ),
    "database-pragma": Fault("wrong", "SQLite runs with wrong settings.", _RESTART),
    "vectors-slow": Fault(
        "note",
        "sqlite-vec cannot be loaded: searching what is only on disk is slow.",
        "Install sqlite-vec, or a Python whose SQLite loads extensions.",
    ),
    "clock-behind": Fault(
        "wrong", "The machine's clock is earlier than the latest memory.", "Set the clock, then check again."
    ),
    "snapshot-damaged": Fault(
        "watch",
        "The snapshot of memory cannot be read; the next wake reads every row, which takes longer.",
        "Nothing is lost. The next snapshot replaces it.",
    ),
    "backup-none": Fault("watch", "There is no backup of the memory.", "Let it be awake for an hour, or put to sleep."),
    "backup-old": Fault("watch", "The newest backup is old.", "Let it be awake for an hour, or put to sleep."),
    # Tools.
    "sandbox-missing": Fault(
        "note",
        "Commands cannot be sandboxed on this machine, so projects run none.",
        "On Debian and Ubuntu: sudo apt install bubblewrap",
    ),
    # Models and money.
    "weights-missing": Fault("wrong", "The model's weights are not on this machine.", _FETCH),
    "weights-damaged": Fault("wrong", "The file of the model's weights is damaged or a different one.", _FETCH),
    "embedder-missing": Fault(
        "wrong", "The embedder's weights are not on this machine: recall goes by words alone.", _FETCH
    ),
    "embedder-damaged": Fault("wrong", "The file of the embedder's weights is damaged or a different one.", _FETCH),
    "model-too-large": Fault(
        "wrong", "The model does not fit into this machine's memory.", "Choose a smaller one: reveries models"
    ),
    "ollama-unreachable": Fault("wrong", "Ollama does not answer.", "Start it, or check llm.ollama_url."),
    "ollama-model-missing": Fault("wrong", "Ollama does not have the model.", "Download it: reveries models pull"),
    "provider-failing": Fault("wrong", "A model's provider fails.", "See which: reveries models"),
    "price-unknown": Fault(
        "watch",
        "The price of a hosted model is unknown, so the dearest is assumed and most of its calls are refused.",
        "Say what it costs: reveries config set llm.unlisted_input_dollars N, and llm.unlisted_output_dollars N",
    ),
    "schema-refused": Fault(
        "note",
        "A model refused the form of an answer, so it is told the form in words.",
        "Its answers are checked all the same; how many fit: reveries models",
    ),
    "ledger-over-cap": Fault(
        "watch", "A limit of the budget is reached.", "See: reveries usage. It continues when the limit renews."
    ),
}


def render_fault_table() -> str:
    """Return the reference page of all faults, as Markdown."""
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
        f"| `{name}` | {fault.severity} | {fault.meaning} | {fault.next_step} | {'yes' if fault.is_fixable else ''} |"
        for name, fault in FAULTS.items()
    ]
    return "\n".join([*head, *rows, ""])
