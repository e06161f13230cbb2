"""Forgetting on the owner's word: what is chosen, what would go or went, store by store."""

from typing import Annotated

import msgspec

from reveries.protocol.looking_requests import When
from reveries.protocol.message import Message, RequestId


class Forget(Message, frozen=True):
    """Forget what one of these chooses: an id (or its beginning) of an episode, a turn, a thought or a note; words;
    a person or thing by name; a time. Answered by `Progress` and `Forgotten`.

    Without `erase` it is archived: nothing is deleted, and nothing of it comes to mind. `dry_run` changes nothing. What
    is archived comes back with `bring_back` and its id, words, name or time.
    """

    request_id: RequestId
    id: Annotated[str, msgspec.Meta(max_length=100)] = ""
    matching: Annotated[str, msgspec.Meta(max_length=10_000)] = ""
    about: Annotated[str, msgspec.Meta(max_length=200)] = ""
    since: When = ""
    until: When = ""
    dry_run: bool = True
    erase: bool = False
    bring_back: bool = False


class ForgottenStore(msgspec.Struct, frozen=True):
    """What goes from one store: `gone` rows, texts or files; `remade` that are made anew from what is left."""

    store: str
    gone: int
    remade: int = 0


class ForgottenItem(msgspec.Struct, frozen=True):
    """One thing that is chosen, for whoever has to agree to it. Only in a dry run."""

    id: str
    kind: str
    """episode, experience, turn, thought, note, claim, statement, file."""
    at: float
    """Unix seconds; 0 where it has no time."""
    text: str
    is_remade: bool = False


class Forgotten(Message, frozen=True):
    """The plan of a dry run, or the receipt. `receipt_id` is empty in a dry run and when nothing was chosen."""

    request_id: int
    is_dry_run: bool
    is_erased: bool
    """Erased (or would be), not only archived."""
    receipt_id: str
    at: float
    stores: list[ForgottenStore]
    items: list[ForgottenItem]
    item_count: int
    """All of them: `items` holds the first few hundred."""
    notes: list[str]
    """What else there is to know: what is made anew, what is out of reach, which words stand elsewhere."""
    tombstones: int = 0
    """Keyed hashes that keep it from coming back."""
    seconds: float = 0.0
    left: list[ForgottenItem] | msgspec.UnsetType = msgspec.UNSET
    """Sent in a dry run, where there is any: what would stay and says nearly the same in other words, the most alike
    first."""
