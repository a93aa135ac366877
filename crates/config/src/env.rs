//! Every environment variable that Bosun reads, in one place.
//!
//! Two more are read elsewhere. The guardian sets `BOSUN_JOB` for every program it starts, to recognise those that
//! leave their process group.
//!
//! `BOSUN_RECORD` tells the guardian the file in which it records the running programs.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use net::{NetworkRoute, Secret};

use crate::file::{LimitSettings, SettingsFile};
use crate::import::Product;
use crate::layers::SettingsLayer;
use crate::origin::SettingOrigin;
use crate::provider::{self, ProviderFile};
use crate::read::ConfigError;
use crate::variables::HiddenVariables;

/// Where Bosun keeps its sessions; `~/.bosun` when unset.
const HOME: &str = "BOSUN_HOME";

/// An additional managed settings file.
pub const MANAGED: &str = "BOSUN_MANAGED";

/// The model to use, such as `anthropic/claude-sonnet-5-5`; `--model` overrides it.
const MODEL: &str = "BOSUN_MODEL";

/// The log level: `error`, `warn`, `info` or `debug`; `warn` when unset.
const LOG: &str = "BOSUN_LOG";

/// For durability tests: the point at which the process kills itself, such as `before-commit:7`.
pub const FAULT: &str = "BOSUN_FAULT";

/// Maximum number of agents that run at once; overrides `limits.live`.
pub const MAX_CONCURRENT: &str = "BOSUN_SUBAGENT_MAX_CONCURRENT";

/// Maximum nesting depth of agents; overrides `limits.depth`.
pub const MAX_DEPTH: &str = "BOSUN_SUBAGENT_MAX_DEPTH";

/// The key of the provider `anthropic`.
pub(crate) const ANTHROPIC_KEY: &str = "ANTHROPIC_API_KEY";

/// The key of the providers `openai` and `openai-chat`.
pub(crate) const OPENAI_KEY: &str = "OPENAI_API_KEY";

/// The address of the provider `anthropic`, without `/v1`.
pub(crate) const ANTHROPIC_URL: &str = "ANTHROPIC_BASE_URL";

/// The address of the providers `openai` and `openai-chat`, with `/v1`.
pub(crate) const OPENAI_URL: &str = "OPENAI_BASE_URL";

/// The address of the provider `ollama`, in Ollama's own format.
pub(crate) const OLLAMA_HOST: &str = "OLLAMA_HOST";

/// The token that clients of an adapter on a port must send first.
const CONNECTION_TOKEN: &str = "COPILOT_CONNECTION_TOKEN";

/// The address of the model of Copilot SDK sessions, if the client sets none.
const COPILOT_URL: &str = "COPILOT_PROVIDER_BASE_URL";

/// Its protocol: `openai`, `azure` or `anthropic`.
const COPILOT_TYPE: &str = "COPILOT_PROVIDER_TYPE";

/// Its key.
const COPILOT_KEY: &str = "COPILOT_PROVIDER_API_KEY";

/// Its key as a bearer token.
const COPILOT_BEARER: &str = "COPILOT_PROVIDER_BEARER_TOKEN";

/// The folder of the user's configuration; `.config` in the user's home folder when unset.
const CONFIG_FOLDER: &str = "XDG_CONFIG_HOME";

/// Its name.
const COPILOT_MODEL: &str = "COPILOT_MODEL";

/// The user folders of other products, if not the default ones.
const CLAUDE_FOLDER: &str = "CLAUDE_CONFIG_DIR";
const COPILOT_FOLDER: &str = "COPILOT_HOME";
const CODEX_FOLDER: &str = "CODEX_HOME";

/// Set by CI services.
const CI: &str = "CI";

/// Variables with keys, whether Bosun uses them or not.
const KEY_VARIABLES: [&str; 6] =
    [ANTHROPIC_KEY, OPENAI_KEY, "ANTHROPIC_AUTH_TOKEN", COPILOT_BEARER, CONNECTION_TOKEN, "COPILOT_SDK_AUTH_TOKEN"];

/// The provider for Copilot SDK sessions that the environment names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopilotProvider {
    /// Its address.
    pub base_url: String,
    /// Its protocol, as the SDK names it.
    pub kind: Option<String>,
    /// Its key.
    pub key: Option<Secret>,
    /// Its key as a bearer token.
    pub bearer: Option<Secret>,
    /// The model to use.
    pub model: Option<String>,
}

