"""The goals of reliability, security and money: what is promised, a sentence each. Tests name them in their markers.

Where a goal has no test, `WITHOUT_A_TEST` says why. Figures that were reached stand in docs/benchmarks.md.
"""

import re
from typing import Final

LEFT_OPEN: Final = re.compile(r"RA-\d+")
"""A marker may name a point that a requirement left open, too."""

GOALS: Final[dict[str, str]] = {
    # What was acknowledged
    "A1": "Killed at any moment, what was acknowledged is there, and nothing is half-made.",
    "A2": "The same when it is killed at any of the steps that have a name.",
    "A3": "The same when the power goes.",
    "A4": "A write or a sync that fails is never papered over.",
    "A5": "A full disk: it says so, keeps what it has, and goes on by itself.",
    "A6": "Nobody but SQLite opens the file of the memory while it is in use.",
    "A7": "Only an SQLite that keeps what it promises is used.",
    "A8": "A damaged memory is never an empty mind.",
    "A9": "A backup that can be seen is whole, and can be put back.",
    "A10": "Whatever happens in whatever order, the memory equals a plain model of it.",
    # One mind, awake
    "B1": "Two daemons never share a mind.",
    "B2": "After a kill or a reboot it starts with no hand work.",
    "B3": "An old daemon that ends never unplugs a new one.",
    "B4": "It ends cleanly, and soon.",
    "B5": "No child outlives it.",
    "B6": "Crashes one after the other end in safe mode.",
    "B7": "What hangs is noticed.",
    "B8": "Its service unit is hardened.",
    # Upgrades and settings
    "C1": "Every earlier schema comes up to date without a loss.",
    "C2": "An upgrade that is broken off does no harm.",
    "C3": "A memory of a newer Reveries is refused and left as it is.",
    "C4": "A mistake in the settings is explained.",
    "C5": "Settings are written whole or not at all.",
    # Providers
    "D1": "Whatever a provider does, the mind lives, you are told, and thinking pauses.",
    "D2": "What was cut off is never taken for finished.",
    "D3": "A provider is asked again politely.",
    "D4": "One call has bounds in time and bytes.",
    "D5": "Nothing turns in a busy loop.",
    "D6": "A malformed answer never harms memory.",
    # Clocks, clients, months
    "E1": "Steps of the clock do no harm.",
    "E2": "A client may leave in mid-reply.",
    "E3": "A hundred clients hear the same.",
    "E4": "A slow or stuck client hurts nobody.",
    "E5": "Garbage on the wire changes nothing and slows nobody down.",
    "E6": "Whatever is handed over is read or refused with a sentence.",
    "E7": "A month leaves it no larger than what it remembers.",
    "E8": "Where memory runs out, nothing that was acknowledged goes with it.",
    "E9": "The terminal outlives what the daemon and its text do.",
    # Trust
    "F1": "Foreign text can be remembered and never commands.",
    "F1b": "Harmless foreign text is remembered all the same.",
    "F1c": "How far a real model goes along with poison is measured.",
    "F2": "Nothing leaves for anybody who was not named.",
    "F3": "Nobody speaks in the owner's name.",
    "F4": "Other users of the machine get nothing.",
    "F4b": "No port is open.",
    "F5": "No text attacks the terminal.",
    "F6": "Secrets stay where they are.",
    "F7": "A channel listens to the owner alone.",
    "F8": "Documents do no harm.",
    "F9": "Tools that it uses by itself are fenced in.",
    "F10": "What is erased is gone.",
    "F11": "Otherwise nothing is deleted.",
    "F12": "An export is whole, and can be taken elsewhere.",
    "F13": "What it is built from is known.",
    # Money
    "G1": "A limit is never passed.",
    "G2": "A mind with nothing to do costs what it says.",
    "G3": "No event gets a thought past its pace.",
    "G4": "At a limit it stays kind.",
    # Seeing the state
    "H1": "`reveries doctor` tells what is wrong.",
    "H2": "No private word is in the log at info or above.",
    "H3": "It never says that all is well while it does not store.",
    "H4": "The tests catch faults that are put in.",
}

WITHOUT_A_TEST: Final[dict[str, str]] = {
    "F1c": "measured by `bench/poison_real.py`; no gate rests on it",
    "F7": "there are no channels yet",
}
