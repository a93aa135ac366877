//! Turns the options of a session, the settings files and the environment into the settings of the runtime. Nothing here
//! prints: what the user should know is returned.

mod error;
mod folder_agents;
mod folders;
mod layers;
mod models;
mod notice;
mod settings;
mod sources;

pub use error::AssembleError;
pub use folder_agents::FolderAgents;
pub use folders::working_folder;
pub(crate) use models::ConfiguredModelSet;
pub use notice::{StartNotice, StartNoticeKind};
pub use settings::{AssembledSettings, SessionDefinitions, SessionRequest};
pub use sources::SettingsSources;
