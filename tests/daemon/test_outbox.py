"""A slow client costs no one anything."""

import asyncio

import pytest

from reveries.daemon.outbox import HARD_LIMIT_BYTES, STREAM_LIMIT_BYTES, Outbox, Unread
from reveries.protocol import MAX_FRAME_BYTES, Frame, Ok, Token, encode


async def test_frames_come_out_whole_and_in_order() -> None:
    outbox = Outbox()
    frames: list[Frame] = [Token(1, "a"), Token(1, "b"), Ok(1)]
    for frame in frames:
        outbox.send(frame)
    assert await outbox.next_frames() == b"".join(encode(frame) for frame in frames)


@pytest.mark.requirement("E4", "R-39")
def test_a_stream_is_skipped_when_its_reader_is_slow_and_its_end_still_gets_through() -> None:
    outbox = Outbox()
    piece = Token(1, "x" * 1000)
    taken = 0
    while outbox.send_piece(piece):
        taken += 1
        assert taken * 1000 < STREAM_LIMIT_BYTES
    outbox.send(Ok(1))
    assert not outbox.is_closed


@pytest.mark.requirement("E4")
async def test_an_answer_that_is_on_its_way_keeps_no_piece_of_a_stream_from_who_reads() -> None:
    """Words right after the first scrollback: their reply is streamed."""
    outbox = Outbox()
    outbox.send(Token(1, "x" * (2 * STREAM_LIMIT_BYTES)))
    assert outbox.send_piece(Token(2, "I"))
    await outbox.next_frames()
    assert outbox.send_piece(Token(2, " see"))


@pytest.mark.requirement("E4")
def test_a_client_that_takes_nothing_is_given_up_with_what_waited_for_it() -> None:
    outbox = Outbox()
    big = Token(1, "x" * 1_000_000)
    for _ in range(HARD_LIMIT_BYTES // 1_000_000 + 2):
        outbox.send(big)
    assert outbox.is_closed


@pytest.mark.requirement("E4")
async def test_of_many_who_read_nothing_those_go_first_that_have_read_nothing_for_longest() -> None:
    unread = Unread(10_000)
    slow, stuck, good = (Outbox(unread) for _ in range(3))
    for outbox in (slow, stuck, good):
        outbox.send(Token(1, "x" * 3000))
    await slow.next_frames()
    slow.send(Token(1, "x" * 100))
    await slow.next_frames()  # The first frame is sent by now.
    assert [outbox.is_closed for outbox in (slow, stuck, good)] == [False, False, False]
    good.send(Token(1, "x" * 5000))
    assert [outbox.is_closed for outbox in (slow, stuck, good)] == [False, True, False]
    assert unread.bytes == slow.waiting_bytes + good.waiting_bytes < 10_000
    for outbox in (slow, good):
        outbox.give_up()
    assert unread.bytes == 0


@pytest.mark.requirement("E4")
def test_one_largest_answer_is_never_too_much() -> None:
    outbox = Outbox()
    outbox.send(Token(1, "x" * (STREAM_LIMIT_BYTES - 100)))
    outbox.send(Token(1, "x" * (MAX_FRAME_BYTES - 100)))
    assert not outbox.is_closed


async def test_the_writer_ends_when_the_outbox_is_closed_and_drained() -> None:
    outbox = Outbox()
    outbox.send(Ok(1))
    outbox.close()
    assert await outbox.next_frames()
    async with asyncio.timeout(300):
        assert await outbox.next_frames() == b""


def test_what_is_sent_to_a_client_that_left_goes_nowhere() -> None:
    outbox = Outbox()
    outbox.close()
    outbox.send(Ok(1))
    assert not outbox.send_piece(Ok(1))


@pytest.mark.requirement("E4")
async def test_who_is_far_behind_what_all_are_told_is_given_up_and_one_long_word_is_not_far() -> None:
    outbox = Outbox()
    outbox.send_broadcast(Ok(0))
    await outbox.next_frames()  # It is being sent, but the client does not read.
    given_up = []
    for frame in (Token(0, "x" * (2 * STREAM_LIMIT_BYTES)), Ok(0)):
        outbox.send_broadcast(frame)
        given_up.append(outbox.is_closed)
    assert given_up == [False, True]
    async with asyncio.timeout(300):
        await outbox.wait_closed()
        assert await outbox.next_frames() == b""


@pytest.mark.requirement("E4")
async def test_who_had_no_turn_to_read_is_not_behind() -> None:
    """A long message and what follows at once: the client had no chance to read."""
    outbox = Outbox()
    for frame in (Token(0, "x" * (2 * STREAM_LIMIT_BYTES)), Ok(0), Ok(0)):
        outbox.send_broadcast(frame)
    assert not outbox.is_closed


@pytest.mark.requirement("E4")
async def test_what_is_being_sent_counts_until_it_has_left() -> None:
    outbox = Outbox()
    outbox.send(Token(1, "x" * (STREAM_LIMIT_BYTES + 1)))
    await outbox.next_frames()
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        order: list[str] = []

        async def ask_for_more() -> None:
            await outbox.wait_until_read()
            order.append("more")

        tasks.create_task(ask_for_more())
        await asyncio.sleep(0)
        order.append("read")
        outbox.send(Ok(2))
        await outbox.next_frames()
    assert order == ["read", "more"]
