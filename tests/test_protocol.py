"""The wire: golden bytes that any MessagePack library reads, and a framing that survives every way of being cut."""

import asyncio
import struct
from itertools import pairwise
from typing import Any, Final

import msgpack
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries import protocol
from reveries.errors import ProtocolError
from reveries.protocol import (
    MAX_FRAME_BYTES,
    Frame,
    Hello,
    Import,
    ImportedTurn,
    Message,
    Recalled,
    RecalledItem,
    Request,
    Say,
    Search,
    Stored,
    Token,
    Welcome,
    decode_frame,
    decode_request,
    encode,
    read_body,
)
from tests.client import looks

GOLDEN: Final[list[tuple[Message, str]]] = [
    (Hello(version=1, client="cli"), "0000001d 83 a174 a568656c6c6f a776657273696f6e 01 a6636c69656e74 a3636c69"),
    (
        Say(request_id=7, text="Grüß dich"),
        "00000024 83 a174 a3736179 aa726571756573745f6964 07 a474657874 ab4772c3bcc39f2064696368",
    ),
    (
        Search(request_id=8, query="tea"),
        "00000027 84 a174 a6736561726368 aa726571756573745f6964 08 a57175657279 a3746561 a56c696d6974 0a",
    ),
    (
        Search(request_id=8, query="tea", deep=True),
        "0000002d 85 a174 a6736561726368 aa726571756573745f6964 08 a57175657279 a3746561 a56c696d6974 0a a464656570 c3",
    ),
    (
        protocol.ControlThinking(request_id=9, do="pause"),
        ("0000002883a174af636f6e74726f6c7468696e6b696e67aa726571756573745f696409a2646fa57061757365"),
    ),
    (
        protocol.ReleaseThinking(request_id=9),
        ("0000001f82a174af72656c656173657468696e6b696e67aa726571756573745f696409"),
    ),
    (
        protocol.ThinkingReleased(request_id=9, was_resting=True, because="It looped."),
        (
            "0000004084a174b07468696e6b696e6772656c6561736564aa726571756573745f696409ab7761735f72657374696e67c3a7"
            "62656361757365aa4974206c6f6f7065642e"
        ),
    ),
    (
        protocol.NudgeThinking(request_id=9, about="the garden"),
        ("0000002e83a174ad6e756467657468696e6b696e67aa726571756573745f696409a561626f7574aa7468652067617264656e"),
    ),
    (
        protocol.MarkThought(request_id=9, thought_id="a1", mark="drop"),
        (
            "0000003384a174ab6d61726b74686f75676874aa726571756573745f696409aa74686f756768745f6964a26131a46d61726b"
            "a464726f70"
        ),
    ),
    (
        protocol.AskNotes(request_id=9, limit=5),
        ("0000001f83a174a861736b6e6f746573aa726571756573745f696409a56c696d697405"),
    ),
    (
        protocol.DismissNote(request_id=9, note_id="a1"),
        ("0000002683a174ab6469736d6973736e6f7465aa726571756573745f696409a76e6f74655f6964a26131"),
    ),
    (
        protocol.ThinkingControlled(request_id=9, state="held", detail="You paused it.", is_paused=True),
        (
            "0000004e85a174b27468696e6b696e67636f6e74726f6c6c6564aa726571756573745f696409a57374617465a468656c64a6"
            "64657461696cae596f75207061757365642069742ea969735f706175736564c3"
        ),
    ),
    (
        protocol.ThoughtMarked(request_id=9, thought_id="a1", mark="dropped"),
        (
            "0000003884a174ad74686f756768746d61726b6564aa726571756573745f696409aa74686f756768745f6964a26131a46d61"
            "726ba764726f70706564"
        ),
    ),
    (
        protocol.Notes(
            request_id=9, notes=[protocol.Note("a1", "a1", 1.5, "Water it.", "It came.", 2.5, 0.0)], per_day=1.0
        ),
        (
            "000000a284a174a56e6f746573aa726571756573745f696409a56e6f7465739187a76e6f74655f6964a26131aa74686f7567"
            "68745f6964a26131aa7772697474656e5f6174cb3ff8000000000000a474657874a957617465722069742ea6726561736f6e"
            "a849742063616d652ea873686f776e5f6174cb4004000000000000ac6469736d69737365645f6174cb0000000000000000a7"
            "7065725f646179cb3ff0000000000000"
        ),
    ),
    (
        protocol.Thoughts(
            request_id=9,
            thoughts=[
                protocol.ThoughtEntry(
                    "a1",
                    1.5,
                    2.5,
                    "nudge",
                    "settled",
                    "So.",
                    3,
                    ["e1"],
                    "It said so.",
                    "tea",
                    1,
                    20,
                    3,
                    0.25,
                    ["Tea."],
                    False,
                    True,
                    False,
                )
            ],
        ),
        (
            "0000013283a174a874686f7567687473aa726571756573745f696409a874686f756768747391de0012aa74686f756768745f"
            "6964a26131a8626567616e5f6174cb3ff8000000000000a8656e6465645f6174cb4004000000000000a97768795f62656761"
            "6ea56e75646765a97768795f656e646564a7736574746c6564a474657874a3536f2ea6746f6b656e7303a8726563616c6c65"
            "6491a26531ab6578706c616e6174696f6eab4974207361696420736f2ea86f63636173696f6ea3746561a563616c6c7301ad"
            "70726f6d70745f746f6b656e7314b1636f6d706c6574696f6e5f746f6b656e7303a7646f6c6c617273cb3fd0000000000000"
            "b2726563616c6c65645f73756d6d617269657391a45465612eaa69735f7461696e746564c2a969735f70696e6e6564c3aa69"
            "735f64726f70706564c2"
        ),
    ),
    (Token(request_id=7, text="Hi"), "0000001d 83 a174 a5746f6b656e aa726571756573745f6964 07 a474657874 a24869"),
    (
        Stored(request_id=7, what="words", turn_id="t1"),
        "0000002c 84 a174 a673746f726564 aa726571756573745f6964 07 a477686174 a5776f726473 a77475726e5f6964 a27431",
    ),
    (
        Welcome(version=1, reveries="0.1", pid=42, mind="Reverie", awake_since=1.5),
        (
            "00000048 86 a174 a777656c636f6d65 a776657273696f6e 01 a87265766572696573 a3302e31 a3706964 2a"
            " a46d696e64 a752657665726965 ab6177616b655f73696e6365 cb3ff8000000000000"
        ),
    ),
    (
        protocol.PreviewSleep(request_id=4, limit=3),
        ("0000002383a174ac70726576696577736c656570aa726571756573745f696404a56c696d697403"),
    ),
    (
        protocol.AskSleepLog(request_id=5, limit=20),
        ("0000002283a174ab61736b736c6565706c6f67aa726571756573745f696405a56c696d697414"),
    ),
    (
        protocol.InspectSleep(request_id=6, run_id="r1"),
        ("0000002683a174ac696e7370656374736c656570aa726571756573745f696406a672756e5f6964a27231"),
    ),
    (
        protocol.UndoSleep(request_id=7, run_id="r1", through=True),
        ("0000002c84a174a9756e646f736c656570aa726571756573745f696407a672756e5f6964a27231a77468726f756768c3"),
    ),
    (
        protocol.AnswerSleep(request_id=8, run_id="r1", do_it=False),
        ("0000002c84a174ab616e73776572736c656570aa726571756573745f696408a672756e5f6964a27231a5646f5f6974c2"),
    ),
    (
        protocol.SleepLog(
            request_id=5,
            runs=[
                protocol.SleepRun(
                    run_id="r1",
                    depth="deep",
                    trigger="owner",
                    began_at=1.5,
                    ended_at=None,
                    processed=1,
                    created=1,
                    merged=0,
                    fallbacks=0,
                    outcome="done",
                    undone_by="",
                    undoes="",
                    question="",
                )
            ],
        ),
        (
            "000000af83a174a8736c6565706c6f67aa726571756573745f696405a472756e73918da672756e5f6964a27231a56465"
            "707468a464656570a774726967676572a56f776e6572a8626567616e5f6174cb3ff8000000000000a8656e6465645f61"
            "74c0a970726f63657373656401a76372656174656401a66d657267656400a966616c6c6261636b7300a76f7574636f6d"
            "65a4646f6e65a9756e646f6e655f6279a0a6756e646f6573a0a87175657374696f6ea0"
        ),
    ),
    (
        protocol.SleepRunDetail(
            request_id=6,
            run=protocol.SleepRun(
                run_id="r1",
                depth="deep",
                trigger="owner",
                began_at=1.5,
                ended_at=None,
                processed=1,
                created=1,
                merged=0,
                fallbacks=0,
                outcome="done",
                undone_by="",
                undoes="",
                question="",
            ),
            changes=[
                protocol.SleepChange(
                    experience_id="x1",
                    line="a walk",
                    episodes=[
                        protocol.ChangedEpisode(
                            episode_id="e1",
                            what="changed",
                            old_summary="old",
                            new_summary="new",
                            merged_into="",
                            added_quotes=["q"],
                            old_salience=None,
                            new_salience=0.5,
                        )
                    ],
                    new_links=[protocol.NewLink(source_id="e1", target_id="e2", type="causal", strength=0.5)],
                    stronger_links=1,
                    superseded=["s"],
                    self_model=["+ t"],
                )
            ],
            left_off=0,
        ),
        (
            "000001dd85a174ae736c65657072756e64657461696caa726571756573745f696406a372756e8da672756e5f6964a272"
            "31a56465707468a464656570a774726967676572a56f776e6572a8626567616e5f6174cb3ff8000000000000a8656e64"
            "65645f6174c0a970726f63657373656401a76372656174656401a66d657267656400a966616c6c6261636b7300a76f75"
            "74636f6d65a4646f6e65a9756e646f6e655f6279a0a6756e646f6573a0a87175657374696f6ea0a76368616e67657391"
            "87ad657870657269656e63655f6964a27831a46c696e65a6612077616c6ba8657069736f6465739188aa657069736f64"
            "655f6964a26531a477686174a76368616e676564ab6f6c645f73756d6d617279a36f6c64ab6e65775f73756d6d617279"
            "a36e6577ab6d65726765645f696e746fa0ac61646465645f71756f74657391a171ac6f6c645f73616c69656e6365c0ac"
            "6e65775f73616c69656e6365cb3fe0000000000000a96e65775f6c696e6b739184a9736f757263655f6964a26531a974"
            "61726765745f6964a26532a474797065a663617573616ca8737472656e677468cb3fe0000000000000ae7374726f6e67"
            "65725f6c696e6b7301aa7375706572736564656491a173aa73656c665f6d6f64656c91a32b2074a86c6566745f6f6666"
            "00"
        ),
    ),
    (
        protocol.SleepPreview(
            request_id=4,
            changes=[],
            fallbacks=0,
            left=1,
            would_ask=False,
            was_interrupted=False,
            seconds=0.5,
            calls=2,
            tokens=300,
            dollars=0.0,
        ),
        (
            "0000008f8ca174ac736c65657070726576696577aa726571756573745f696404a76368616e67657390a966616c6c6261"
            "636b7300a46c65667401a9776f756c645f61736bc2af7761735f696e746572727570746564c2a77365636f6e6473cb3f"
            "e0000000000000a563616c6c7302a6746f6b656e73cd012ca7646f6c6c617273cb0000000000000000a86c6566745f6f66"
            "6600"
        ),
    ),
    (
        protocol.SleepUndone(request_id=7, undone=[protocol.UndoneRun(run_id="r1", undo_id="r2", line="back")]),
        (
            "0000004383a174ab736c656570756e646f6e65aa726571756573745f696407a6756e646f6e659183a672756e5f6964a2"
            "7231a7756e646f5f6964a27232a46c696e65a46261636b"
        ),
    ),
    (
        protocol.Help(request_id=7, text="call"),
        "0000001e83a174a468656c70aa726571756573745f696407a474657874a463616c6c",
    ),
    (
        protocol.MakeBackup(request_id=9),
        "0000001a82a174aa6d616b656261636b7570aa726571756573745f696409",
    ),
    (
        protocol.Backups(9, "/h", [protocol.BackupEntry("memory-1.db", 1.5, 4096, False, True, ["p"], ["r"], 3, 2)]),
        (
            "000000a584a174a76261636b757073aa726571756573745f696409a6666f6c646572a22f68a76261636b7570739189a4"
            "6e616d65ab6d656d6f72792d312e6462a76d6164655f6174cb3ff8000000000000aa73697a655f6279746573cd1000b3"
            "69735f6265666f72655f6d6967726174696f6ec2ac69735f6c6f6f6b65645f6174c3a870726f626c656d7391a170a672"
            "6f7474656e91a172a57475726e7303a8657069736f64657302"
        ),
    ),
    (
        protocol.BackupRestored(9, "memory-1.db", 1.5, 2.5, "/h/k"),
        (
            "0000006886a174ae6261636b7570726573746f726564aa726571756573745f696409a66261636b7570ab6d656d6f7279"
            "2d312e6462ac6d697373696e675f66726f6dcb3ff8000000000000ad6d697373696e675f756e74696ccb400400000000"
            "0000a46b657074a42f682f6b"
        ),
    ),
    (
        protocol.Forget(9, matching="pear", erase=True),
        (
            "000000598aa174a6666f72676574aa726571756573745f696409a26964a0a86d61746368696e67a470656172a56162"
            "6f7574a0a573696e6365a0a5756e74696ca0a76472795f72756ec3a56572617365c3aa6272696e675f6261636bc2"
        ),
    ),
    (
        protocol.Forgotten(
            9,
            True,
            True,
            "",
            1.5,
            [protocol.ForgottenStore("turns", 2, 1)],
            [protocol.ForgottenItem("a", "turn", 1.5, "x")],
            1,
            ["n"],
            3,
            0.5,
        ),
        (
            "000000d28ca174a9666f72676f7474656eaa726571756573745f696409aa69735f6472795f72756ec3a969735f6572"
            "61736564c3aa726563656970745f6964a0a26174cb3ff8000000000000a673746f7265739183a573746f7265a57475"
            "726e73a4676f6e6502a672656d61646501a56974656d739185a26964a161a46b696e64a47475726ea26174cb3ff800"
            "0000000000a474657874a178a969735f72656d616465c2aa6974656d5f636f756e7401a56e6f74657391a16eaa746f"
            "6d6273746f6e657303a77365636f6e6473cb3fe0000000000000"
        ),
    ),
    (
        protocol.AskWellbeing(request_id=9),
        "0000002683a174ac61736b77656c6c6265696e67aa726571756573745f696409a8657863657270747303",
    ),
    (
        protocol.Wellbeing(
            request_id=9,
            now=1.5,
            thoughts=3,
            thoughts_by_week=[0, 3],
            indicators=[
                protocol.Indicator(
                    kind="distress",
                    what="w",
                    occurrences=1,
                    days=1,
                    first_at=1.5,
                    last_at=1.5,
                    weeks=[0, 1],
                    per_100_thoughts=2.0,
                    per_100_thoughts_lately=2.0,
                    is_consistent=False,
                    excerpts=[protocol.Excerpt(1.5, "t", "settled")],
                )
            ],
            trips=[
                protocol.TripTold(
                    happened_at=1.5,
                    source="monologue",
                    action="interrupt",
                    reason="loop_detected",
                    severity="medium",
                    explanation="e",
                    response_taken="r",
                    snapshot="s",
                )
            ],
            trips_by_reason={"loop_detected": 1},
        ),
        (
            "000001da88a174a977656c6c6265696e67aa726571756573745f696409a36e6f77cb3ff8000000000000a874686f75676874"
            "7303b074686f75676874735f62795f7765656b920003aa696e64696361746f7273918ba46b696e64a86469737472657373a4"
            "77686174a177ab6f6363757272656e63657301a46461797301a866697273745f6174cb3ff8000000000000a76c6173745f61"
            "74cb3ff8000000000000a57765656b73920001b07065725f3130305f74686f7567687473cb4000000000000000b77065725f"
            "3130305f74686f75676874735f6c6174656c79cb4000000000000000ad69735f636f6e73697374656e74c2a8657863657270"
            "74739183ab68617070656e65645f6174cb3ff8000000000000a474657874a174ad74686f756768745f656e646564a7736574"
            "746c6564a574726970739188ab68617070656e65645f6174cb3ff8000000000000a6736f75726365a96d6f6e6f6c6f677565"
            "a6616374696f6ea9696e74657272757074a6726561736f6ead6c6f6f705f6465746563746564a87365766572697479a66d65"
            "6469756dab6578706c616e6174696f6ea165ae726573706f6e73655f74616b656ea172a8736e617073686f74a173af747269"
            "70735f62795f726561736f6e81ad6c6f6f705f646574656374656401"
        ),
    ),
    (
        protocol.SleepAnswered(request_id=8, run_id="r1", line="dropped"),
        (
            "0000003484a174ad736c656570616e737765726564aa726571756573745f696408a672756e5f6964a27231a46c696e65"
            "a764726f70706564"
        ),
    ),
    (
        protocol.AskContradictions(request_id=9, with_settled=False),
        ("0000002f83a174b161736b636f6e74726164696374696f6e73aa726571756573745f696409ac776974685f736574746c6564c2"),
    ),
    (
        protocol.SettleContradiction(request_id=9, conflict_id="c0", keep="both"),
        (
            "0000003c84a174b3736574746c65636f6e74726164696374696f6eaa726571756573745f696409ab636f6e666c696374"
            "5f6964a26330a46b656570a4626f7468"
        ),
    ),
    (
        protocol.Contradictions(
            request_id=9,
            contradictions=[
                protocol.Contradiction(
                    conflict_id="c0",
                    kind="update",
                    reason="why",
                    earlier=protocol.ClaimSaid(
                        quote="I live in Lisbon.", speaker="Ana", said_at=1.5, origin="owner", turn_id="t1"
                    ),
                    later=protocol.ClaimSaid(
                        quote="I live in Lisbon.", speaker="Ana", said_at=1.5, origin="owner", turn_id="t1"
                    ),
                    settled="",
                )
            ],
        ),
        (
            "0000010883a174ae636f6e74726164696374696f6e73aa726571756573745f696409ae636f6e74726164696374696f6e"
            "739186ab636f6e666c6963745f6964a26330a46b696e64a6757064617465a6726561736f6ea3776879a76561726c6965"
            "7285a571756f7465b149206c69766520696e204c6973626f6e2ea7737065616b6572a3416e61a7736169645f6174cb3f"
            "f8000000000000a66f726967696ea56f776e6572a77475726e5f6964a27431a56c6174657285a571756f7465b149206c"
            "69766520696e204c6973626f6e2ea7737065616b6572a3416e61a7736169645f6174cb3ff8000000000000a66f726967"
            "696ea56f776e6572a77475726e5f6964a27431a7736574746c6564a0"
        ),
    ),
    (
        protocol.Search(request_id=9, query="tea", since="May", explain=True),
        (
            "0000003a86a174a6736561726368aa726571756573745f696409a57175657279a3746561a56c696d69740aa573"
            "696e6365a34d6179a76578706c61696ec3"
        ),
    ),
    (
        protocol.AskWhy(request_id=10, episode_id="e1", cue="tea"),
        ("0000002c84a174a661736b776879aa726571756573745f69640aaa657069736f64655f6964a26531a3637565a3746561"),
    ),
    (
        protocol.AskTimeline(request_id=11, since="last spring"),
        (
            "0000003b85a174ab61736b74696d656c696e65aa726571756573745f69640ba573696e6365ab6c617374207370"
            "72696e67a5756e74696ca0a56c696d697428"
        ),
    ),
    (
        protocol.AskNeighbourhood(request_id=12, around="e1"),
        (
            "0000003685a174b061736b6e65696768626f7572686f6f64aa726571756573745f69640ca661726f756e64a265"
            "31a3637565a0a56c696d697418"
        ),
    ),
    (
        protocol.AskContext(request_id=13),
        ("0000002b83a174aa61736b636f6e74657874aa726571756573745f69640daf636f6e766572736174696f6e5f6964a0"),
    ),
    (
        protocol.AskSelf(request_id=14),
        "0000001782a174a761736b73656c66aa726571756573745f69640e",
    ),
    (
        protocol.AskSelfHistory(request_id=15),
        "0000002583a174ae61736b73656c66686973746f7279aa726571756573745f69640fa56c696d697414",
    ),
    (
        protocol.EditSelf(request_id=16, field="values", text="care"),
        ("0000002f84a174a86564697473656c66aa726571756573745f696410a56669656c64a676616c756573a474657874a463617265"),
    ),
    (
        protocol.RevertSelf(request_id=17, number=2),
        "0000002283a174aa72657665727473656c66aa726571756573745f696411a66e756d62657202",
    ),
    (
        protocol.Timeline(1, [], 0, None, None, protocol.TimelineGap(1.5, "long")),
        (
            "0000006e87a174a874696d656c696e65aa726571756573745f696401a76d6f6d656e747390ad6561726c696572"
            "5f636f756e7400a573696e6365c0a5756e74696cc0ab6c617374696e675f67617082a77365636f6e6473cb3ff8"
            "000000000000ac7369676e69666963616e6365a46c6f6e67"
        ),
    ),
    (
        protocol.Neighbourhood(1, "t", [], [protocol.GraphTie("a", "b", "causal", 0.5, True)], 0),
        (
            "0000007f86a174ad6e65696768626f7572686f6f64aa726571756573745f696401a57469746c65a174a56e6f64"
            "657390a4746965739185a866697273745f6964a161a97365636f6e645f6964a162a474797065a663617573616c"
            "a8737472656e677468cb3fe0000000000000ab69735f6469726563746564c3a86c6566745f6f757400"
        ),
    ),
    (
        protocol.SelfModelShown(
            1, [protocol.SelfField("values", True, [protocol.SelfStatement("care", True)])], [], 1.5, 1
        ),
        (
            "0000008486a174ae73656c666d6f64656c73686f776eaa726571756573745f696401a66669656c64739183a46e"
            "616d65a676616c756573a769735f6c697374c3aa73746174656d656e74739182a474657874a463617265a96973"
            "5f70696e6e6564c3a77265667573656490aa757064617465645f6174cb3ff8000000000000a76368616e676573"
            "01"
        ),
    ),
    (
        protocol.SelfHistory(
            1, [protocol.SelfChange(1, 1.5, "r", "", True, [protocol.SelfFieldChange("values", [], ["care"])], [])], 1
        ),
        (
            "0000009184a174ab73656c66686973746f7279aa726571756573745f696401a7656e74726965739187a66e756d"
            "62657201a26174cb3ff8000000000000a6726561736f6ea172a672756e5f6964a0a862795f6f776e6572c3a763"
            "68616e6765739183a56669656c64a676616c756573a772656d6f76656490a5616464656491a463617265a86576"
            "6964656e636590a5746f74616c01"
        ),
    ),
    (
        protocol.ToldContext(
            1, "c", 1.5, "m", 4096, 512, 9, "m", [protocol.ContextPart("rules", 9, 0, "be", "")], [], []
        ),
        (
            "000000c68ca174ab746f6c64636f6e74657874aa726571756573745f696401af636f6e766572736174696f6e5f"
            "6964a163a861736b65645f6174cb3ff8000000000000a56d6f64656ca16dae636f6e746578745f746f6b656e73"
            "cd1000ac7265706c795f746f6b656e73cd0200ac746f74616c5f746f6b656e7309aa636f756e7465645f6279a1"
            "6da570617274739185a46e616d65a572756c6573a6746f6b656e7309a662756467657400a474657874a26265a4"
            "6e6f7465a0a86d656d6f7269657390a56e6f74657390"
        ),
    ),
    (
        protocol.ToldContext(
            1,
            "c",
            1.5,
            "m",
            4096,
            512,
            9,
            "m",
            [],
            [],
            [],
            [protocol.RecalledItem("e1", "tea", 0.5, 1.5, "", "", True)],
        ),
        (
            "000001068da174ab746f6c64636f6e74657874aa726571756573745f696401af636f6e766572736174696f6e5f6964a1"
            "63a861736b65645f6174cb3ff8000000000000a56d6f64656ca16dae636f6e746578745f746f6b656e73cd1000ac7265"
            "706c795f746f6b656e73cd0200ac746f74616c5f746f6b656e7309aa636f756e7465645f6279a16da5706172747390a8"
            "6d656d6f7269657390a56e6f74657390a8726563616c6c65649187aa657069736f64655f6964a26531a773756d6d6172"
            "79a3746561a6656e65726779cb3fe0000000000000ab68617070656e65645f6174cb3ff8000000000000a571756f7465"
            "a0ad71756f74655f737065616b6572a0a87761735f746f6c64c3"
        ),
    ),
    (
        looks.why(steps=[], turns=[]),
        (
            "0000027ede001da174a3776879aa726571756573745f696400a3637565aa7468652067617264656eaa65706973"
            "6f64655f6964aa65316162636465663939a773756d6d617279b341646120706c616e732074776f20626564732e"
            "ab68617070656e65645f6174cb41da136400000000a87375726661636564c3a472616e6b02ae73757266616365"
            "645f636f756e7409a56c696d69740aa97468726573686f6c64cb3fa999999999999aa6636f73696e65cb3fd3d7"
            "0a3d70a3d7ac7368617265645f776f72647391a667617264656eab756e6d65745f776f72647391a36f6c64a565"
            "6e74727986aa62795f6d65616e696e67c3a762795f7475726ec3a6636f73696e65cb3fd3d70a3d70a3d7ae7368"
            "6172655f6f665f776f726473cb3fe999999999999aa56d61746368cb3fe3333333333333a6656e65726779cb3f"
            "d999999999999aa8656e7472795f6964aa65306162636465663939ad656e7472795f73756d6d617279b4546865"
            "207065617220747265652073746179732ea5737465707390a873616c69656e6365cb3fe3333333333333a76661"
            "63746f727384a7726563656e6379cb3ff8000000000000a97265736f6e616e6365cb3ff199999999999aa87465"
            "6d706f72616ccb3ff3333333333333ad6163636573736962696c697479cb3fd999999999999aad656e65726779"
            "5f646972656374cb3fe0000000000000ad656e657267795f737072656164cb3fd0000000000000af7368617265"
            "5f6f665f737072656164cb3f947ae147ae147bac656e657267795f77686f6c65cb3fe8000000000000a6656e65"
            "726779cb3fe028f5c28f5c29a57475726e7390a76d697373696e6790a861736b65645f6174cb00000000000000"
            "00a972616e6b5f7468656e00"
        ),
    ),
    (
        protocol.AskConversations(request_id=20, words="tea", limit=50),
        ("0000003184a174b061736b636f6e766572736174696f6e73aa726571756573745f696414a5776f726473a3746561a56c696d697432"),
    ),
    (
        protocol.AskTurns(request_id=21, conversation_id="", before=None, limit=200),
        (
            "0000003985a174a861736b7475726e73aa726571756573745f696415af636f6e766572736174696f6e5f6964a0"
            "a66265666f7265c0a56c696d6974ccc8"
        ),
    ),
    (
        protocol.AskTurns(request_id=21, conversation_id="c1", before=200, limit=100),
        (
            "0000003b85a174a861736b7475726e73aa726571756573745f696415af636f6e766572736174696f6e5f6964a2"
            "6331a66265666f7265ccc8a56c696d697464"
        ),
    ),
    (
        protocol.AskPastWords(request_id=22, words="tea", limit=50),
        "0000002d84a174ac61736b70617374776f726473aa726571756573745f696416a5776f726473a3746561a56c696d697432",
    ),
    (
        protocol.NewConversation(request_id=23),
        "0000001f82a174af6e6577636f6e766572736174696f6eaa726571756573745f696417",
    ),
    (
        protocol.ResumeConversation(request_id=24, conversation_id="c1"),
        (
            "0000003583a174b2726573756d65636f6e766572736174696f6eaa726571756573745f696418af636f6e766572"
            "736174696f6e5f6964a26331"
        ),
    ),
    (
        protocol.TakeBack(request_id=25),
        "0000001882a174a874616b656261636baa726571756573745f696419",
    ),
    (
        protocol.Conversations(
            request_id=1,
            conversations=[
                protocol.PastConversation(
                    conversation_id="c1",
                    began_at=1.5,
                    last_said_at=2.5,
                    source="chat",
                    turns=2,
                    opening="tea?",
                    found="",
                    is_held=True,
                )
            ],
        ),
        (
            "0000009883a174ad636f6e766572736174696f6e73aa726571756573745f696401ad636f6e766572736174696f"
            "6e739188af636f6e766572736174696f6e5f6964a26331a8626567616e5f6174cb3ff8000000000000ac6c6173"
            "745f736169645f6174cb4004000000000000a6736f75726365a463686174a57475726e7302a76f70656e696e67"
            "a47465613fa5666f756e64a0a769735f68656c64c3"
        ),
    ),
    (
        protocol.Turns(
            request_id=1,
            conversation_id="c1",
            turns=[
                protocol.SaidTurn(turn_id="t1", speaker="you", is_owner=True, text="tea", said_at=1.5, is_partial=False)
            ],
            earlier_count=3,
        ),
        (
            "0000008685a174a57475726e73aa726571756573745f696401af636f6e766572736174696f6e5f6964a26331a5"
            "7475726e739186a77475726e5f6964a27431a7737065616b6572a3796f75a869735f6f776e6572c3a474657874"
            "a3746561a7736169645f6174cb3ff8000000000000aa69735f7061727469616cc2ad6561726c6965725f636f75"
            "6e7403"
        ),
    ),
    (
        protocol.PastWords(request_id=1, texts=["tea"]),
        "0000002483a174a970617374776f726473aa726571756573745f696401a5746578747391a3746561",
    ),
    (
        protocol.TakenBack(request_id=1, words="tea"),
        "0000002383a174a974616b656e6261636baa726571756573745f696401a5776f726473a3746561",
    ),
    (
        protocol.Trouble(request_id=0, problems=["The disk is full."]),
        "0000003383a174a774726f75626c65aa726571756573745f696400a870726f626c656d7391b1546865206469736b2069732066756c6c2e",
    ),
    (
        protocol.Switched(request_id=0, conversation_id="c1"),
        "0000002b83a174a87377697463686564aa726571756573745f696400af636f6e766572736174696f6e5f6964a26331",
    ),
    (
        protocol.AskCheckup(request_id=9),
        ("0000001a82a174aa61736b636865636b7570aa726571756573745f696409"),
    ),
    (
        protocol.Checkup(
            request_id=9,
            findings=[protocol.Finding("home-mode", "wrong", "It is open.", "Close it.", "/h", True)],
            looked_at=["the home"],
            not_looked_at=[],
        ),
        (
            "000000a085a174a7636865636b7570aa726571756573745f696409a866696e64696e67739186a56661756c74a9"
            "686f6d652d6d6f6465a87365766572697479a577726f6e67a873656e74656e6365ab4974206973206f70656e2e"
            "a6616476696365a9436c6f73652069742ea57768657265a22f68ab69735f6d656e6461626c65c3a96c6f6f6b65"
            "645f617491a874686520686f6d65ad6e6f745f6c6f6f6b65645f617490"
        ),
    ),
    (
        Say(request_id=7, text="between us", off_record=True),
        ("0000002f84a174a3736179aa726571756573745f696407a474657874aa6265747765656e207573aa6f66665f7265636f7264c3"),
    ),
    (
        protocol.Remember(request_id=9, text="Marta likes tea."),
        ("0000002e83a174a872656d656d626572aa726571756573745f696409a474657874b04d61727461206c696b6573207465612e"),
    ),
    (
        protocol.Remembered(request_id=9, stored=True, episodes=1),
        ("0000002c84a174aa72656d656d6265726564aa726571756573745f696409a673746f726564c3a8657069736f64657301"),
    ),
    (
        protocol.PinEpisode(request_id=9, episode_id="4f2a", is_pinned=True),
        (
            "0000003584a174aa70696e657069736f6465aa726571756573745f696409aa657069736f64655f6964a434663261a969"
            "735f70696e6e6564c3"
        ),
    ),
    (
        protocol.WeighEpisode(request_id=9, episode_id="4f2a", salience=0.5),
        (
            "0000003e84a174ac7765696768657069736f6465aa726571756573745f696409aa657069736f64655f6964a434663261"
            "a873616c69656e6365cb3fe0000000000000"
        ),
    ),
    (
        protocol.EpisodeHeld(
            request_id=9, episode_id="4f2a", summary="Tea.", salience=0.5, accessibility=1.0, is_pinned=False
        ),
        (
            "0000006c87a174ab657069736f646568656c64aa726571756573745f696409aa657069736f64655f6964a434663261a7"
            "73756d6d617279a45465612ea873616c69656e6365cb3fe0000000000000ad6163636573736962696c697479cb3ff000"
            "0000000000a969735f70696e6e6564c2"
        ),
    ),
    (
        protocol.CorrectEpisode(request_id=9, episode_id="4f2a", text="Marta likes tea."),
        (
            "0000004484a174ae636f7272656374657069736f6465aa726571756573745f696409aa657069736f64655f6964a43466"
            "3261a474657874b04d61727461206c696b6573207465612e"
        ),
    ),
    (
        protocol.Imported(request_id=9, stored=3, known_already=2, episodes=1),
        (
            "0000003985a174a8696d706f72746564aa726571756573745f696409a673746f72656403ad6b6e6f776e5f616c726561"
            "647902a8657069736f64657301"
        ),
    ),
    (
        protocol.Imported(request_id=9, stored=3, known_already=2, episodes=1, erased=4),
        (
            "0000004186a174a8696d706f72746564aa726571756573745f696409a673746f72656403ad6b6e6f776e5f616c726561"
            "647902a8657069736f64657301a665726173656404"
        ),
    ),
    (
        protocol.EpisodeCorrected(
            request_id=9, run_id="r1", episode_id="4f2a", new_episode_id="77", replaced=["Marta likes coffee."]
        ),
        (
            "0000006a86a174b0657069736f6465636f72726563746564aa726571756573745f696409a672756e5f6964a27231aa65"
            "7069736f64655f6964a434663261ae6e65775f657069736f64655f6964a23737a87265706c6163656491b34d61727461"
            "206c696b657320636f666665652e"
        ),
    ),
]
"""What stands here never changes within a protocol version: clients that others wrote depend on it."""

