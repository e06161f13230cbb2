"""Checks the limits of the budget."""

from collections.abc import AsyncIterator

from reveries.daemon.checkup.inside import ChosenModels, Inside
from reveries.protocol import Fault, Finding

OVER_CAP = Fault("ledger-over-cap", "watch", "A limit of the budget is reached.", "See when it renews: reveries usage")


async def check(inside: Inside, _: ChosenModels) -> AsyncIterator[Finding | str]:
    """Yield the limits that are reached."""
    for use in await inside.memory.ledger.limits() if inside.memory else ():
        if use.used > 0 and use.used >= use.limit:
            yield OVER_CAP.found(f"The limit {use.key} of {use.limit:g} is reached: {use.used:g}.", where=use.key)
