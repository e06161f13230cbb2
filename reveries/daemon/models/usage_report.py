"""Builds the usage report frame from the ledger (R-49)."""

from dataclasses import asdict

from reveries import protocol
from reveries.llm.budget import Ledger
from reveries.llm.caps import Span
from reveries.llm.prices import price_table_version


async def usage_report(request_id: int, ledger: Ledger, days: int) -> protocol.UsageReport:
    """Return usage of today, this month and the last `days` days, with every limit."""
    return protocol.UsageReport(
        request_id=request_id,
        now=await ledger.now(),
        price_version=price_table_version(),
        today=[protocol.UsedModel(**asdict(used)) for used in await ledger.usage_since(Span.DAY)],
        month=[protocol.UsedModel(**asdict(used)) for used in await ledger.usage_since(Span.MONTH)],
        limits=[protocol.UsageLimit(**asdict(limit)) for limit in await ledger.limits()],
        days=[protocol.UsedDay(**asdict(day)) for day in await ledger.usage_by_day(days)],
    )
