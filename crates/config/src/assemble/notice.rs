//! What a user should know when a session starts.

use net::Secret;
use protocol::SessionOptions;

use crate::env::Env;
use crate::layers::SettingsLayers;
use crate::mcp_servers::McpServerSet;
use crate::notice::NoticeLevel;
use crate::permissions::RuleLine;
use crate::provider::ModelAccess;

/// Prefixes of keys that commands never get, and are not expected to get.
const EXPECTED_PREFIXES: [&str; 4] = ["ANTHROPIC_", "OPENAI_", "COPILOT_", "CLAUDE_"];

/// Shorter secrets occur in too many texts to be redacted.
const MIN_SECRET_BYTES: usize = 8;

/// What a user should know when a session starts. The text may quote untrusted input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartNotice {
    /// The message.
    pub text: String,
    /// Its kind.
    pub kind: StartNoticeKind,
}

/// Kinds of notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartNoticeKind {
    /// A part of the settings or the catalogue is not used.
    Problem,
    /// It holds for every session, so it need not be shown again.
    Standing,
    /// No model is chosen, so the session uses the default one. It need not be shown again.
    DefaultModel,
    /// A rule among the options matches nothing.
    UnknownTool,
}

impl StartNotice {
    pub(crate) fn problem(text: impl Into<String>) -> StartNotice {
        StartNotice { text: text.into(), kind: StartNoticeKind::Problem }
    }

    fn standing(text: String) -> StartNotice {
        StartNotice { text, kind: StartNoticeKind::Standing }
    }
}

/// The warnings about the settings files.
pub(super) fn warnings(layers: &SettingsLayers) -> impl Iterator<Item = StartNotice> {
    let warnings = layers.notices.iter().filter(|notice| notice.level == NoticeLevel::Warning);
    warnings.map(|notice| StartNotice::problem(format!("{}: {}", notice.path.display(), notice.text)))
}

/// The rules among the options that match nothing because there is no such tool or MCP server.
pub(super) fn unknown_tools(options: &SessionOptions, servers: &McpServerSet) -> impl Iterator<Item = StartNotice> {
    let rules = [&options.allow, &options.ask, &options.deny].into_iter().flatten();
    let rules = rules.filter_map(|rule| RuleLine::parse(rule).ok());
    rules.filter_map(move |rule| {
        let is_server = |tool: &String| servers.servers.iter().any(|server| server.name == *tool);
        let (tool, rule) = (rule.unknown_tool().filter(|tool| !is_server(tool))?, rule.text());
        let text = format!("warning: the rule `{rule}` matches nothing: there is no tool called `{tool}`");
        Some(StartNotice { text, kind: StartNoticeKind::UnknownTool })
    })
}

/// Settings and variables that a session does not use.
pub(super) fn unused_settings(layers: &SettingsLayers, access: &ModelAccess, env: &Env) -> Vec<StartNotice> {
    let infos = layers.notices.iter().filter(|notice| notice.level == NoticeLevel::Info);
    let mut notices: Vec<String> = infos.map(|notice| format!("{}: {}", notice.path.display(), notice.text)).collect();
    let withheld: Vec<&str> = access.secrets.iter().filter_map(|secret| withheld_variable(secret, access)).collect();
    if let Some(first) = withheld.first() {
        notices.push(format!(
            "agents' commands do not get {}; to pass one on, write [environment] pass = [\"{first}\"] in \
             config.toml",
            withheld.join(", ")
        ));
    }
    for secret in access.secrets.iter().filter(|secret| secret.reveal().len() < MIN_SECRET_BYTES) {
        let name = secret.variable().unwrap_or("a key");
        notices.push(format!(
            "{name} is shorter than {MIN_SECRET_BYTES} characters, so it is not redacted from stored and displayed \
             text; use a longer one"
        ));
    }
    if !env.names_with_prefix("OTEL_").is_empty() {
        notices.push("OTEL_* variables are set, but this version sends no traces".into());
    }
    notices.into_iter().map(StartNotice::standing).collect()
}

fn withheld_variable<'a>(secret: &'a Secret, access: &ModelAccess) -> Option<&'a str> {
    let name = secret.variable()?;
    let is_expected = name.ends_with("_API_KEY") || EXPECTED_PREFIXES.iter().any(|start| name.starts_with(start));
    let is_passed = access.program_env.iter().any(|(passed, _)| passed == name);
    (!is_expected && !is_passed).then_some(name)
}