/// The environment at process start.
#[derive(Debug, Clone, Default)]
pub struct Env {
    /// Bosun's home; `None` if neither `BOSUN_HOME` nor `HOME` is set.
    pub home: Option<PathBuf>,
    /// The user's home folder.
    pub user_home: Option<PathBuf>,
    /// An additional managed settings file.
    pub managed: Option<PathBuf>,
    /// The model to use.
    pub model: Option<String>,
    /// The log level.
    pub log: Option<String>,
    /// For tests: the point at which the process kills itself.
    pub fault: Option<String>,
    vars: EnvVariables,
}

/// All variables. Their values must not be shown.
#[derive(Clone, Default)]
struct EnvVariables(Vec<(OsString, OsString)>);

impl fmt::Debug for EnvVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} variables", self.0.len())
    }
}

impl Env {
    /// Reads the environment.
    pub fn read() -> Env {
        Env::from(std::env::vars_os().collect::<Vec<_>>())
    }

    /// The settings among the variables, as layers.
    pub(crate) fn layers(&self) -> Result<Vec<SettingsLayer>, ConfigError> {
        let live = self.number(MAX_CONCURRENT, 1)?;
        let depth = self.number(MAX_DEPTH, 0)?;
        let limits = [
            (MAX_CONCURRENT, LimitSettings { live, ..LimitSettings::default() }),
            (MAX_DEPTH, LimitSettings { depth, ..LimitSettings::default() }),
        ];
        let limits =
            limits.into_iter().map(|(name, limits)| (name, SettingsFile { limits, ..SettingsFile::default() }));
        let model = SettingsFile { model: self.model.clone(), ..SettingsFile::default() };
        let relocated = provider::relocated(self).map(|(variable, name, url)| {
            let relocated = ProviderFile { base_url: Some(url), ..ProviderFile::default() };
            (variable, SettingsFile { providers: [(name.to_owned(), relocated)].into(), ..SettingsFile::default() })
        });
        let all = std::iter::once((MODEL, model)).chain(limits).chain(relocated);
        Ok(all.map(|(variable, file)| SettingsLayer { origin: SettingOrigin::Variable(variable), file }).collect())
    }

    /// The number in a variable, which must be at least `min`.
    fn number(&self, variable: &'static str, min: u32) -> Result<Option<u32>, ConfigError> {
        const MAX_VALUE: u32 = 4096;
        let Some(text) = self.text(variable) else { return Ok(None) };
        let number = text.trim().parse().ok().filter(|number| (min..=MAX_VALUE).contains(number));
        number.map(Some).ok_or(ConfigError::Variable { variable, least: min, most: MAX_VALUE })
    }

    /// The proxies and certificates named by the usual variables; the lower-case spelling wins.
    pub fn network_route(&self) -> NetworkRoute {
        let either = |lower: &str, upper: &str| self.text(lower).or_else(|| self.text(upper));
        let all = || either("all_proxy", "ALL_PROXY");
        NetworkRoute {
            http_proxy: either("http_proxy", "HTTP_PROXY").or_else(all),
            https_proxy: either("https_proxy", "HTTPS_PROXY").or_else(all),
            no_proxy: either("no_proxy", "NO_PROXY"),
            ca_file: self.vars.get("SSL_CERT_FILE").map(PathBuf::from),
            ca_dir: self.vars.get("SSL_CERT_DIR").map(PathBuf::from),
        }
    }

    /// Whether output may have colours (`NO_COLOR` is unset or empty).
    pub fn allows_colour(&self) -> bool {
        self.vars.get("NO_COLOR").is_none()
    }

    /// Whether the terminal has no cursor control (`TERM` is unset or `dumb`).
    pub fn has_dumb_terminal(&self) -> bool {
        self.text("TERM").is_none_or(|term| term == "dumb")
    }

    /// Whether the process runs in a CI service (`CI`), even if that provides a terminal.
    pub fn is_ci(&self) -> bool {
        self.text(CI).is_some_and(|text| !matches!(text.as_str(), "false" | "0"))
    }

    /// The user folder of another product, if a variable names it.
    pub fn folder_of(&self, product: Product) -> Option<PathBuf> {
        let variable = match product {
            Product::Claude => CLAUDE_FOLDER,
            Product::Copilot => COPILOT_FOLDER,
            Product::Codex => CODEX_FOLDER,
        };
        self.vars.get(variable).map(PathBuf::from)
    }

    /// Sets a key that the user typed, as if the variable contained it.
    pub fn set_key(&mut self, variable: &str, key: &str) {
        self.vars.0.retain(|(name, _)| name != variable);
        self.vars.0.push((variable.into(), key.into()));
    }

