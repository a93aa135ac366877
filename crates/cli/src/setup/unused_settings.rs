//! What a run does not use, though somebody may count on it.

use config::{Env, ModelAccess, NoticeLevel, SettingsLayers, TrustStatus};
use net::Secret;

/// Keys that programs have never got: nobody expects them to.
const EXPECTED_PREFIXES: [&str; 4] = ["ANTHROPIC_", "OPENAI_", "COPILOT_", "CLAUDE_"];

/// Secrets of fewer bytes are found in too many texts to be taken out of them.
const MIN_SECRET_BYTES: usize = 8;

/// What there is to say, each for once.
pub(super) fn unused_notices(layers: &SettingsLayers, access: &ModelAccess, env: &Env) -> Vec<String> {
    let remarks = layers.notices.iter().filter(|notice| notice.level == NoticeLevel::Info);
    let mut words: Vec<String> = remarks.map(|notice| format!("{}: {}", notice.path.display(), notice.text)).collect();
    let hidden: Vec<&str> = access.secrets.iter().filter_map(|secret| withheld_variable(secret, access)).collect();
    if let Some(first) = hidden.first() {
        words.push(format!(
            "commands that agents run do not get {}; to let them have one, write [environment] pass = [\"{first}\"] in \
             config.toml",
            hidden.join(", ")
        ));
    }
    for secret in access.secrets.iter().filter(|secret| secret.reveal().len() < MIN_SECRET_BYTES) {
        let name = secret.variable().unwrap_or("a key");
        words.push(format!(
            "{name} is shorter than {MIN_SECRET_BYTES} characters, so it is not taken out of what is stored and shown; use a longer one"
        ));
    }
    let file = layers.project.top.join(".mcp.json");
    if layers.trust == TrustStatus::Trusted && file.is_file() {
        words.push(format!("{}: MCP servers are not started by this version", file.display()));
    }
    if !env.names("OTEL_").is_empty() {
        words.push("OTEL_* variables are set, and this version sends no traces".into());
    }
    words
}

fn withheld_variable<'a>(secret: &'a Secret, access: &ModelAccess) -> Option<&'a str> {
    let name = secret.variable()?;
    let is_expected = name.ends_with("_API_KEY") || EXPECTED_PREFIXES.iter().any(|start| name.starts_with(start));
    let is_passed = access.programs.iter().any(|(passed, _)| passed == name);
    (!is_expected && !is_passed).then_some(name)
}
