"""What is put away leaves the summaries of conversations, too."""

import json

from reveries.db.database import Transaction
from reveries.memory.forgetting.needles import TextMatcher


async def take_out_of_summaries(transaction: Transaction, experiences: list[str], holds: TextMatcher) -> None:
    """Take the lines that hold it out of the summaries of conversations; a summary in which no line is found goes
    whole, for it may tell it in other words."""
    named = {"ids": json.dumps(experiences)}
    for row in await transaction.rows("forget.summaries_over", named):
        lines = str(row["folded_summary"]).splitlines()
        left = [line for line in lines if not holds(line)]
        summary = "\n".join(left) if len(left) < len(lines) else ""
        until = row["folded_until"] if summary else 0
        await transaction.run("forget.put_summary", {"id": row["id"], "summary": summary, "until": until})
