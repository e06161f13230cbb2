"""How the mind is, for `reveries status` and every client's status line."""

import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from reveries import __version__, protocol
from reveries.daemon.wire import stats_frame
from reveries.llm.caps import Span

if TYPE_CHECKING:
    from reveries.daemon.mind import Mind


async def status_frame(request_id: int, mind: "Mind") -> protocol.Status:
    """R-18, R-49, R-146. "ok" only while what is acknowledged is also stored (H3)."""
    stats = await mind.memory.stats()
    state, detail = mind.state()
    problems = mind.problems()
    embedding = mind.memory.reembedding.progress
    return protocol.Status(
        request_id=request_id,
        reveries=__version__,
        pid=os.getpid(),
        home=str(mind.home.path),
        awake_since=mind.awake_since,
        health="degraded" if problems else "ok",
        problems=problems,
        state=state,
        state_detail=detail,
        conversation_turns=mind.conversation.turn_count,
        attached_clients=mind.conversation.attached_count,
        thinking_enabled=mind.settings.monologue.enabled,
        last_thought_at=mind.monologue.last_thought_at,
        last_consolidation=stats.last_consolidation,
        memory=stats_frame(0, stats),
        models=[protocol.ModelUse(*use) for use in mind.models.uses()],
        usage=[
            protocol.UsageToday(
                role=use.role,
                calls=use.calls,
                prompt_tokens=use.prompt_tokens,
                completion_tokens=use.completion_tokens,
                dollars=use.dollars,
                token_limit=use.token_limit,
            )
            for use in await mind.ledger.usage_today()
        ],
        dollars_month=await mind.ledger.dollars_this_month(),
        tripwire=await mind.journal.tripwire_counts(),
        notices=await mind.lasting_notices(),
        sqlite_version=mind.database.sqlite_version,
        loop_lag_p99_ms=mind.lag.p99_ms(),
        loop_lag_max_ms=mind.lag.max_ms(),
        embedding_model=embedding.model_id,
        embedding_serving=embedding.serving_id,
        embedding_done=embedding.done,
        embedding_total=embedding.total,
        embedding_waits=embedding.waits,
        limits=[protocol.UsageLimit(**asdict(one)) for one in await mind.ledger.limits() if one.span is Span.DAY],
    )
