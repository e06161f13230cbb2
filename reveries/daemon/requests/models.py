"""Models: which there are, whether they answer, what they used."""

import msgspec

from reveries import protocol
from reveries.daemon.mind import Mind
from reveries.daemon.model_probe import Prober, roles_named
from reveries.daemon.models_overview import InUse, answer_frame, models_overview
from reveries.daemon.requests.registry import Call, handles
from reveries.daemon.tier_test import TierTester
from reveries.daemon.usage_report import usage_report
from reveries.progress import ProgressCallback


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
    answers = [answer_frame(count) for count in await call.mind.answers.counts()]
    return protocol.ModelsProbed(request.request_id, probes, answers, tiers if with_tiers else msgspec.UNSET)


async def probe_models(
    mind: Mind, role: str, progress: ProgressCallback, *, with_tiers: bool
) -> tuple[list[protocol.ModelProbe], list[protocol.TierTest]]:
    """One question to each role's model, and the tasks of the tiers. Thinking and sleep wait meanwhile."""
    roles_named(role)
    models, clock = mind.models, mind.clock
    prober = Prober(models.first, models.embedder, mind.ledger, models.circuits, mind.answers, clock, progress)
    tester = TierTester(models.first, models.tier, mind.tier_results, models.circuits, clock, progress)
    if mind.activity.is_sleeping:
        progress("waiting for the sleep that is under way", 0, 0)
    async with mind.activity.during_test():
        return await prober.probe(role), await tester.test(role) if with_tiers else []


@handles(protocol.AskUsage)
async def show_usage(call: Call, request: protocol.AskUsage) -> protocol.UsageReport:
    return await usage_report(request.request_id, call.mind.ledger, request.days)
