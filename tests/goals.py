"""The goals for reliability, security and money, one sentence each. Tests name them in their markers.

If a goal has no test, `WITHOUT_A_TEST` says why. The measured figures are in docs/benchmarks.md.
"""

import re
from typing import Final

LEFT_OPEN: Final = re.compile(r"RA-\d+")
"""A marker may also name a decision on a point that a requirement left open."""

GOALS: Final[dict[str, str]] = {
    # What was acknowledged
    "A1": "After a kill at any moment, everything acknowledged is there, and nothing is half done.",
    "A2": "The same after a kill at any of the named failpoints.",
    "A3": "The same after a power failure.",
    "A4": "A failed write or sync is never ignored.",
    "A5": "A full disk is reported, loses nothing, and work continues by itself when there is space.",
    "A6": "Only SQLite opens the memory's file while it is in use.",
    "A7": "SQLite runs with safe settings, in a version without known corruption bugs where there is one.",
    "A8": "A damaged memory never becomes an empty mind.",
    "A9": "A listed backup is intact and can be restored.",
    "A10": "After any sequence of operations, the memory equals a simple reference model of it.",
    # One mind, awake
    "B1": "Two daemons never share a mind.",
    "B2": "After a kill or a reboot it starts without manual repair.",
    "B3": "An old daemon that ends never disconnects a new one.",
    "B4": "It shuts down cleanly and quickly.",
    "B5": "No child process outlives it.",
    "B6": "Repeated crashes end in safe mode.",
    "B7": "A hang is detected.",
    "B8": "Its service unit is hardened.",
    # Upgrades and settings
    "C1": "Every earlier schema is migrated without loss.",
    "C2": "An interrupted upgrade does no harm.",
    "C3": "A memory of a newer Reveries is refused and not changed.",
    "C4": "A mistake in the settings is explained.",
    "C5": "Settings are written completely or not at all.",
    # Providers
    "D1": "Whatever a provider does, the mind keeps running, you are notified, and thinking pauses.",
    "D2": "A truncated answer is never taken for a complete one.",
    "D3": "Retries respect the provider: backoff and its requested waits.",
    "D4": "A call is limited in time and bytes.",
    "D5": "Nothing runs in a busy loop.",
    "D6": "A malformed answer never harms memory.",
    # Clocks, clients, months
    "E1": "Clock changes do no harm.",
    "E2": "A client may disconnect during a reply.",
    "E3": "A hundred clients receive the same.",
    "E4": "A slow or stuck client affects no other.",
    "E5": "Garbage on the wire changes nothing and slows nobody down.",
    "E6": "Every input is accepted, or refused with an explanation.",
    "E7": "After a month it is no larger than what it remembers.",
    "E8": "When memory (RAM) runs out, nothing acknowledged is lost.",
    "E9": "The terminal survives whatever the daemon and its text do.",
    # Trust
    "F1": "Untrusted text can be remembered but never gives commands.",
    "F1b": "Harmless untrusted text is remembered all the same.",
    "F1c": "How far a real model obeys poisoned text is measured.",
    "F2": "Nothing is sent to anyone who was not named.",
    "F3": "No one can speak in the owner's name.",
    "F4": "Other users of the machine get no access.",
    "F4b": "No port is open.",
    "F5": "No text attacks the terminal.",
    "F6": "Secrets are not disclosed.",
    "F7": "A channel accepts only the owner.",
    "F8": "Documents do no harm.",
    "F9": "Tools that it uses by itself are restricted.",
    "F10": "What is erased is gone.",
    "F11": "Nothing else is ever deleted.",
    "F12": "An export is complete and can be imported elsewhere.",
    "F13": "Its dependencies are known and pinned.",
    # Money
    "G1": "A limit is never exceeded.",
    "G2": "An idle mind costs what is documented.",
    "G3": "No event makes it think faster than its pace.",
    "G4": "At a limit, its messages stay kind.",
    # Seeing the state
    "H1": "`reveries doctor` reports what is wrong.",
    "H2": "Nothing private is in the log at info or above.",
    "H3": "It never reports that all is well while it cannot store.",
    "H4": "The tests catch injected faults.",
}

WITHOUT_A_TEST: Final[dict[str, str]] = {
    "F1c": "measured by `bench/poison_real.py`; no gate depends on it",
    "F7": "there are no channels yet",
}
