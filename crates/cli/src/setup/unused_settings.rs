//! Notices about settings and variables that a run does not use.

use config::{Env, ModelAccess, NoticeLevel, SettingsLayers, TrustStatus};
use net::Secret;

/// Prefixes of keys that commands never get, and are not expected to get.
const EXPECTED_PREFIXES: [&str; 4] = ["ANTHROPIC_", "OPENAI_", "COPILOT_", "CLAUDE_"];

/// Shorter secrets occur in too many texts to be redacted.
const MIN_SECRET_BYTES: usize = 8;

/// The notices, each to be printed once.
pub(super) fn unused_notices(layers: &SettingsLayers, access: &ModelAccess, env: &Env) -> Vec<String> {
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
    let file = layers.project.dir.join(".mcp.json");
    if layers.trust == TrustStatus::Trusted && file.is_file() {
        notices.push(format!("{}: this version does not start MCP servers", file.display()));
    }
    if !env.names_with_prefix("OTEL_").is_empty() {
        notices.push("OTEL_* variables are set, but this version sends no traces".into());
    }
    notices
}

fn withheld_variable<'a>(secret: &'a Secret, access: &ModelAccess) -> Option<&'a str> {
    let name = secret.variable()?;
    let is_expected = name.ends_with("_API_KEY") || EXPECTED_PREFIXES.iter().any(|start| name.starts_with(start));
    let is_passed = access.program_env.iter().any(|(passed, _)| passed == name);
    (!is_expected && !is_passed).then_some(name)
}
