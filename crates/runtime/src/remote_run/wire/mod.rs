//! The messages between a run and its session as data. They are flat, and used for nothing else: every type converts to
//! and from the one that the code on either side works with.

mod hook;
mod message;
mod models;
mod policy;
mod rejection;
mod report;
mod session_tool;
mod setup;

pub(super) use hook::{WireHookEvent, WireVerdict};
#[cfg(test)]
pub(super) use message::WireHoldUpdate;
pub(super) use message::{
    WireAdmission, WireCallProgress, WireDayReply, WireDecision, WireDigest, WireRequest, WireRunEvent, WireRunNotice,
    WireSealReply, WireSessionNotice, WireTaskProgress, WireToolReply,
};
pub(super) use policy::WirePolicy;
pub(super) use rejection::{WireOutcome, WireRefusal};
pub(super) use report::WireInput;
pub(super) use session_tool::was_judged_rightly;
pub(super) use setup::{RunSetup, RunSetupError, SetupParts, WireProfile};
