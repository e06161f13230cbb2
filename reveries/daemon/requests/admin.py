"""Requests about the daemon: status, settings, checkup, models and usage, wellbeing, backup, shutdown."""

import os

import msgspec

from reveries import __version__, protocol
from reveries.daemon.checkup.inside import Inside, OpenMemory, check_awake
from reveries.daemon.mind import Mind, reload_settings
from reveries.daemon.models.model_probe import Prober, select_roles
from reveries.daemon.models.models_overview import InUse, models_overview
from reveries.daemon.models.tier_test import TierTester
from reveries.daemon.models.usage_report import usage_report
from reveries.daemon.notices import lasting_notices
from reveries.daemon.offline.backup_answers import create_backup
from reveries.daemon.process.settings_in_force import masked_toml
from reveries.daemon.requests.registry import Call, handles
from reveries.llm.caps import Span
from reveries.progress import ProgressCallback
from reveries.safe_text import one_line
from reveries.safety.wellbeing import load_wellbeing_report


@handles(protocol.AskStatus)
async def show_status(call: Call, request: protocol.AskStatus) -> protocol.Status:
    return await status_frame(request.request_id, call.mind)


@handles(protocol.AskState)
async def show_state(call: Call, request: protocol.AskState) -> protocol.MindState:
    state, detail = call.mind.activity.state()
    return protocol.MindState(request.request_id, state, one_line(detail), not call.mind.health.problems())


@handles(protocol.AskConfig)
async def show_settings(call: Call, request: protocol.AskConfig) -> protocol.Config:
    return protocol.Config(request.request_id, masked_toml(call.mind.settings), str(call.mind.in_force.file))


@handles(protocol.ApplyConfig)
async def apply_settings(call: Call, request: protocol.ApplyConfig) -> protocol.ConfigApplied:
    changed, needs_restart = reload_settings(call.mind)
    return protocol.ConfigApplied(request.request_id, changed, needs_restart)


@handles(protocol.AskCheckup)
async def check_up(call: Call, request: protocol.AskCheckup) -> protocol.Checkup:
    mind = call.mind
    memory = OpenMemory(mind.database, mind.ledger, mind.models.circuits, mind.clock)
    return await check_awake(request.request_id, Inside(mind.settings, mind.home, memory))


@handles(protocol.AskWellbeing)
async def show_wellbeing(call: Call, request: protocol.AskWellbeing) -> protocol.Wellbeing:
    mind = call.mind
    return await load_wellbeing_report(mind.database, mind.clock, request.excerpts, request.request_id)


@handles(protocol.MakeBackup)
async def back_up(call: Call, request: protocol.MakeBackup) -> protocol.Backups:
    return await create_backup(request.request_id, call.mind.home, call.mind.backups, call.report_progress)


@handles(protocol.Sleep)
async def fall_asleep(call: Call, request: protocol.Sleep) -> protocol.Ok:
    await call.fall_asleep(call.progress_for_all("sleeping on it"))
    return protocol.Ok(request.request_id)


@handles(protocol.AskModels)
async def list_models(call: Call, request: protocol.AskModels) -> protocol.ModelsOverview:
    mind, models = call.mind, call.mind.models
    states = {role: state for role, _, state in models.uses()}
    in_use = InUse(models.choices, models.fallbacks, states, models.embedder_name)
    shown = await models_overview(mind.settings, await mind.answers.counts(), in_use, models.tested)
    return msgspec.structs.replace(shown, request_id=request.request_id)


@handles(protocol.ProbeModels)
async def test_models(call: Call, request: protocol.ProbeModels) -> protocol.ModelsProbed:
    with_tiers = request.tiers is True
    probes, tiers = await probe_models(call.mind, request.role, call.report_progress, with_tiers=with_tiers)
    answers = await call.mind.answers.counts()
    return protocol.ModelsProbed(request.request_id, probes, answers, tiers if with_tiers else msgspec.UNSET)


async def probe_models(
    mind: Mind, role: str, progress: ProgressCallback, *, with_tiers: bool
) -> tuple[list[protocol.ModelProbe], list[protocol.TierTest]]:
    """Ask each role's model one question and, `with_tiers`, run the tier tests. Thinking and sleep wait meanwhile."""
    select_roles(role)
    models, clock = mind.models, mind.clock
    prober = Prober(models.first, models.embedder, mind.ledger, models.circuits, mind.answers, clock, progress)
    tester = TierTester(models.first, models.tier, mind.tier_results, models.circuits, clock, progress)
    if mind.activity.is_sleeping:
        progress("waiting for sleep to end", 0, 0)
    async with mind.activity.during_test():
        return await prober.probe(role), await tester.test(role) if with_tiers else []


@handles(protocol.AskUsage)
async def show_usage(call: Call, request: protocol.AskUsage) -> protocol.UsageReport:
    return await usage_report(request.request_id, call.mind.ledger, request.days)


async def status_frame(request_id: int, mind: Mind) -> protocol.Status:
    """R-18, R-49, R-146. "ok" only while what is acknowledged is also stored (H3)."""
    stats = await mind.memory.stats()
    state, detail = mind.activity.state()
    problems = mind.health.problems()
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
        attached_clients=mind.conversations.attached_count,
        thinking_enabled=mind.settings.monologue.enabled,
        last_thought_at=mind.monologue.cycle.last_thought_at,
        last_consolidation=stats.last_consolidation,
        memory=stats,
        models=[protocol.ModelUse(*use) for use in mind.models.uses()],
        usage=await mind.ledger.usage_today(),
        dollars_month=await mind.ledger.dollars_this_month(),
        tripwire=await mind.journal.tripwire_counts(),
        notices=await lasting_notices(mind),
        sqlite_version=mind.database.sqlite_version,
        loop_lag_p99_ms=mind.lag.p99_ms(),
        loop_lag_max_ms=mind.lag.max_ms(),
        embedding_model=embedding.model_id,
        embedding_serving=embedding.serving_id,
        embedding_done=embedding.done,
        embedding_total=embedding.total,
        embedding_waits=embedding.waiting_reason,
        open_questions=len(await mind.projects.store.questions.list_open()),
        limits=[limit for limit in await mind.ledger.limits() if limit.span == Span.DAY],
    )
