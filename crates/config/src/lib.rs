//! Where settings come from: layers of files, flags and the environment, and which of them are trusted.
//!
//! Nothing below the edge can name this crate. It fills the settings that the other crates declare.

#![deny(missing_docs)]

mod agents;
mod amount;
mod before;
mod catalog;
mod config;
mod controls;
mod edit;
mod env;
mod file;
mod foreign;
mod gather;
mod hooks_path;
pub mod import;
mod layers;
mod notice;
mod origin;
mod permissions;
mod plan;
mod programs;
mod project;
mod provider;
mod read;
mod time;
mod trust;
mod values;
mod variables;

pub use agents::AgentConfig;
pub use amount::{Usd, parse_usd};
pub use catalog::{
    CatalogPlaces, Gathered, Given, HookHolder, HookText, ListedAgent, ListedSkill, ListedSlash, Plugin, Pressure,
    Problem, Remote, RemoteCatalog, RemoteState, Severity, Spot, built_in_agents, gather, hook_programs, remote_of,
};
pub use config::Config;
pub use controls::{all_controls, remember_token_file};
pub use edit::{Added, add_model, add_rule};
pub use env::{CopilotProvider, Env, FAULT, MANAGED, MAX_CONCURRENT, MAX_DEPTH};
pub use file::{
    Agents, Environment, Feature, Features, File, Limits, Lists, Managed, Network, Output, Permissions, Retention,
    Spending, TooDear, Workspace,
};
pub use gather::{Choice, MANAGED_FILE, Places};
pub use layers::{Layer, Layers};
pub use notice::{Notice, Weight};
pub use origin::Origin;
pub use permissions::{Mode, RuleLine, parse_mode};
pub use plan::{Plan, PlanJudge, PlanLimits, PlanShape, plan_schema};
pub use project::{Project, local_file};
pub use provider::{Access, Choosable, DefaultModel, ModelFile, ProviderError, ProviderFile};
pub use read::ConfigError;
pub use time::{Time, parse_time};
pub use trust::{Entrusted, EntrustedHook, Standing, TrustError};
pub use values::Value;
pub use variables::NamePattern;
