"""What crosses the socket: every message, the framing, the version.

A frame is 4 bytes of length (big-endian) and one MessagePack map whose `t` names the message. The client sends a
`Hello` first and gets a `Welcome`. From then on each request carries a `request_id` that the client chose (1 or more);
every answer to it carries the same, and `request_id` 0 marks what nobody asked for by itself: what all attached
clients are told. A request ends with its result, or with `Failed`. Any MessagePack library can speak it
(tests/test_protocol.py keeps golden bytes).
"""

from reveries.protocol.backup_frames import (
    BackupEntry as BackupEntry,
)
from reveries.protocol.backup_frames import (
    BackupRestored as BackupRestored,
)
from reveries.protocol.backup_frames import (
    Backups as Backups,
)
from reveries.protocol.backup_frames import (
    MakeBackup as MakeBackup,
)
from reveries.protocol.checkup_frames import (
    Checkup as Checkup,
)
from reveries.protocol.checkup_frames import (
    Finding as Finding,
)
from reveries.protocol.checkup_frames import (
    found as found,
)
from reveries.protocol.frames import (
    Attached as Attached,
)
from reveries.protocol.frames import (
    Config as Config,
)
from reveries.protocol.frames import (
    ConfigApplied as ConfigApplied,
)
from reveries.protocol.frames import (
    Failed as Failed,
)
from reveries.protocol.frames import (
    Imported as Imported,
)
from reveries.protocol.frames import (
    Ok as Ok,
)
from reveries.protocol.frames import (
    Progress as Progress,
)
from reveries.protocol.frames import (
    Recalled as Recalled,
)
from reveries.protocol.frames import (
    RecalledItem as RecalledItem,
)
from reveries.protocol.frames import (
    Remembered as Remembered,
)
from reveries.protocol.frames import (
    Replied as Replied,
)
from reveries.protocol.frames import (
    SaidTurn as SaidTurn,
)
from reveries.protocol.frames import (
    Spoken as Spoken,
)
from reveries.protocol.frames import (
    StateChanged as StateChanged,
)
from reveries.protocol.frames import (
    Stored as Stored,
)
from reveries.protocol.frames import (
    Token as Token,
)
from reveries.protocol.frames import (
    Welcome as Welcome,
)
from reveries.protocol.framing import (
    ByteReader as ByteReader,
)
from reveries.protocol.framing import (
    Frame as Frame,
)
from reveries.protocol.framing import (
    decode_frame as decode_frame,
)
from reveries.protocol.framing import (
    decode_request as decode_request,
)
from reveries.protocol.framing import (
    encode as encode,
)
from reveries.protocol.framing import (
    read_body as read_body,
)
from reveries.protocol.looking_frames import (
    ContextMemory as ContextMemory,
)
from reveries.protocol.looking_frames import (
    ContextPart as ContextPart,
)
from reveries.protocol.looking_frames import (
    GraphNode as GraphNode,
)
from reveries.protocol.looking_frames import (
    GraphTie as GraphTie,
)
from reveries.protocol.looking_frames import (
    Neighbourhood as Neighbourhood,
)
from reveries.protocol.looking_frames import (
    SelfChange as SelfChange,
)
from reveries.protocol.looking_frames import (
    SelfEvidence as SelfEvidence,
)
from reveries.protocol.looking_frames import (
    SelfField as SelfField,
)
from reveries.protocol.looking_frames import (
    SelfFieldChange as SelfFieldChange,
)
from reveries.protocol.looking_frames import (
    SelfHistory as SelfHistory,
)
from reveries.protocol.looking_frames import (
    SelfModelShown as SelfModelShown,
)
from reveries.protocol.looking_frames import (
    SelfStatement as SelfStatement,
)
from reveries.protocol.looking_frames import (
    Timeline as Timeline,
)
from reveries.protocol.looking_frames import (
    TimelineGap as TimelineGap,
)
from reveries.protocol.looking_frames import (
    TimelineMoment as TimelineMoment,
)
from reveries.protocol.looking_frames import (
    ToldContext as ToldContext,
)
from reveries.protocol.looking_frames import (
    TurnReason as TurnReason,
)
from reveries.protocol.looking_frames import (
    Why as Why,
)
from reveries.protocol.looking_frames import (
    WhyEntry as WhyEntry,
)
from reveries.protocol.looking_frames import (
    WhyFactors as WhyFactors,
)
from reveries.protocol.looking_frames import (
    WhyLink as WhyLink,
)
from reveries.protocol.looking_frames import (
    WhyStep as WhyStep,
)
from reveries.protocol.looking_frames import (
    WhyTurn as WhyTurn,
)
from reveries.protocol.looking_requests import (
    AskContext as AskContext,
)
from reveries.protocol.looking_requests import (
    AskNeighbourhood as AskNeighbourhood,
)
from reveries.protocol.looking_requests import (
    AskSelf as AskSelf,
)
from reveries.protocol.looking_requests import (
    AskSelfHistory as AskSelfHistory,
)
from reveries.protocol.looking_requests import (
    AskTimeline as AskTimeline,
)
from reveries.protocol.looking_requests import (
    AskWhy as AskWhy,
)
from reveries.protocol.looking_requests import (
    EditSelf as EditSelf,
)
from reveries.protocol.looking_requests import (
    LookRequest as LookRequest,
)
from reveries.protocol.looking_requests import (
    RevertSelf as RevertSelf,
)
from reveries.protocol.memory_frames import (
    EpisodeDetail as EpisodeDetail,
)
from reveries.protocol.memory_frames import (
    ExemplarDetail as ExemplarDetail,
)
from reveries.protocol.memory_frames import (
    Found as Found,
)
from reveries.protocol.memory_frames import (
    FoundEpisode as FoundEpisode,
)
from reveries.protocol.memory_frames import (
    FoundOnDisk as FoundOnDisk,
)
from reveries.protocol.memory_frames import (
    FoundTurn as FoundTurn,
)
from reveries.protocol.memory_frames import (
    LinkDetail as LinkDetail,
)
from reveries.protocol.memory_frames import (
    MemoryStats as MemoryStats,
)
from reveries.protocol.message import (
    MAX_FRAME_BYTES as MAX_FRAME_BYTES,
)
from reveries.protocol.message import (
    MAX_TEXT_CHARS as MAX_TEXT_CHARS,
)
from reveries.protocol.message import (
    PROTOCOL_VERSION as PROTOCOL_VERSION,
)
from reveries.protocol.message import (
    Message as Message,
)
from reveries.protocol.message import (
    RequestId as RequestId,
)
from reveries.protocol.message import (
    Text as Text,
)
from reveries.protocol.model_frames import (
    AnswerCount as AnswerCount,
)
from reveries.protocol.model_frames import (
    HostedOffer as HostedOffer,
)
from reveries.protocol.model_frames import (
    ModelPrice as ModelPrice,
)
from reveries.protocol.model_frames import (
    ModelProbe as ModelProbe,
)
from reveries.protocol.model_frames import (
    ModelsOverview as ModelsOverview,
)
from reveries.protocol.model_frames import (
    ModelsProbed as ModelsProbed,
)
from reveries.protocol.model_frames import (
    ModelUse as ModelUse,
)
from reveries.protocol.model_frames import (
    OllamaOffer as OllamaOffer,
)
from reveries.protocol.model_frames import (
    RoleUse as RoleUse,
)
from reveries.protocol.model_frames import (
    UsageLimit as UsageLimit,
)
from reveries.protocol.model_frames import (
    UsageReport as UsageReport,
)
from reveries.protocol.model_frames import (
    UsageToday as UsageToday,
)
from reveries.protocol.model_frames import (
    UsedDay as UsedDay,
)
from reveries.protocol.model_frames import (
    UsedModel as UsedModel,
)
from reveries.protocol.model_frames import (
    WeightsOffer as WeightsOffer,
)
from reveries.protocol.requests import (
    AnswerSleep as AnswerSleep,
)
from reveries.protocol.requests import (
    ApplyConfig as ApplyConfig,
)
from reveries.protocol.requests import (
    AskCheckup as AskCheckup,
)
from reveries.protocol.requests import (
    AskConfig as AskConfig,
)
from reveries.protocol.requests import (
    AskContradictions as AskContradictions,
)
from reveries.protocol.requests import (
    AskMemory as AskMemory,
)
from reveries.protocol.requests import (
    AskModels as AskModels,
)
from reveries.protocol.requests import (
    AskNotes as AskNotes,
)
from reveries.protocol.requests import (
    AskSleepLog as AskSleepLog,
)
from reveries.protocol.requests import (
    AskStatus as AskStatus,
)
from reveries.protocol.requests import (
    AskThoughts as AskThoughts,
)
from reveries.protocol.requests import (
    AskUsage as AskUsage,
)
from reveries.protocol.requests import (
    Attach as Attach,
)
from reveries.protocol.requests import (
    Cancel as Cancel,
)
from reveries.protocol.requests import (
    Consolidate as Consolidate,
)
from reveries.protocol.requests import (
    ControlThinking as ControlThinking,
)
from reveries.protocol.requests import (
    Detach as Detach,
)
from reveries.protocol.requests import (
    DismissNote as DismissNote,
)
from reveries.protocol.requests import (
    Hello as Hello,
)
from reveries.protocol.requests import (
    Import as Import,
)
from reveries.protocol.requests import (
    ImportedTurn as ImportedTurn,
)
from reveries.protocol.requests import (
    Inspect as Inspect,
)
from reveries.protocol.requests import (
    InspectSleep as InspectSleep,
)
from reveries.protocol.requests import (
    MarkThought as MarkThought,
)
from reveries.protocol.requests import (
    NudgeThinking as NudgeThinking,
)
from reveries.protocol.requests import (
    Observe as Observe,
)
from reveries.protocol.requests import (
    PreviewSleep as PreviewSleep,
)
from reveries.protocol.requests import (
    ProbeModels as ProbeModels,
)
from reveries.protocol.requests import (
    Remember as Remember,
)
from reveries.protocol.requests import (
    Request as Request,
)
from reveries.protocol.requests import (
    Say as Say,
)
from reveries.protocol.requests import (
    Search as Search,
)
from reveries.protocol.requests import (
    SettleContradiction as SettleContradiction,
)
from reveries.protocol.requests import (
    Sleep as Sleep,
)
from reveries.protocol.requests import (
    UndoSleep as UndoSleep,
)
from reveries.protocol.safety_frames import (
    AskWellbeing as AskWellbeing,
)
from reveries.protocol.safety_frames import (
    Excerpt as Excerpt,
)
from reveries.protocol.safety_frames import (
    Help as Help,
)
from reveries.protocol.safety_frames import (
    Indicator as Indicator,
)
from reveries.protocol.safety_frames import (
    TripTold as TripTold,
)
from reveries.protocol.safety_frames import (
    Wellbeing as Wellbeing,
)
from reveries.protocol.sleep_frames import (
    ChangedEpisode as ChangedEpisode,
)
from reveries.protocol.sleep_frames import (
    ClaimSaid as ClaimSaid,
)
from reveries.protocol.sleep_frames import (
    Contradiction as Contradiction,
)
from reveries.protocol.sleep_frames import (
    Contradictions as Contradictions,
)
from reveries.protocol.sleep_frames import (
    NewLink as NewLink,
)
from reveries.protocol.sleep_frames import (
    SleepAnswered as SleepAnswered,
)
from reveries.protocol.sleep_frames import (
    SleepChange as SleepChange,
)
from reveries.protocol.sleep_frames import (
    SleepLog as SleepLog,
)
from reveries.protocol.sleep_frames import (
    SleepPreview as SleepPreview,
)
from reveries.protocol.sleep_frames import (
    SleepRun as SleepRun,
)
from reveries.protocol.sleep_frames import (
    SleepRunDetail as SleepRunDetail,
)
from reveries.protocol.sleep_frames import (
    SleepUndone as SleepUndone,
)
from reveries.protocol.sleep_frames import (
    UndoneRun as UndoneRun,
)
from reveries.protocol.status_frames import (
    Status as Status,
)
from reveries.protocol.talk_frames import (
    AskConversations as AskConversations,
)
from reveries.protocol.talk_frames import (
    AskPastWords as AskPastWords,
)
from reveries.protocol.talk_frames import (
    AskTurns as AskTurns,
)
from reveries.protocol.talk_frames import (
    Conversations as Conversations,
)
from reveries.protocol.talk_frames import (
    NewConversation as NewConversation,
)
from reveries.protocol.talk_frames import (
    PastConversation as PastConversation,
)
from reveries.protocol.talk_frames import (
    PastWords as PastWords,
)
from reveries.protocol.talk_frames import (
    ResumeConversation as ResumeConversation,
)
from reveries.protocol.talk_frames import (
    Switched as Switched,
)
from reveries.protocol.talk_frames import (
    TakeBack as TakeBack,
)
from reveries.protocol.talk_frames import (
    TakenBack as TakenBack,
)
from reveries.protocol.talk_frames import (
    TalkRequest as TalkRequest,
)
from reveries.protocol.talk_frames import (
    Turns as Turns,
)
from reveries.protocol.thought_frames import (
    Consolidated as Consolidated,
)
from reveries.protocol.thought_frames import (
    Note as Note,
)
from reveries.protocol.thought_frames import (
    Notes as Notes,
)
from reveries.protocol.thought_frames import (
    ThinkingControlled as ThinkingControlled,
)
from reveries.protocol.thought_frames import (
    ThoughtBegan as ThoughtBegan,
)
from reveries.protocol.thought_frames import (
    ThoughtEnded as ThoughtEnded,
)
from reveries.protocol.thought_frames import (
    ThoughtEntry as ThoughtEntry,
)
from reveries.protocol.thought_frames import (
    ThoughtMarked as ThoughtMarked,
)
from reveries.protocol.thought_frames import (
    Thoughts as Thoughts,
)
from reveries.protocol.thought_frames import (
    ThoughtToken as ThoughtToken,
)
