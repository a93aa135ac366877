//! Performs the kernel's effects: sessions, turns, tools and their supervisor.
//!
//! The supervisor is the only writer of a session's task state. It commits every decision before publishing it, and
//! owns all running tasks. A failed commit pauses the session and leaves nothing half done.

#![deny(missing_docs)]

mod agent;
mod agent_overrides;
mod agent_selection;
mod api;
mod aside;
mod asks;
mod autopilot;
mod background_commands;
mod bus;
mod call_waits;
mod catalog;
mod client_extensions;
mod command_inspection;
mod command_paths;
mod commands;
mod compact;
mod context_view;
mod conversation;
mod conversation_cut;
mod definition;
mod executors;
mod expectations;
mod external_tasks;
mod file_history;
mod fleet;
mod governor;
mod grants;
mod hooks;
mod instructions;
mod joined_providers;
mod joined_tools;
mod kept_reader;
mod long_calls;
mod mcp_resources;
mod mcp_servers;
mod models;
mod network_gate;
mod permission_check;
mod prepared_agent;
mod prompt;
mod prompt_suggestion;
mod protected_files;
mod redact;
mod remote_run;
mod repeats;
mod roster;
mod run_requests;
mod session;
mod session_context;
mod session_control;
mod session_model;
mod session_title;
mod session_wait;
mod settings;
mod shared_lists;
mod side_question;
mod skill;
pub mod slash;
mod spawn;
mod spools;
mod sql_tables;
mod subagents;
mod supervisor;
mod system_text;
mod task_workspaces;
mod todos;
mod user_shell;
mod watchdog;

pub use agent_overrides::{AgentOverride, AgentOverrides};
pub use bus::{BusMessage, EventBus, Subscription};
pub use catalog::Catalog;
pub use client_extensions::{ClientExtensions, ToolOffer};
pub use command_inspection::{InspectionScope, inspect_command};
pub use command_paths::resolved_redirects;
pub use compact::one_line;
pub use definition::{DefinitionError, definition_of};
pub use expectations::{
    FilePatternError, SchemaError, UnusableExpectation, check_schema, check_usable, schema_mistakes,
};
pub use fleet::{
    FleetError, FleetHandle, FleetLimit, FleetOutcome, FleetQueue, FleetReply, FleetRequest, FleetRunner, FleetSession,
    RequestedFleet, ResultReuse, WantedFleet,
};
pub use governor::{ClosedModel, SpentToday, closed_models, reopen_models};
pub use instructions::{InstructionNotice, InstructionPlaces, Instructions};
pub use joined_providers::JoinedProviders;
pub use joined_tools::JoinedTools;
pub use kernel::Parking;
pub use models::{
    CostGuard, ExpensiveModelAction, ModelResolveError, ModelResolver, ModelSources, SessionModelOnly,
    UnpricedModelPolicy,
};
pub use redact::Redactor;
pub use remote_run::{RUN_ARGUMENT, run_process_main};
pub use session::{Session, SessionOpenError, SessionStart, SessionStatus, acts_for_user};
pub use session_context::{FoundSkills, SkillSource};
pub use session_model::ModelChangeError;
pub use settings::{OutsideFiles, SessionFeatures, SessionSettings};
pub use skill::{TextFileError, read as read_skill, skill_text};
pub use spawn::SpawnBuilder;
pub use spools::{Disk, SpoolLimits, Spools, SystemDisk};
pub use sql_tables::SqlObserver;
pub use store::{NoWriterProbe, WriterPoint, WriterProbe};
pub use subagents::{AgentChoiceError, ExpensiveModel, ModelUseError, StartAgentError};
pub use supervisor::{FleetActivity, InputRejection, Receipt};
pub use system_text::{SectionEdit, SystemEdits, SystemSection, SystemText, SystemTextEditor, SystemTextError};
pub use todos::{TodoEditError, TodoSyncError};
pub use watchdog::WatchdogSettings;