    /// The token that clients of an adapter on a port must send first.
    pub fn connection_token(&self) -> Option<String> {
        self.text(CONNECTION_TOKEN)
    }

    /// The folder of the user's configuration; none if `HOME` is not set either.
    pub fn config_folder(&self) -> Option<PathBuf> {
        let own = || self.user_home.as_ref().map(|home| home.join(".config"));
        self.vars.get(CONFIG_FOLDER).map(PathBuf::from).filter(|path| path.is_absolute()).or_else(own)
    }

    /// The value of a variable, unless it is unset or empty.
    pub fn text(&self, name: &str) -> Option<String> {
        self.vars.text(name)
    }

    /// The names of the non-empty variables with this prefix.
    pub fn names_with_prefix(&self, prefix: &str) -> Vec<&str> {
        let set = self.vars.0.iter().filter(|(_, value)| !value.is_empty());
        set.filter_map(|(name, _)| name.to_str()).filter(|name| name.starts_with(prefix)).collect()
    }

    /// The key in a variable.
    pub fn key(&self, variable: &str) -> Option<Secret> {
        let text = self.text(variable)?;
        let key = text.trim();
        (!key.is_empty()).then(|| Secret::new(key).found_in(variable))
    }

    /// The provider for Copilot SDK sessions, if the environment names one.
    pub fn copilot_provider(&self) -> Option<CopilotProvider> {
        Some(CopilotProvider {
            base_url: self.text(COPILOT_URL)?,
            kind: self.text(COPILOT_TYPE),
            key: self.key(COPILOT_KEY),
            bearer: self.key(COPILOT_BEARER),
            model: self.text(COPILOT_MODEL),
        })
    }

    /// Every variable with a key: the well-known ones, and those named in settings.
    pub(crate) fn key_variables(named: BTreeSet<String>) -> BTreeSet<String> {
        KEY_VARIABLES.into_iter().map(str::to_owned).chain(named).collect()
    }

    /// The environment of started programs: without hidden variables, with those that settings add.
    pub(crate) fn for_programs(&self, hidden: &HiddenVariables<'_>) -> Vec<(OsString, OsString)> {
        let set = hidden.assignments();
        let stays = |name: &OsString| {
            let name = name.to_string_lossy();
            !hidden.hides(&name) && !set.contains_key(name.as_ref())
        };
        let inherited = self.vars.0.iter().filter(|(name, _)| stays(name)).cloned();
        inherited.chain(set.iter().map(|(name, value)| (name.into(), value.into()))).collect()
    }

    /// The values that must never be written.
    pub(crate) fn secrets(&self, hidden: &HiddenVariables<'_>) -> Vec<Secret> {
        let names = self.vars.0.iter().map(|(name, _)| name.to_string_lossy());
        names.filter(|name| hidden.is_secret(name)).filter_map(|name| self.key(&name)).collect()
    }
}

impl EnvVariables {
    fn get(&self, name: &str) -> Option<OsString> {
        self.0.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.clone())
    }

    fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(|value| value.to_string_lossy().into_owned())
    }
}

impl From<Vec<(OsString, OsString)>> for Env {
    fn from(vars: Vec<(OsString, OsString)>) -> Env {
        let vars = EnvVariables(vars);
        let path = |name| vars.get(name).map(PathBuf::from);
        let user = path("HOME");
        Env {
            home: path(HOME).or_else(|| user.as_ref().map(|user| user.join(".bosun"))),
            managed: path(MANAGED),
            user_home: user,
            model: vars.text(MODEL),
            log: vars.text(LOG),
            fault: vars.text(FAULT),
            vars,
        }
    }
}

