//! Settings: layers of files, flags and the environment, and which of them are trusted.
//!
//! Only the outermost crates may depend on this one. It fills the settings that the other crates declare, and answers the
//! API's methods about them.

#![deny(missing_docs)]

mod agents;
mod assemble;
mod catalog;
mod config;
mod controls;
mod doctor;
mod edit;
mod env;
mod file;
mod foreign_settings;
mod gather;
mod hook_files;
mod hooks_path;
pub mod import;
mod layers;
mod mcp_servers;
mod methods;
mod notice;
mod origin;
mod permissions;
mod plan;
mod project;
mod provider;
mod read;
mod session_options;
mod session_settings;
mod time;
mod trust;
mod values;
mod variables;

pub use agents::AgentConfig;
pub use assemble::{
    AssembleError, AssembledSettings, FolderAgents, SessionDefinitions, SessionRequest, SettingsSources, StartNotice,
    StartNoticeKind, working_folder,
};
pub use catalog::{
    CatalogListing, CatalogLocations, DefinitionProblem, DescriptionOverflow, FilePosition, HookHolder, HookText,
    InlineDefinitions, ListedAgent, ListedSkill, ListedSlashCommand, LoadedCatalog, Plugin, RemoteCatalog,
    RemoteDefinitions, RemoteState, Severity, built_in_agents, gather_catalog, hook_programs, remote_url,
};
pub use config::Config;
pub use controls::{all_controls, remember_token_file};
pub use doctor::{check_installation, is_git_too_old};
pub use edit::add_model;
pub use env::{CopilotProvider, Env, FAULT, MANAGED, MAX_CONCURRENT, MAX_DEPTH};
pub use file::{
    AgentSettings, BudgetSettings, EnvironmentSettings, ExpensiveModelSetting, FeatureSettings, ForbiddableFeature,
    LimitSettings, ListSettings, ManagedRestrictions, McpSettings, NetworkSettings, OutputSettings, PermissionSettings,
    RetentionSettings, SettingsFile, WorkspaceSettings,
};
pub use gather::{MANAGED_FILE, SettingsLocations};
pub use layers::{SettingsLayer, SettingsLayers};
pub use mcp_servers::{ListedMcpServer, MCP_LOGS, McpServerMatch, McpServerOrigin, McpServerSet, McpServerState};
pub use methods::{
    CollectNote, CollectNotes, ProbeResult, SettingsMethodError, answer_settings_method, catalog_problems,
    catalog_view, closed_models, explanation_view, find_definition, import_result, probe_local_servers, start_command,
};
pub use notice::{NoticeLevel, SettingsNotice};
pub use origin::SettingOrigin;
pub use permissions::{PermissionModeSetting, RuleLine, parse_mode};
pub use plan::{
    FleetPlan, PLAN_SCHEMA, PlanChecker, PlanLimits, PlanShape, PrepareFleetError, PreparedFleet, generate_plan_schema,
    prepare_fleet,
};
pub use project::{Project, local_file};
pub use provider::{ChoosableProvider, DefaultModel, ModelAccess, ModelFile, ProviderError, ProviderFile};
pub use read::ConfigError;
pub use session_options::OptionError;
pub use time::{DurationSetting, parse_time};
pub use trust::{TrustError, TrustStatus, TrustedContents, TrustedHook};
pub use values::SettingValue;
pub use variables::VariablePattern;