_ids = st.integers(1, 2**53)
_texts = st.text(min_size=1, max_size=60).filter(lambda text: text.isprintable())
_turns = st.builds(ImportedTurn, said_at=st.floats(0, 2e9), speaker=_texts, text=_texts)
_requests = st.one_of(
    st.builds(Say, request_id=_ids, text=_texts),
    st.builds(Search, request_id=_ids, query=_texts, limit=st.integers(1, 1000)),
    st.builds(Import, request_id=_ids, source=_texts, turns=st.lists(_turns, max_size=4), is_last=st.booleans()),
)
_items = st.builds(
    RecalledItem,
    episode_id=_texts,
    summary=_texts,
    energy=st.floats(0, 10),
    happened_at=st.floats(0, 2e9),
    quote=_texts,
    quote_speaker=_texts,
    was_told=st.booleans(),
)
_frames = st.one_of(
    st.builds(Token, request_id=_ids, text=_texts),
    st.builds(Recalled, request_id=_ids, items=st.lists(_items, max_size=4)),
)


def unpack(packed: bytes) -> Any:
    """A frame's map as another library reads it."""
    (length,) = struct.unpack(">I", packed[:4])
    assert length == len(packed) - 4
    return msgpack.unpackb(packed[4:])


REQUEST_CLASSES: Final[list[type[Message]]] = [Hello, *protocol.REQUESTS]
FRAME_CLASSES: Final = protocol.leaf_messages(Frame)


