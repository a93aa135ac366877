//! Which MCP servers a session has, and why it does not have the others.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use host::Home;
use mcp::{
    DefinedMcpServer, LoginStore, McpAddress, McpLogins, McpOAuthSettings, McpProgram, McpRevision, McpServerDefiner,
    McpServerSettings, McpServersConfig, OAuthGrant,
};
use net::{NetworkRoute, Secret};
use protocol::{HookAction, McpOAuthGrant, McpOAuthSpec, McpServerKind, McpServerSpec, Refusal, SessionOptions};
use url::Url;

use super::definition::{McpServerDefinition, McpServerOrigin};
use super::expand::VariableExpander;
use super::json_file::ServerFile;
use crate::catalog::CatalogListing;
use crate::env::Env;
use crate::file::ForbiddableFeature;
use crate::hook_files;
use crate::layers::SettingsLayers;
use crate::origin::SettingOrigin;
use crate::read::MAX_SETTINGS_BYTES;
use crate::trust::TrustStatus;

/// The project's file of MCP servers, relative to its top.
pub(crate) const PROJECT_FILE: &str = ".mcp.json";

/// The folder of the servers' logs in Bosun's home.
pub const MCP_LOGS: &str = "logs/mcp";

/// The longest name of a server, in characters: it is a part of its tools' names, which are at most 64 long.
const MAX_NAME_CHARS: usize = 40;

/// The most servers of one session.
const MAX_SERVERS: usize = 64;

/// The servers that are defined for a session.
#[derive(Debug, Clone, Default)]
pub struct McpServerSet {
    /// The servers, sorted by name.
    pub servers: Vec<ListedMcpServer>,
    /// What is wrong with the files that define servers.
    pub problems: Vec<String>,
}

/// A server that is defined for a session.
#[derive(Debug, Clone)]
pub struct ListedMcpServer {
    /// Its name.
    pub name: String,
    /// What defines it.
    pub origin: McpServerOrigin,
    /// Its program with arguments, or its URL, as written.
    pub address: String,
    /// Whether the session has it.
    pub state: McpServerState,
}

/// Whether a session has a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpServerState {
    /// It is started when an agent needs it.
    Ready(McpServerSettings),
    /// It is left out on purpose, with its settings, or why it could not be used.
    Disabled(Result<McpServerSettings, String>),
    /// It cannot be used, for this reason.
    Unusable(String),
}

impl McpServerSet {
    /// The servers that may be used.
    pub fn ready(&self) -> impl Iterator<Item = &McpServerSettings> {
        self.servers.iter().filter_map(|server| match &server.state {
            McpServerState::Ready(settings) => Some(settings),
            McpServerState::Disabled(_) | McpServerState::Unusable(_) => None,
        })
    }

    /// The servers that may be used, or could be if they were switched on.
    fn startable(&self) -> impl Iterator<Item = &McpServerSettings> {
        self.servers.iter().filter_map(|server| match &server.state {
            McpServerState::Ready(settings) | McpServerState::Disabled(Ok(settings)) => Some(settings),
            McpServerState::Disabled(Err(_)) | McpServerState::Unusable(_) => None,
        })
    }

    /// What a session needs to use the servers. Programs get `env`; their error output, and the
    /// user's logins, are kept in `home`.
    pub fn config(
        &self,
        env: &[(OsString, OsString)],
        route: NetworkRoute,
        cwd: &Path,
        home: &Home,
    ) -> McpServersConfig {
        McpServersConfig {
            servers: self.servers.iter().map(ListedMcpServer::defined).collect(),
            env: env.to_vec(),
            route,
            roots: vec![cwd.to_owned()],
            logs: Some(home.root().join(MCP_LOGS)),
            logins: McpLogins { store: Some(LoginStore::new(home.clone())), ..McpLogins::default() },
            ..McpServersConfig::default()
        }
    }

    /// What a user should know about the servers when a session starts.
    pub(crate) fn notices(&self) -> impl Iterator<Item = String> {
        let unusable = self.servers.iter().filter_map(|server| match &server.state {
            McpServerState::Unusable(why) => Some(format!("the MCP server `{}` is not used: {why}", server.name)),
            McpServerState::Ready(_) | McpServerState::Disabled(_) => None,
        });
        self.problems.iter().cloned().chain(unusable)
    }

    /// The values that must never be written: headers, and variables, that are not in the file itself.
    pub(crate) fn secrets(&self, home: &Home) -> Vec<Secret> {
        let of_logins = LoginStore::new(home.clone()).secrets();
        self.startable().flat_map(McpServerSettings::secrets).cloned().chain(of_logins).collect()
    }
}

