//! Tasks that servers do themselves, in both forms of the protocol.

mod created_task;
mod follower;
mod outcome;

pub(crate) use self::created_task::{REQUESTED_TTL_MS, cancel, read_created};
pub(crate) use self::follower::RemoteTaskFollower;