@pytest.mark.requirement("R-11", "R-14")
@pytest.mark.parametrize(("message", "golden"), GOLDEN, ids=lambda value: type(value).__name__)
def test_the_bytes_of_a_message_never_change(message: Message, golden: str) -> None:
    assert encode(message).hex() == golden.replace(" ", "")


@pytest.mark.requirement("R-14")
def test_a_request_made_with_plain_msgpack_is_understood() -> None:
    body = msgpack.packb({"t": "say", "request_id": 3, "text": "hello"})
    assert decode_request(body) == Say(request_id=3, text="hello")


@pytest.mark.requirement("R-12")
@given(message=_requests)
def test_a_request_survives_the_wire(message: Request) -> None:
    packed = encode(message)
    assert decode_request(packed[4:]) == message
    assert unpack(packed) == msgspec.to_builtins(message)


@pytest.mark.requirement("R-12")
@given(message=_frames)
def test_a_frame_survives_the_wire(message: Frame) -> None:
    packed = encode(message)
    assert decode_frame(packed[4:]) == message
    assert unpack(packed) == msgspec.to_builtins(message)


@given(data=st.data(), messages=st.lists(_requests, min_size=1, max_size=5))
def test_any_split_of_the_byte_stream_gives_the_same_frames(data: st.DataObject, messages: list[Request]) -> None:
    stream = b"".join(encode(message) for message in messages)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=12))
    edges = [0, *sorted(cuts), len(stream)]
    pieces = [stream[begin:end] for begin, end in pairwise(edges)]
    assert asyncio.run(received(pieces, len(messages))) == messages


