"""Forgetting, at the owner's word: what would go, what went."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial

from reveries import protocol
from reveries.daemon.forgetting import forget
from reveries.daemon.requests.registry import Call, handles
from reveries.memory.forgetting.forgetting import ForgetReport


@handles(protocol.Forget)
async def forget_memories(call: Call, request: protocol.Forget) -> protocol.Forgotten:
    told = ForgetReport()
    work = partial(_forget_and_tell, call, request, told)
    is_erasing = request.erase and not request.dry_run and not request.bring_back
    return await (_erase_to_the_end(call, work, told) if is_erasing else work())


async def _forget_and_tell(call: Call, request: protocol.Forget, told: ForgetReport) -> protocol.Forgotten:
    is_done = False
    try:
        answer = await forget(call.mind, request, call.report_progress, told)
        is_done = not request.dry_run
        return answer
    finally:
        if is_done or told.is_gone:  # Whoever shows the conversation reads it anew, whatever comes of the rest.
            call.clients.tell_switched()


async def _erase_to_the_end(
    call: Call, work: Callable[[], Coroutine[None, None, protocol.Forgotten]], told: ForgetReport
) -> protocol.Forgotten:
    """Once something of it may be gone it goes on to its end, whether or not somebody waits for it (F10)."""
    erasing = call.detached.start(call.session, work, "erasing")
    while not erasing.done():
        try:
            await asyncio.wait((erasing,))
        except asyncio.CancelledError:
            if not told.may_be_gone:
                told.is_given_up = True
                erasing.cancel()  # It puts back what it has noted.
            elif call.session.is_gone:
                raise
    answer = erasing.result()
    if isinstance(answer, Exception):
        raise answer
    return answer