#[cfg(test)]
impl Env {
    pub(crate) fn from_pairs(vars: &[(&str, &str)]) -> Env {
        Env::from(vars.iter().map(|(key, value)| (key.into(), value.into())).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::EnvironmentSettings;

    #[test]
    fn bosun_home_defaults_to_a_folder_in_the_user_home() {
        assert_eq!(Env::from_pairs(&[("HOME", "/h"), ("BOSUN_HOME", "/b")]).home, Some("/b".into()));
        assert_eq!(Env::from_pairs(&[("HOME", "/h"), ("BOSUN_HOME", "")]).home, Some("/h/.bosun".into()));
        assert_eq!(Env::from_pairs(&[]).home, None);
    }

    #[test]
    fn product_folders_come_from_their_variables() {
        let env = Env::from_pairs(&[("CODEX_HOME", "/c"), ("COPILOT_HOME", "")]);
        assert_eq!(env.folder_of(Product::Codex), Some("/c".into()));
        assert_eq!((env.folder_of(Product::Copilot), env.folder_of(Product::Claude)), (None, None));
    }

    #[test]
    fn programs_inherit_no_sdk_tokens() {
        let env = Env::from_pairs(&[
            ("COPILOT_CONNECTION_TOKEN", "1"),
            ("COPILOT_GITHUB_TOKEN", "2"),
            ("COPILOT_PROVIDER_API_KEY", "3"),
            ("COPILOT_PROVIDER_BEARER_TOKEN", "4"),
            ("COPILOT_SDK_AUTH_TOKEN", "5"),
            ("CLAUDE_CODE_OAUTH_TOKEN", "6"),
            ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "7"),
        ]);
        let hidden = HiddenVariables { keys: &Env::key_variables(BTreeSet::new()), settings: &[] };
        let names: Vec<_> = env.for_programs(&hidden).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["CLAUDE_CODE_MAX_OUTPUT_TOKENS"]);
    }

    #[test]
    fn settings_override_the_environment_of_programs() {
        let env = Env::from_pairs(&[("NODE_ENV", "production"), ("PATH", "/bin")]);
        let layer = |value: &str| EnvironmentSettings {
            set: [("NODE_ENV".to_owned(), value.to_owned())].into(),
            ..EnvironmentSettings::default()
        };
        let got =
            |settings: &[EnvironmentSettings]| env.for_programs(&HiddenVariables { keys: &BTreeSet::new(), settings });
        let path: (OsString, OsString) = ("PATH".into(), "/bin".into());
        assert_eq!(got(&[layer("test"), layer("weaker")]), [path.clone(), ("NODE_ENV".into(), "test".into())]);
        let hides: SettingsFile = toml::from_str("[environment]\nhide = ['NODE_*']").unwrap();
        assert_eq!(got(&[hides.environment, layer("weaker")]), [path]);
    }

    #[test]
    fn programs_inherit_neither_keys_nor_bosun_variables() {
        let env = Env::from_pairs(&[
            ("PATH", "/bin"),
            ("BOSUN_FAULT", "before-commit:1"),
            ("BOSUN_HOME", "/b"),
            ("ANTHROPIC_API_KEY", "sk-1"),
            ("ANTHROPIC_AUTH_TOKEN", "sk-2"),
            ("SEARCH_API_KEY", "sk-3"),
            ("GATEWAY_KEY", "sk-4"),
            ("NPM_TOKEN", "sk-5"),
            ("MAPS_API_KEY", "sk-6"),
            ("HTTPS_PROXY", "http://proxy"),
        ]);
        assert_eq!(env.fault.as_deref(), Some("before-commit:1"));
        let file: SettingsFile = toml::from_str("[environment]\nhide = ['*_TOKEN']\npass = ['MAPS_API_KEY']").unwrap();
        let keys = Env::key_variables(BTreeSet::from(["GATEWAY_KEY".to_owned()]));
        let hidden = HiddenVariables { keys: &keys, settings: &[file.environment] };
        let names: Vec<_> = env.for_programs(&hidden).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["PATH", "MAPS_API_KEY", "HTTPS_PROXY"]);
        let secrets = env.secrets(&hidden);
        assert_eq!(
            secrets.iter().map(Secret::reveal).collect::<Vec<_>>(),
            ["sk-1", "sk-2", "sk-3", "sk-4", "sk-5", "sk-6"]
        );
        assert!(!format!("{env:?}").contains("sk-"));
    }

    #[test]
    fn the_network_route_comes_from_the_usual_variables() {
        let route = Env::from_pairs(&[
            ("ALL_PROXY", "http://all"),
            ("HTTPS_PROXY", "http://upper"),
            ("https_proxy", "http://lower"),
            ("NO_PROXY", "internal"),
            ("SSL_CERT_FILE", "/ca.pem"),
        ])
        .network_route();
        assert_eq!(
            (route.http_proxy.as_deref(), route.https_proxy.as_deref()),
            (Some("http://all"), Some("http://lower"))
        );
        assert_eq!(
            (route.no_proxy.as_deref(), route.ca_file, route.ca_dir),
            (Some("internal"), Some("/ca.pem".into()), None)
        );
        assert_eq!(Env::from_pairs(&[("http_proxy", "")]).network_route(), NetworkRoute::default());
    }
}