async def received(pieces: list[bytes], count: int) -> list[Hello | Request]:
    """What a reader gets while `pieces` arrive one by one."""
    reader = asyncio.StreamReader()

    async def feed() -> None:
        for piece in pieces:
            reader.feed_data(piece)
            await asyncio.sleep(0)
        reader.feed_eof()

    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        tasks.create_task(feed(), name="feed")
        found = [decode_request(await read_body(reader)) for _ in range(count)]
        with pytest.raises(asyncio.IncompleteReadError):
            await read_body(reader)
    return found


def reader_of(stream: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    reader.feed_data(stream)
    reader.feed_eof()
    return reader


def test_the_largest_frame_can_be_sent_and_one_byte_more_is_refused() -> None:
    room = MAX_FRAME_BYTES - len(encode(Token(1, "x" * 70_000))) + 4 + 70_000
    assert len(encode(Token(1, "x" * room))) == MAX_FRAME_BYTES + 4
    with pytest.raises(ProtocolError, match="is larger than"):
        encode(Token(1, "x" * (room + 1)))


@pytest.mark.parametrize("length", [0, MAX_FRAME_BYTES + 1, 2**32 - 1])
async def test_a_length_that_is_not_allowed_is_refused_before_anything_is_read(length: int) -> None:
    with pytest.raises(ProtocolError, match=f"{length} bytes"):
        await read_body(reader_of(struct.pack(">I", length) + b"x" * 64))


async def test_a_stream_that_ends_inside_a_frame_is_no_frame() -> None:
    packed = encode(Say(request_id=1, text="cut"))
    with pytest.raises(asyncio.IncompleteReadError):
        await read_body(reader_of(packed[:-1]))


def test_a_message_that_is_too_large_is_not_sent() -> None:
    turns = [ImportedTurn(said_at=0.0, speaker="a", text="x" * 1_000_000) for _ in range(5)]
    with pytest.raises(ProtocolError, match="larger than"):
        encode(Import(request_id=1, source="s", turns=turns, is_last=True))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (msgpack.packb({"t": "shout", "request_id": 1}), "shout"),
        (msgpack.packb({"request_id": 1}), "t"),
        (msgpack.packb({"t": "say", "request_id": 1}), "text"),
        (msgpack.packb({"t": "say", "request_id": 1, "text": "x", "mood": "odd"}), "mood"),
        (msgpack.packb({"t": "say", "request_id": "1", "text": "x"}), "request_id"),
        (msgpack.packb({"t": "say", "request_id": 0, "text": "x"}), "request_id"),
        (msgpack.packb({"t": "say", "request_id": 2**53 + 1, "text": "x"}), "request_id"),
        (msgpack.packb({"t": "say", "request_id": 1, "text": ""}), "text"),
        (msgpack.packb({"t": "say", "request_id": 1, "text": "x" * 1_000_001}), "text"),
        (msgpack.packb({"t": "consolidate", "request_id": 1, "limit": 0}), "limit"),
        (msgpack.packb(["say", 1, "x"]), "array"),
        (msgpack.packb({"t": "say", "request_id": 1, "text": b"\xff\xfe"}), "text"),
        (b"\xa4\xff\xff\xff\xff", ""),
        (b"\x91" * 100_000, ""),
        (b"\xc1", ""),
        (b"", ""),
    ],
)
def test_what_is_no_request_is_refused_with_a_reason(body: bytes, reason: str) -> None:
    with pytest.raises(ProtocolError, match="could not be read") as refused:
        decode_request(body)
    assert reason in str(refused.value)


