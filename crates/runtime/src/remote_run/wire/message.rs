//! What a run and its session send each other.

use kernel::DecidedAsk;
use protocol::{
    Ask, AskDecision, AskId, CallId, Clip, DecidedBy, Envelope, Evidence, HookEvent, ModelFault, TaskId, Timestamp,
    ToolCallRequest, Turn,
};
use serde::{Deserialize, Serialize};
use tools::{ToolError, ToolOutput};

use super::{RunSetup, WireHookEvent, WireInput, WirePolicy};
use crate::governor::{DayBudgetError, PermitOutcome};
use crate::run_requests::{
    AdmissionReply, AdmissionRequest, CallProgress, DigestLines, HoldId, HoldUpdate, TaskProgress, WorkSeal,
    WorkSealError,
};

/// What a run asks of its session. Each has one reply.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(in crate::remote_run) enum WireRequest {
    Submit { inputs: Vec<WireInput> },
    Profile,
    Progress,
    EventsAfter { seq: u64 },
    CallProgress { call: CallId },
    OpenAsk { turn: Turn, ask: Ask },
    AskDecision { call: CallId },
    HasProviderAnswered { model: String },
    TakeCompactionRequest,
    DigestLines { unread: Vec<TaskId> },
    HasHook { event: HookEvent },
    RunHooks { event: WireHookEvent },
    RunStartHooks,
    ReportDeniedStart { reason: String },
    ChangedPaths,
    AdmitCheck { command: String },
    AdmitRequest { bucket: Option<String>, max_concurrent: Option<u32> },
    ReserveDay { micros: u64 },
    RaiseDay { hold: u64, micros: u64 },
    SealWork,
    RunTool { turn: Turn, call: ToolCallRequest },
}

/// What a run tells its session.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(in crate::remote_run) enum WireRunNotice {
    /// The run no longer waits for the reply to this request, which is cancelled.
    Cancel {
        request: u64,
    },
    HoldUpdated {
        hold: u64,
        update: WireHoldUpdate,
    },
    /// The text that the task had before this run.
    InitialText {
        text: String,
    },
    AnswerReset,
    AnswerArrived {
        turn: Turn,
        text: Option<String>,
        tokens: u32,
    },
    /// The run showed a sign of life, or has a good reason for silence.
    Alive,
    /// The run is over; every report has been answered.
    Finished,
    /// The run cannot continue here.
    Failed {
        message: String,
    },
}

/// What a session tells its run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(in crate::remote_run) enum WireSessionNotice {
    /// The first message: what the run needs besides its session.
    Begin {
        setup: Box<RunSetup>,
    },
    /// An event of the run's task was committed.
    Committed {
        event: Box<WireRunEvent>,
    },
    /// A part of the events that a request asked for; its reply comes after the last part.
    EventsPart {
        request: u64,
        events: Vec<WireRunEvent>,
    },
    SlotRegained,
    WrapUp,
    /// A model request of the session was settled.
    Settled,
    /// What calls may do from now on.
    PolicyChanged {
        policy: Box<WirePolicy>,
    },
}

/// An event of the run's task, with the text of another task in it as the model will read it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::remote_run) struct WireRunEvent {
    pub(in crate::remote_run) envelope: Envelope,
    pub(in crate::remote_run) formatted: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(in crate::remote_run) enum WireHoldUpdate {
    AnswerBegan,
    Sent { expected: u64 },
    Answered,
    Failed { fault: ModelFault },
    Spent { used: u64 },
    Dropped,
}

impl From<HoldUpdate> for WireHoldUpdate {
    fn from(update: HoldUpdate) -> WireHoldUpdate {
        match update {
            HoldUpdate::AnswerBegan => WireHoldUpdate::AnswerBegan,
            HoldUpdate::Sent(expected) => WireHoldUpdate::Sent { expected },
            HoldUpdate::Returned(PermitOutcome::Answered) => WireHoldUpdate::Answered,
            HoldUpdate::Returned(PermitOutcome::Failed(fault)) => WireHoldUpdate::Failed { fault },
            HoldUpdate::Spent(used) => WireHoldUpdate::Spent { used },
            HoldUpdate::Dropped => WireHoldUpdate::Dropped,
        }
    }
}