impl ListedMcpServer {
    /// The server as a session has it.
    fn defined(&self) -> DefinedMcpServer {
        let ListedMcpServer { name, origin, address, state } = self;
        let (is_enabled, settings) = match state.clone() {
            McpServerState::Ready(settings) => (true, Ok(settings)),
            McpServerState::Disabled(settings) => (false, settings),
            McpServerState::Unusable(why) => (true, Err(why)),
        };
        DefinedMcpServer {
            name: name.clone(),
            scope: origin.scope(),
            origin: origin.to_string(),
            address: address.clone(),
            agent: origin.agent().map(str::to_owned),
            is_enabled,
            settings,
        }
    }
}

impl SettingsLayers {
    /// The MCP servers of a session in this folder, with those of its agents and plugins. Fails if the options name a
    /// file that cannot be used.
    pub fn mcp_servers(
        &self,
        options: &SessionOptions,
        env: &Env,
        cwd: &Path,
        catalog: &CatalogListing,
    ) -> Result<McpServerSet, Refusal> {
        let mut set = McpServerSet::default();
        let mut definitions = option_definitions(options, cwd, &mut set.problems)?;
        if !options.only_these_mcp_servers {
            definitions.extend(self.file_definitions(&mut set.problems));
            definitions.extend(catalog.plugin_servers.iter().cloned());
        }
        for definition in definitions.iter_mut().filter(|it| options.disabled_mcp_servers.contains(&it.name)) {
            definition.spec.disabled = true;
        }
        definitions.extend(catalog.agent_servers());
        let check = ServerCheck { layers: self, env, cwd };
        for definition in definitions {
            let is_same = |server: &ListedMcpServer| {
                server.name == definition.name && server.origin.agent() == definition.origin.agent()
            };
            if set.servers.iter().any(is_same) {
                // A stronger origin defines it.
                continue;
            }
            let state = match set.ready().count() < MAX_SERVERS {
                true => check.state_of(&definition),
                false => McpServerState::Unusable(format!("a session has at most {MAX_SERVERS} servers")),
            };
            if definition.spec.sampling && definition.origin.is_project() {
                let name = &definition.name;
                set.problems.push(format!("`{name}`: `sampling` has no effect; only your own settings can allow it"));
            }
            set.servers.push(listed(definition, state));
        }
        set.servers.sort_by(|a, b| (&a.name, a.origin.agent()).cmp(&(&b.name, b.origin.agent())));
        Ok(set)
    }

    /// The definitions in files, strongest first.
    fn file_definitions(&self, problems: &mut Vec<String>) -> Vec<McpServerDefinition> {
        let project = self.project_file(problems);
        let mut definitions = Vec::new();
        let stronger = |origin: &SettingOrigin| origin.rank() <= SettingOrigin::Project(PathBuf::new()).rank();
        let of_layers = |wanted: bool, definitions: &mut Vec<McpServerDefinition>| {
            for layer in self.layers.iter().filter(|layer| stronger(&layer.origin) == wanted) {
                let servers = layer.file.mcp.servers.iter();
                definitions.extend(servers.map(|(name, spec)| McpServerDefinition {
                    name: name.clone(),
                    spec: spec.clone(),
                    origin: McpServerOrigin::Settings(layer.origin.clone()),
                }));
            }
        };
        of_layers(true, &mut definitions);
        definitions.extend(project);
        of_layers(false, &mut definitions);
        definitions
    }