@given(body=st.binary(max_size=200))
def test_garbage_is_refused_and_nothing_else_happens(body: bytes) -> None:
    for decode in (decode_request, decode_frame):
        message, refusal = None, ""
        try:
            message = decode(body)
        except ProtocolError as error:
            refusal = str(error)
        assert (message is None) == ("could not be read" in refusal)


def test_every_message_has_a_name_of_its_own() -> None:
    names = [cls.__struct_config__.tag for cls in REQUEST_CLASSES + FRAME_CLASSES]
    assert len(names) == len(set(names))


@pytest.mark.requirement("R-12")
def test_every_message_of_the_module_is_a_request_or_a_frame() -> None:
    joined = set(REQUEST_CLASSES) | set(FRAME_CLASSES)
    tagged = {
        value
        for value in vars(protocol).values()
        if isinstance(value, type)
        and issubclass(value, msgspec.Struct)
        and value.__struct_config__.tag
        and value not in (protocol.Message, protocol.Request, protocol.Frame, protocol.Answer)
    }
    assert tagged == joined


def test_every_request_but_the_greeting_can_be_answered_by_its_id() -> None:
    without_id = [cls.__name__ for cls in REQUEST_CLASSES if "request_id" not in cls.__struct_fields__]
    assert without_id == ["Hello"]