impl From<WireHoldUpdate> for HoldUpdate {
    fn from(update: WireHoldUpdate) -> HoldUpdate {
        match update {
            WireHoldUpdate::AnswerBegan => HoldUpdate::AnswerBegan,
            WireHoldUpdate::Sent { expected } => HoldUpdate::Sent(expected),
            WireHoldUpdate::Answered => HoldUpdate::Returned(PermitOutcome::Answered),
            WireHoldUpdate::Failed { fault } => HoldUpdate::Returned(PermitOutcome::Failed(fault)),
            WireHoldUpdate::Spent { used } => HoldUpdate::Spent(used),
            WireHoldUpdate::Dropped => HoldUpdate::Dropped,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::remote_run) struct WireTaskProgress {
    turns: u32,
    stop_blocks: u32,
    has_busy_children: bool,
}

impl From<TaskProgress> for WireTaskProgress {
    fn from(TaskProgress { turns, stop_blocks, has_busy_children }: TaskProgress) -> WireTaskProgress {
        WireTaskProgress { turns, stop_blocks, has_busy_children }
    }
}

impl From<WireTaskProgress> for TaskProgress {
    fn from(WireTaskProgress { turns, stop_blocks, has_busy_children }: WireTaskProgress) -> TaskProgress {
        TaskProgress { turns, stop_blocks, has_busy_children }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::remote_run) enum WireCallProgress {
    NotAsked,
    Asked,
    Waiting,
    Over,
}

impl From<CallProgress> for WireCallProgress {
    fn from(call: CallProgress) -> WireCallProgress {
        match call {
            CallProgress::NotAsked => WireCallProgress::NotAsked,
            CallProgress::Asked => WireCallProgress::Asked,
            CallProgress::Waiting => WireCallProgress::Waiting,
            CallProgress::Over => WireCallProgress::Over,
        }
    }
}

impl From<WireCallProgress> for CallProgress {
    fn from(call: WireCallProgress) -> CallProgress {
        match call {
            WireCallProgress::NotAsked => CallProgress::NotAsked,
            WireCallProgress::Asked => CallProgress::Asked,
            WireCallProgress::Waiting => CallProgress::Waiting,
            WireCallProgress::Over => CallProgress::Over,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::remote_run) struct WireDecision {
    ask: AskId,
    decision: AskDecision,
    by: DecidedBy,
    call_started: bool,
}

impl From<DecidedAsk> for WireDecision {
    fn from(DecidedAsk { ask, decision, by, call_started }: DecidedAsk) -> WireDecision {
        WireDecision { ask, decision, by, call_started }
    }
}

impl From<WireDecision> for DecidedAsk {
    fn from(WireDecision { ask, decision, by, call_started }: WireDecision) -> DecidedAsk {
        DecidedAsk { ask, decision, by, call_started }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::remote_run) struct WireDigest {
    tasks: Vec<String>,
    todos: Vec<String>,
}

impl From<DigestLines> for WireDigest {
    fn from(DigestLines { tasks, todos }: DigestLines) -> WireDigest {
        WireDigest { tasks, todos }
    }
}

impl From<WireDigest> for DigestLines {
    fn from(WireDigest { tasks, todos }: WireDigest) -> DigestLines {
        DigestLines { tasks, todos }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(in crate::remote_run) enum WireAdmission {
    Admitted { hold: u64 },
    Park { until_at: Timestamp },
}

impl From<AdmissionReply> for WireAdmission {
    fn from(reply: AdmissionReply) -> WireAdmission {
        match reply {
            AdmissionReply::Admitted(HoldId(hold)) => WireAdmission::Admitted { hold },
            AdmissionReply::Park(until_at) => WireAdmission::Park { until_at },
        }
    }
}

impl From<WireAdmission> for AdmissionReply {
    fn from(reply: WireAdmission) -> AdmissionReply {
        match reply {
            WireAdmission::Admitted { hold } => AdmissionReply::Admitted(HoldId(hold)),
            WireAdmission::Park { until_at } => AdmissionReply::Park(until_at),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(in crate::remote_run) enum WireDayReply {
    Reserved { hold: u64 },
    SpentUntil { until_at: Timestamp },
    SpendingUnknown { reason: String },
}

impl From<Result<HoldId, DayBudgetError>> for WireDayReply {
    fn from(reply: Result<HoldId, DayBudgetError>) -> WireDayReply {
        match reply {
            Ok(HoldId(hold)) => WireDayReply::Reserved { hold },
            Err(DayBudgetError::SpentUntil(until_at)) => WireDayReply::SpentUntil { until_at },
            Err(DayBudgetError::SpendingUnknown(reason)) => WireDayReply::SpendingUnknown { reason },
        }
    }
}

impl From<WireDayReply> for Result<HoldId, DayBudgetError> {
    fn from(reply: WireDayReply) -> Result<HoldId, DayBudgetError> {
        match reply {
            WireDayReply::Reserved { hold } => Ok(HoldId(hold)),
            WireDayReply::SpentUntil { until_at } => Err(DayBudgetError::SpentUntil(until_at)),
            WireDayReply::SpendingUnknown { reason } => Err(DayBudgetError::SpendingUnknown(reason)),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(in crate::remote_run) enum WireSealReply {
    NoCheckout,
    Sealed { commit: String, files: Vec<String>, is_whole: bool },
    Failed { folder: String, reason: String },
}

impl From<Result<Option<WorkSeal>, WorkSealError>> for WireSealReply {
    fn from(reply: Result<Option<WorkSeal>, WorkSealError>) -> WireSealReply {
        match reply {
            Ok(None) => WireSealReply::NoCheckout,
            Ok(Some(WorkSeal { commit, files, is_whole })) => WireSealReply::Sealed { commit, files, is_whole },
            Err(WorkSealError { folder, reason }) => WireSealReply::Failed { folder, reason },
        }
    }
}

impl From<WireSealReply> for Result<Option<WorkSeal>, WorkSealError> {
    fn from(reply: WireSealReply) -> Result<Option<WorkSeal>, WorkSealError> {
        match reply {
            WireSealReply::NoCheckout => Ok(None),
            WireSealReply::Sealed { commit, files, is_whole } => Ok(Some(WorkSeal { commit, files, is_whole })),
            WireSealReply::Failed { folder, reason } => Err(WorkSealError { folder, reason }),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(in crate::remote_run) enum WireToolReply {
    Done { text: String, evidence: Vec<Evidence> },
    Refused { text: String },
    Rejected { text: String },
    Failed { reason: String },
}

impl From<Result<ToolOutput, ToolError>> for WireToolReply {
    fn from(reply: Result<ToolOutput, ToolError>) -> WireToolReply {
        match reply {
            Ok(ToolOutput { text, evidence }) => WireToolReply::Done { text: text.into_string(), evidence },
            Err(ToolError::Refused(text)) => WireToolReply::Refused { text },
            Err(ToolError::Rejected(text)) => WireToolReply::Rejected { text },
            Err(ToolError::Failed(source)) => WireToolReply::Failed { reason: source.to_string() },
        }
    }
}

impl From<WireToolReply> for Result<ToolOutput, ToolError> {
    fn from(reply: WireToolReply) -> Result<ToolOutput, ToolError> {
        match reply {
            // The session has clipped the text.
            WireToolReply::Done { text, evidence } => Ok(ToolOutput { text: Clip::new(&text, text.len()), evidence }),
            WireToolReply::Refused { text } => Err(ToolError::Refused(text)),
            WireToolReply::Rejected { text } => Err(ToolError::Rejected(text)),
            WireToolReply::Failed { reason } => Err(ToolError::failed(reason)),
        }
    }
}

impl From<AdmissionRequest> for WireRequest {
    fn from(AdmissionRequest { bucket, max_concurrent }: AdmissionRequest) -> WireRequest {
        WireRequest::AdmitRequest { bucket, max_concurrent }
    }
}
