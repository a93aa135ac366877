//! The API's methods that depend on the user's settings, environment and machine. Every edge answers them from here: the
//! command line, HTTP and the adapters. Nothing here prints.

mod answer;
mod catalog;
mod checkouts;
mod collect;
mod error;
mod explain;
mod explanation_view;
mod import;
mod mcp_servers;
mod models;
mod settings;
mod trust;

pub use answer::answer_settings_method;
pub use catalog::{catalog_problems, catalog_view, find_definition};
pub use collect::{CollectNote, CollectNotes};
pub use error::SettingsMethodError;
pub use explanation_view::explanation_view;
pub use import::import_result;
pub use models::{ProbeResult, closed_models, probe_local_servers, start_command};