    /// The definitions in the project's file. They are programs, so they count only if the project is trusted.
    fn project_file(&self, problems: &mut Vec<String>) -> Vec<McpServerDefinition> {
        let path = self.project.dir.join(PROJECT_FILE);
        if !self.reads_project_files || path.symlink_metadata().is_err() {
            return Vec::new();
        }
        let why = match self.trust {
            TrustStatus::Trusted => None,
            TrustStatus::Changed => Some("the project has changed since you trusted it"),
            TrustStatus::Untrusted => Some("you have not trusted the project"),
        };
        if let Some(why) = why {
            problems.push(format!("{}: ignored, since {why}; `bosun trust` shows more", path.display()));
            return Vec::new();
        }
        let text = match host::read_below(&self.project.dir, Path::new(PROJECT_FILE), MAX_SETTINGS_BYTES) {
            Ok(bytes) => String::from_utf8(bytes.unwrap_or_default()).map_err(|_| "it is not UTF-8 text".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        match text.and_then(|text| ServerFile::parse(&text)) {
            Ok(file) => {
                let origin = McpServerOrigin::Settings(SettingOrigin::Project(path.clone()));
                definitions_of(file, &path.display().to_string(), &origin, problems)
            }
            Err(why) => {
                problems.push(format!("{}: {why}", path.display()));
                Vec::new()
            }
        }
    }
}

/// The servers that a project's files define, as commands that hooks would run: their files are trusted with them.
pub(crate) fn project_server_commands(top: &Path) -> Vec<HookAction> {
    let mut specs = Vec::new();
    if let Ok(Some(bytes)) = host::read_below(top, Path::new(PROJECT_FILE), MAX_SETTINGS_BYTES)
        && let Ok(file) = ServerFile::parse(&String::from_utf8_lossy(&bytes))
    {
        specs.extend(file.servers.into_values());
    }
    if let Ok(Some(file)) = crate::file::SettingsFile::read_below(top, crate::project::CONFIG) {
        specs.extend(file.mcp.servers.into_values());
    }
    specs.iter().filter_map(|spec| trusted_command(spec, top)).collect()
}

/// A server's program as the user sees it when trusting the project: variables have their defaults, since a session may
/// be started with others.
pub(crate) fn trusted_command(spec: &McpServerSpec, top: &Path) -> Option<HookAction> {
    let value = |name: &str| ["CLAUDE_PROJECT_DIR", "PWD"].contains(&name).then(|| top.display().to_string());
    as_command(&expand(spec, &mut VariableExpander::new(&value)))
}

/// Checks the servers that clients add to a running session.
#[derive(Debug)]
pub(crate) struct SessionServerDefiner {
    pub(crate) layers: SettingsLayers,
    pub(crate) env: Env,
    pub(crate) cwd: PathBuf,
}

impl McpServerDefiner for SessionServerDefiner {
    fn define(&self, servers: &BTreeMap<String, McpServerSpec>) -> Vec<DefinedMcpServer> {
        let check = ServerCheck { layers: &self.layers, env: &self.env, cwd: &self.cwd };
        let define = |(name, spec): (&String, &McpServerSpec)| {
            let origin = McpServerOrigin::Settings(SettingOrigin::Flag);
            let definition = McpServerDefinition { name: name.clone(), spec: spec.clone(), origin };
            let state = check.state_of(&definition);
            let server = listed(definition, state).defined();
            DefinedMcpServer { origin: "the session's client".into(), ..server }
        };
        servers.iter().map(define).collect()
    }
}

fn listed(definition: McpServerDefinition, state: McpServerState) -> ListedMcpServer {
    let address = shown_address(&definition.spec);
    ListedMcpServer { name: definition.name, origin: definition.origin, address, state }
}

/// A server's program as the command of a hook, whose files are known.
fn as_command(spec: &McpServerSpec) -> Option<HookAction> {
    let words = spec.command.iter().chain(&spec.args);
    let quoted: Vec<String> = words.map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    let cwd = spec.cwd.as_ref().map(|cwd| cwd.display().to_string());
    let env = spec.env.clone();
    (!quoted.is_empty()).then(|| HookAction::Command { command: quoted.join(" "), cwd, env })
}

/// The definitions in options.
fn option_definitions(
    options: &SessionOptions,
    cwd: &Path,
    problems: &mut Vec<String>,
) -> Result<Vec<McpServerDefinition>, Refusal> {
    let origin = McpServerOrigin::Settings(SettingOrigin::Flag);
    let typed = options.mcp_servers.iter().map(|(name, spec)| McpServerDefinition {
        name: name.clone(),
        spec: spec.clone(),
        origin: origin.clone(),
    });
    let mut definitions: Vec<McpServerDefinition> = typed.collect();
    // Of several sources, the last one that defines a name counts.
    for source in options.mcp_sources.iter().rev() {
        let (place, text) = match source.trim_start().starts_with('{') {
            true => ("--mcp-config".to_owned(), source.clone()),
            false => (source.clone(), read_source(&cwd.join(source))?),
        };
        let file = ServerFile::parse(&text).map_err(|why| Refusal::new(format!("{place}: {why}")))?;
        definitions.extend(definitions_of(file, &place, &origin, problems));
    }
    Ok(definitions)
}

fn read_source(path: &Path) -> Result<String, Refusal> {
    let failed = |why: String| Refusal::new(format!("--mcp-config: {}: {why}", path.display()));
    match host::read_plain(path, MAX_SETTINGS_BYTES) {
        Ok(Some(bytes)) => String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8 text".into())),
        Ok(None) => Err(failed("there is no such file".into())),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn definitions_of(
    file: ServerFile,
    place: &str,
    origin: &McpServerOrigin,
    problems: &mut Vec<String>,
) -> Vec<McpServerDefinition> {
    if !file.unused_keys.is_empty() {
        problems.push(format!("{place}: these keys have no effect: {}", file.unused_keys.join(", ")));
    }
    let servers = file.servers.into_iter();
    servers.map(|(name, spec)| McpServerDefinition { name, spec, origin: origin.clone() }).collect()
}

/// How a server is reached, as written: variables are not expanded, since they may be keys.
fn shown_address(spec: &McpServerSpec) -> String {
    match &spec.url {
        Some(url) => url.clone(),
        None => spec.command.iter().chain(&spec.args).cloned().collect::<Vec<_>>().join(" "),
    }
}

/// Checks definitions.
struct ServerCheck<'a> {
    layers: &'a SettingsLayers,
    env: &'a Env,
    cwd: &'a Path,
}

impl ServerCheck<'_> {
    fn state_of(&self, definition: &McpServerDefinition) -> McpServerState {
        match self.settings_of(definition) {
            settings if definition.spec.disabled => McpServerState::Disabled(settings),
            Ok(settings) => McpServerState::Ready(settings),
            Err(why) => McpServerState::Unusable(why),
        }
    }

    fn settings_of(&self, definition: &McpServerDefinition) -> Result<McpServerSettings, String> {
        let McpServerDefinition { name, spec, origin } = definition;
        if let Some(managed) = self.layers.forbidden_by(ForbiddableFeature::Mcp) {
            return Err(format!("{} forbids MCP servers", managed.display()));
        }
        if name.is_empty() || name.chars().count() > MAX_NAME_CHARS || name.chars().any(char::is_control) {
            return Err(format!("its name must have 1 to {MAX_NAME_CHARS} characters"));
        }
        let value = |name: &str| origin.variable(name).or_else(|| self.env.text(name));
        let mut expander = VariableExpander::new(&value);
        let expanded = expand(spec, &mut expander);
        let missing = expander.missing();
        if !missing.is_empty() {
            let names = missing.into_iter().collect::<Vec<_>>().join(", ");
            return Err(format!("these variables are not set: {names}; write ${{NAME:-default}} for a default"));
        }
        self.require_allowed(name, &expanded)?;
        let address = self.address_of(spec, &expanded, origin)?;
        let seconds = |time: Option<protocol::Seconds>| time.map(|time| time.0).filter(|time| !time.is_zero());
        Ok(McpServerSettings {
            name: name.clone(),
            address,
            start_timeout: seconds(spec.start_timeout_seconds).unwrap_or(McpServerSettings::START_TIMEOUT),
            call_timeout: seconds(spec.call_timeout_seconds).unwrap_or(McpServerSettings::CALL_TIMEOUT),
            task_timeout: seconds(spec.task_timeout_seconds).unwrap_or(McpServerSettings::TASK_TIMEOUT),
            tools: spec.tools.clone().filter(|tools| !tools.iter().any(|tool| tool == "*")),
            denied_tools: spec.disabled_tools.clone(),
            revision: expanded.protocol_version.as_deref().map(revision_of).transpose()?,
            sampling: spec.sampling && !origin.is_project(),
        })
    }

    /// Fails if an administrator denies the server, or allows only others.
    fn require_allowed(&self, name: &str, spec: &McpServerSpec) -> Result<(), String> {
        for layer in &self.layers.layers {
            let Some(managed) = &layer.file.managed else { continue };
            let by = &layer.origin;
            if managed.deny_mcp.iter().any(|entry| entry.matches(name, spec)) {
                return Err(format!("{by} denies it"));
            }
            if let Some(allowed) = &managed.allow_mcp
                && !allowed.iter().any(|entry| entry.matches(name, spec))
            {
                return Err(format!("{by} does not allow it"));
            }
        }
        Ok(())
    }

    /// How a server is reached; `written` is its definition before its variables were expanded.
    fn address_of(
        &self,
        written: &McpServerSpec,
        spec: &McpServerSpec,
        origin: &McpServerOrigin,
    ) -> Result<McpAddress, String> {
        let secrets = |values: &BTreeMap<String, String>| {
            values.iter().map(|(name, value)| (name.clone(), Secret::new(value))).collect()
        };
        match (spec.kind, &spec.command, &spec.url) {
            (Some(McpServerKind::Sse), ..) => {
                Err("its transport `sse` is not supported; ask for its address with `http`".into())
            }
            (None | Some(McpServerKind::Stdio), Some(command), None) => {
                let cwd = self.folder_of(spec, origin);
                let pinned = match origin.is_project() {
                    true => self.pinned_files(written, spec, &cwd)?,
                    false => Vec::new(),
                };
                let (command, args, env) = (command.clone(), spec.args.clone(), secrets(&spec.env));
                Ok(McpAddress::Program(McpProgram { command, args, env, cwd, pinned }))
            }
            (None | Some(McpServerKind::Http), None, Some(url)) => {
                let is_http = Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
                match is_http {
                    true => Ok(McpAddress::Url {
                        url: url.clone(),
                        headers: secrets(&spec.headers),
                        oauth: Box::new(spec.oauth.as_ref().map(oauth_settings).unwrap_or_default()),
                    }),
                    false => Err("its `url` is not an address that begins with http:// or https://".into()),
                }
            }
            (Some(McpServerKind::Stdio), None, _) => Err("it has no `command`".into()),
            (Some(McpServerKind::Http), _, None) => Err("it has no `url`".into()),
            (_, None, None) => Err("it has neither `command` nor `url`".into()),
            (_, Some(_), Some(_)) => Err("it has both `command` and `url`".into()),
        }
    }

    /// The folder that a program runs in. Relative folders of a project's files begin at the project's top.
    fn folder_of(&self, spec: &McpServerSpec, origin: &McpServerOrigin) -> PathBuf {
        let base = if origin.is_project() { &self.layers.project.dir } else { self.cwd };
        spec.cwd.as_ref().map_or_else(|| base.to_owned(), |cwd| base.join(cwd))
    }

    /// The project's files that a server runs, with their digests. Fails if trust does not cover one of them.
    fn pinned_files(
        &self,
        written: &McpServerSpec,
        spec: &McpServerSpec,
        cwd: &Path,
    ) -> Result<Vec<(PathBuf, String)>, String> {
        let top = &self.layers.project.dir;
        let trusted = trusted_command(written, top).map(|action| project_files(&action, top)).unwrap_or_default();
        let Some(action) = as_command(spec) else { return Ok(Vec::new()) };
        let files = hook_files::files_run(&action, top, None).into_iter().map(|file| file.full_path(cwd));
        let pin = |path: PathBuf| match trusted.contains(&path) {
            true => Ok((path.clone(), hooks::program_digest(&path))),
            false => Err(format!(
                "its variables make it run {}, which trust does not cover; write that path without variables",
                path.display()
            )),
        };
        files.filter(|path| path.starts_with(top)).map(pin).collect()
    }
}

/// The files of a project that a command of it runs.
fn project_files(action: &HookAction, top: &Path) -> BTreeSet<PathBuf> {
    let HookAction::Command { cwd, .. } = action else { return BTreeSet::new() };
    let folder = cwd.as_ref().map_or_else(|| top.to_owned(), |cwd| top.join(cwd));
    hook_files::files_run(action, top, None).into_iter().map(|file| file.full_path(&folder)).collect()
}

fn revision_of(version: &str) -> Result<McpRevision, String> {
    let revision = McpRevision::of_version(version);
    revision.ok_or_else(|| format!("its `protocolVersion` is not 2025-11-25 or 2026-07-28 but `{version}`"))
}

fn oauth_settings(spec: &McpOAuthSpec) -> McpOAuthSettings {
    let McpOAuthSpec { grant, client_id, client_secret, private_key, client_metadata_url, scopes, callback_port } =
        spec;
    McpOAuthSettings {
        grant: match grant {
            None | Some(McpOAuthGrant::AuthorizationCode) => OAuthGrant::AuthorizationCode,
            Some(McpOAuthGrant::ClientCredentials) => OAuthGrant::ClientCredentials,
        },
        client_id: client_id.clone(),
        client_secret: client_secret.as_ref().map(Secret::new),
        private_key: private_key.as_ref().map(Secret::new),
        client_metadata_url: client_metadata_url.clone(),
        scopes: scopes.clone(),
        callback_port: *callback_port,
    }
}

/// The definition with its variables expanded.
fn expand(spec: &McpServerSpec, expander: &mut VariableExpander<'_>) -> McpServerSpec {
    let mut expanded = spec.clone();
    let texts = expanded.command.iter_mut().chain(&mut expanded.args).chain(&mut expanded.url);
    for text in texts.chain(expanded.env.values_mut()).chain(expanded.headers.values_mut()) {
        *text = expander.expand(text);
    }
    if let Some(oauth) = &mut expanded.oauth {
        let McpOAuthSpec { client_id, client_secret, private_key, client_metadata_url, .. } = oauth;
        let texts = client_id.iter_mut().chain(client_secret).chain(private_key).chain(client_metadata_url);
        texts.for_each(|text| *text = expander.expand(text));
    }
    if let Some(cwd) = &mut expanded.cwd {
        *cwd = expander.expand(&cwd.to_string_lossy()).into();
    }
    expanded
}
