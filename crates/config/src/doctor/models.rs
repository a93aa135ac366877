//! Checks of keys, the chosen model and local model servers.

use std::collections::BTreeMap;

use crate::ModelAccess;
use model::{ProviderKey, Providers};

use super::{DoctorCheck, DoctorContext};
use crate::methods::{ProbeResult, probe_local_servers, start_command};

pub(super) async fn checks(context: &DoctorContext) -> Vec<DoctorCheck> {
    let Some(access) = &context.access else { return Vec::new() };
    let probes = probe_local_servers(access).await;
    let mut checks = vec![chosen_model(context, access, &probes), keys(&access.providers, &probes)];
    checks.extend(unused_key(context));
    checks.extend(probes.iter().filter_map(|(name, probe)| server(name, probe)));
    checks
}

/// Lists the providers that have a key, without the keys themselves.
fn keys(providers: &Providers, probes: &BTreeMap<String, ProbeResult>) -> DoctorCheck {
    let (mut present, mut missing) = (Vec::new(), Vec::new());
    for (name, provider) in &providers.by_name {
        match &provider.key {
            ProviderKey::Present(secret) => {
                present.push(format!("{name} ({})", secret.variable().unwrap_or("environment")))
            }
            ProviderKey::Missing { variable } => missing.push(variable.as_str()),
            ProviderKey::NotNeeded => {}
        }
    }
    missing.dedup();
    let is_server_running =
        probes.values().any(|probe| matches!(probe, ProbeResult::Running(models) if !models.is_empty()));
    match (present.is_empty(), is_server_running) {
        (false, _) => DoctorCheck::ok("keys", present.join(", ")),
        (true, true) => DoctorCheck::note("keys", "none; a local server needs none"),
        (true, false) => DoctorCheck::warn(
            "keys",
            "no provider has a key, and no local server is running",
            format!(
                "set {}, or start Ollama, llama.cpp or LM Studio; `bosun demo` needs neither",
                missing.join(" or ")
            ),
        ),
    }
}

/// Reports a variable that other programs read and Bosun does not.
fn unused_key(context: &DoctorContext) -> Option<DoctorCheck> {
    let is_set = |name| context.env.text(name).is_some();
    let is_only_token = is_set("ANTHROPIC_AUTH_TOKEN") && !is_set("ANTHROPIC_API_KEY");
    let text = "ANTHROPIC_AUTH_TOKEN is set, which Bosun does not use";
    is_only_token.then(|| DoctorCheck::warn("keys", text, "set ANTHROPIC_API_KEY to an API key"))
}

/// Checks the model that a run without `--model` uses.
fn chosen_model(context: &DoctorContext, access: &ModelAccess, probes: &BTreeMap<String, ProbeResult>) -> DoctorCheck {
    // If no settings can be read, only the variable is left.
    let named = context.config.model.clone().or_else(|| context.env.model.clone());
    let Some(spec) = named.or_else(|| access.default_model().map(|default| default.spec)) else {
        return DoctorCheck::warn("model", "no model is chosen", how_to_choose(probes));
    };
    // A file keeps the name that the user gave.
    let is_file = spec.split_once('/').is_some_and(|(provider, _)| protocol::is_file_provider(provider));
    let spec = if is_file { spec } else { access.providers.full_name(&spec, &context.cwd) };
    if let Err(error) = model::open(&spec, &context.cwd, &access.providers) {
        return DoctorCheck::fail(
            "model",
            error.to_string(),
            "`bosun models` lists the providers, their keys and their models",
        );
    }
    let (provider, name) = spec.split_once('/').unwrap_or((&spec, ""));
    match probes.get(provider) {
        Some(ProbeResult::Running(models)) if !models.iter().any(|served| served == name) => {
            let served = if models.is_empty() { "none".to_owned() } else { models.join(", ") };
            DoctorCheck::fail(
                "model",
                format!("{spec} is chosen, but {provider} has {served}"),
                "load the model, or choose another one",
            )
        }
        Some(ProbeResult::NotRunning) => DoctorCheck::fail(
            "model",
            format!("{spec} is chosen, but {provider} is not running"),
            start_command(provider)
                .map_or_else(|| format!("start {provider}"), |command| format!("start it: {command}")),
        ),
        Some(ProbeResult::OtherServer) => DoctorCheck::fail(
            "model",
            format!("{spec} is chosen, but another server answers at the address of {provider}"),
            format!("start {provider}, or set its address in config.toml: [providers.{provider}] base-url"),
        ),
        None if is_unknown(&access.providers, provider, name) => DoctorCheck::warn(
            "model",
            format!("{spec} is chosen, but Bosun does not know this model"),
            "check its name with `bosun models`; without a price, no budget in dollars can be kept",
        ),
        Some(ProbeResult::Running(_)) | None => {
            DoctorCheck::ok("model", format!("{spec} is usable (no request was sent)"))
        }
    }
}

/// How to choose a model: one that runs on this machine, or else any.
fn how_to_choose(probes: &BTreeMap<String, ProbeResult>) -> String {
    let running = probes.iter().find_map(|(provider, probe)| match probe {
        ProbeResult::Running(models) => Some(format!("{provider}/{}", models.first()?)),
        ProbeResult::NotRunning | ProbeResult::OtherServer => None,
    });
    match running {
        Some(spec) => format!("try: bosun --model {spec}; keep it with BOSUN_MODEL, or `model` in config.toml"),
        None => {
            "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or give one with --model PROVIDER/NAME, BOSUN_MODEL, or `model` \
                 in config.toml; `bosun models` lists the models"
                .into()
        }
    }
}

/// Whether the provider's models are known and this is not one of them.
fn is_unknown(providers: &Providers, provider: &str, name: &str) -> bool {
    providers
        .by_name
        .get(provider)
        .is_some_and(|settings| !settings.models.is_empty() && !settings.models.contains_key(name))
}

fn server(name: &str, probe: &ProbeResult) -> Option<DoctorCheck> {
    match probe {
        ProbeResult::Running(models) if models.is_empty() => {
            Some(DoctorCheck::warn("servers", format!("{name} is running without a model"), "load one"))
        }
        ProbeResult::Running(models) => {
            Some(DoctorCheck::ok("servers", format!("{name} is running, with {}", models.join(", "))))
        }
        ProbeResult::NotRunning | ProbeResult::OtherServer => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_model_is_suggested() {
        let suggested = |probe| how_to_choose(&[("ollama".to_owned(), probe)].into());
        let running = suggested(ProbeResult::Running(vec!["qwen3:8b".into()]));
        assert!(running.starts_with("try: bosun --model ollama/qwen3:8b"), "{running}");
        assert!(suggested(ProbeResult::NotRunning).starts_with("set ANTHROPIC_API_KEY"));
    }
}
