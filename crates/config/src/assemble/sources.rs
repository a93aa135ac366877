//! Where the settings of sessions come from, besides their options.

use host::Home;

use crate::catalog::RemoteDefinitions;
use crate::env::Env;

/// Where the settings of sessions come from, besides their options: the settings files of the home, of the user and of
/// the project, and the environment.
#[derive(Debug, Clone, Copy)]
pub struct SettingsSources<'a> {
    /// Bosun's home.
    pub home: &'a Home,
    /// The environment.
    pub env: &'a Env,
    /// The fetched definitions of the remote catalogue.
    pub remote: &'a RemoteDefinitions,
}
