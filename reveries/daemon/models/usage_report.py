"""Builds the usage report frame from the ledger (R-49)."""

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
        today=await ledger.usage_since(Span.DAY),
        month=await ledger.usage_since(Span.MONTH),
        limits=await ledger.limits(),
        days=await ledger.usage_by_day(days),
    )
