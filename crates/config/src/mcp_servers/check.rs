//! Checks definitions of MCP servers: whether they can be used, and with which settings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcp::{McpAddress, McpOAuthSettings, McpProgram, McpRevision, McpServerSettings, OAuthGrant};
use net::Secret;
use protocol::{McpOAuthGrant, McpOAuthSpec, McpServerKind, McpServerSpec, Refusal};
use url::Url;

use super::definition::{McpServerDefinition, McpServerOrigin};
use super::expand::VariableExpander;
use super::project_files::pinned_files;
use super::set::McpServerState;
use crate::env::Env;
use crate::file::ForbiddableFeature;
use crate::layers::SettingsLayers;

/// The longest name of a server, in characters: it is a part of its tools' names, which are at most 64 long.
const MAX_NAME_CHARS: usize = 40;

/// Checks definitions.
pub(super) struct DefinitionCheck<'a> {
    pub(super) layers: &'a SettingsLayers,
    pub(super) env: &'a Env,
    pub(super) cwd: &'a Path,
}

impl DefinitionCheck<'_> {
    pub(super) fn state_of(&self, definition: &McpServerDefinition) -> McpServerState {
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
        let expanded = expander.expand_server(spec);
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
                    true => pinned_files(&self.layers.project.dir, written, spec, &cwd)?,
                    false => Vec::new(),
                };
                let (command, args, env) = (command.clone(), spec.args.clone(), secrets(&spec.env));
                Ok(McpAddress::Program(McpProgram { command, args, env, cwd, pinned }))
            }
            (None | Some(McpServerKind::Http), None, Some(url)) => match is_http(url) {
                true => Ok(McpAddress::Url {
                    url: url.clone(),
                    headers: secrets(&spec.headers),
                    oauth: Box::new(spec.oauth.as_ref().map(oauth_settings).unwrap_or_default()),
                }),
                false => Err("its `url` is not an address that begins with http:// or https://".into()),
            },
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
}

/// Fails if a server that the user adds could not be used under this name and at this address.
pub(crate) fn check_new_server(name: &str, spec: &McpServerSpec) -> Result<(), Refusal> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.chars().count() > MAX_NAME_CHARS || !name.chars().all(is_plain) {
        return Err(Refusal::new(format!("`{name}` cannot be the name of an MCP server"))
            .with_hint(format!("use at most {MAX_NAME_CHARS} letters, digits, `-`, `_` and `.`")));
    }
    // An address that begins with a variable is only known when a session starts.
    match (&spec.url, &spec.command) {
        (Some(url), _) if !url.starts_with("${") && !is_http(url) => {
            Err(Refusal::new(format!("`{url}` is not an address of HTTP"))
                .with_hint("write one that begins with http:// or https://"))
        }
        (None, Some(program)) if program.contains("://") => {
            Err(Refusal::new(format!("`{program}` is an address and not a program"))
                .with_hint(format!("add a server that runs elsewhere with --url {program}")))
        }
        (Some(_) | None, _) => Ok(()),
    }
}

fn is_http(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_with_odd_names_or_addresses_are_not_added() {
        let at = |url: &str| McpServerSpec { url: Some(url.into()), ..McpServerSpec::default() };
        let check = |name: &str, url: &str| check_new_server(name, &at(url)).map_err(|refusal| refusal.message);
        for url in ["http://127.0.0.1:1/mcp", "https://example.com/${PATH}", "${URL}", "${URL:-ftp://a}"] {
            assert_eq!(check("my-db_2.x", url), Ok(()), "{url}");
        }
        for url in ["ftp://example.com/mcp", "example.com/mcp", "", "file:///etc"] {
            assert_eq!(check("db", url), Err(format!("`{url}` is not an address of HTTP")));
        }
        for name in ["", "my db", "a/b", "ä", "a\n", &"n".repeat(41)] {
            assert_eq!(check(name, "http://a"), Err(format!("`{name}` cannot be the name of an MCP server")));
        }
        let program = |command: &str| McpServerSpec { command: Some(command.into()), ..McpServerSpec::default() };
        assert_eq!(check_new_server("db", &program("/usr/bin/db-server")), Ok(()));
        let refusal = check_new_server("db", &program("https://example.com/mcp")).unwrap_err();
        assert_eq!(refusal.message, "`https://example.com/mcp` is an address and not a program");
    }
}
