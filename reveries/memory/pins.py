"""Which episodes the owner pinned: time leaves them alone. Only the file knows; sleep and the owner's looks ask it."""

from reveries.db.database import Database, Transaction

_Reader = Database | Transaction


async def pins(reader: _Reader) -> dict[str, str]:
    """Every pin, by the id that was pinned, with the episode that it holds now: that one, or where it was merged."""
    return {row["pinned_id"]: row["home_id"] for row in await reader.rows("pins.homes")}


async def pinned_ids(reader: _Reader) -> frozenset[str]:
    """The episodes that are pinned."""
    return frozenset((await pins(reader)).values())
