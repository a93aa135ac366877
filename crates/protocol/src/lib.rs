//! The words every other crate shares: ids, events, conversation content, task states, and the
//! API's method table. Data only: nothing here waits, reads a clock or touches the machine.

#![deny(missing_docs)]

mod agent;
pub mod api;
mod ask;
mod clip;
mod errand;
mod event;
mod front;
mod hook;
mod id;
mod list;
mod mail;
mod message;
mod mode;
mod name;
mod price;
mod rule;
mod slash;
mod task;
mod time;
mod todo;
mod usage;

pub use agent::{AgentSpec, DefinitionId, SkillSpec, Source, Spawns, Taste};
pub use ask::{Ask, AskId, DecidedBy, Decision, Subject};
pub use clip::{Clip, clip_middle};
pub use errand::{Errand, ErrandEnd, ErrandId, ErrandState, ErrandWord};
pub use event::{Compaction, CompactionCause, Entry, Envelope, Event, ModelFault, Retry, TermLimits, Terms, WaitEnd};
pub use front::Front;
pub use hook::{HookAction, HookDialect, HookEvent, HookFailure, HookProgram, HookSpec};
pub use id::{Fence, IdError, MailId, SessionId, TaskId, Turn};
pub use list::{Item, ItemId, ItemStatus, ListName, ListNameError, item_circle};
pub use mail::{Body, Delivery, Origin};
pub use message::{Answer, AnswerStatus, Block, Call, CallId, Effort, Image, StopReason};
pub use mode::{AutopilotStop, Completion, FLEET_DEPLOYED, PlanAction, SessionMode};
pub use name::{Called, Unclear, find_task};
pub use price::{Price, Quote, Quoted};
pub use rule::{PermissionMode, RuleEffect, RuleText};
pub use slash::SlashSpec;
pub use task::{
    Activation, Attempt, Cancel, CancelBy, Evidence, Expects, FailKind, Holder, Isolation, Kind, Limit, Mode, ModelUse,
    Outcome, OuterState, ParkReason, Rest, Run, TaskSpec, TaskState, WaitMode, WrapUp,
};
pub use time::At;
pub use todo::{Blocked, Brought, FleetEnd, FleetTerms, Todo, TodoId, TodoStatus, circle};
pub use usage::{Budget, Cost, Usage};
