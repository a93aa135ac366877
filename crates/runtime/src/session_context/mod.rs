//! What the tasks of a session share, in four parts, and what belongs to the session itself.

mod agent_catalog;
mod facts;
mod joined_catalog;
mod session_log;
mod session_skills;
mod shared;
mod task_memory;
mod workplace;

pub(crate) use agent_catalog::{AgentCatalog, OutsideTools};
pub(crate) use facts::SessionFacts;
pub(crate) use session_log::SessionLog;
pub(crate) use session_skills::SessionSkills;
pub use session_skills::{FoundSkills, SkillSource};
pub(crate) use shared::{OpenedParts, SessionContext};
pub(crate) use task_memory::TaskMemory;
pub(crate) use workplace::Workplace;
