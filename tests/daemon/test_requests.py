"""The registry of requests: each has a handler, and its properties are declared with its message."""

import typing

from reveries import protocol
from reveries.daemon import requests
from reveries.daemon.requests.registry import handled_requests
from reveries.protocol.checkup import modules_in

_OF_THE_SERVER = {protocol.Cancel}
"""Cancel is handled by the server; no handler gets it."""
modules_in(requests)  # The folder is the list: each module registers its handlers.


def test_every_request_has_a_handler() -> None:
    assert set(handled_requests()) | _OF_THE_SERVER == set(protocol.REQUESTS)


def test_a_handler_returns_the_answer_that_its_request_names() -> None:
    """None: it sends the answer itself, before something else happens."""
    wrong = {
        message.__name__: returned
        for message, handler in handled_requests().items()
        if (returned := typing.get_type_hints(handler)["return"]) not in (protocol.REQUESTS[message].answer, type(None))
    }
    assert not wrong


def test_a_request_that_changes_memory_or_asks_a_model_is_not_answered_in_safe_mode() -> None:
    changes = {
        protocol.ApplyConfig, protocol.Import, protocol.Remember, protocol.PinEpisode, protocol.WeighEpisode,
        protocol.CorrectEpisode, protocol.CorrectImport, protocol.ImportVisioneer, protocol.Forget,
        protocol.Consolidate, protocol.PreviewSleep, protocol.UndoSleep,
        protocol.AnswerSleep, protocol.SettleContradiction, protocol.ControlThinking, protocol.NudgeThinking,
        protocol.ReleaseThinking, protocol.MarkThought, protocol.DismissNote, protocol.EditSelf, protocol.RevertSelf,
        protocol.NewConversation, protocol.ResumeConversation, protocol.TakeBack, protocol.ProbeModels,
        protocol.AskModels, protocol.Observe, protocol.Cancel, protocol.CreateProject, protocol.SetGoal,
        protocol.ChangeProject, protocol.AddMaterial, protocol.RetractChunk, protocol.RevertOrientation,
        protocol.AnswerQuestion, protocol.WorkNow, protocol.RequestWork, protocol.WatchWork,
        protocol.DecideProposals, protocol.AddTask, protocol.EditTask, protocol.MoveTask, protocol.DropTasks,
        protocol.FinishTask, protocol.RestoreRelation, protocol.SettleProjectConflict, protocol.SetProjectFolder,
        protocol.UndoTask, protocol.WriteDraft, protocol.DropDraft, protocol.DecideFactConflict,
        protocol.DecideWish, protocol.GiveGrant, protocol.RevokeGrant, protocol.CallTool, protocol.AskToolServers,
        protocol.AddDocument, protocol.AwaitDocuments, protocol.AskPageImage, protocol.RetryDocument,
        protocol.RemoveDocument,
    }  # fmt: skip
    assert {kind for kind, rules in protocol.REQUESTS.items() if not rules.is_safe} == changes
