//! Asks the user at a terminal for a missing model or key, instead of failing.

use std::collections::BTreeMap;

use config::{ModelAccess, ProbeResult, probe_local_servers, start_command};
use model::ProviderKey;
use tui::chat::{EnteredApiKey, ProviderOffer, SaveModel, SetupAnswers, SetupQuestions, UnreadyServer, ask_questions};
use tui::print;

use crate::args::RunArgs;
use crate::error::{CliError, MissingInput};
use crate::setup::{Setup, settings_failure};

/// The choice of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelSetupOutcome {
    /// Continue: the missing input is now in the setup.
    Model,
    /// Run the demo instead.
    Demo,
}

/// Asks for the missing input; returns the original failure if it cannot ask or the user leaves.
pub(super) async fn ask_for_model(
    setup: &mut Setup,
    args: &RunArgs,
    failure: CliError,
) -> Result<ModelSetupOutcome, CliError> {
    // A terminal that echoes input must not ask for a key.
    if setup.env.has_dumb_terminal() || setup.env.is_ci() {
        return Err(failure);
    }
    let questions = match failure.missing_input() {
        None => return Err(failure),
        Some(MissingInput::Key { provider, variable }) => SetupQuestions::only_key(provider, variable),
        Some(MissingInput::Model) => {
            let access = setup.sources().access(&args.session_options())?;
            let probes = probe_local_servers(&access).await;
            SetupQuestions::new(provider_offers(&access, &probes)).with_unready_servers(unready_servers(&probes))
        }
    };
    let (spec, key, save) = match ask_questions(setup.terminal_settings(), questions).await? {
        None => return Err(failure),
        Some(SetupAnswers::Demo) => return Ok(ModelSetupOutcome::Demo),
        Some(SetupAnswers::Key(key)) => (None, Some(key), SaveModel::No),
        Some(SetupAnswers::Model { spec, key, save }) => (Some(spec), key, save),
    };
    if let Some(EnteredApiKey { variable, key }) = key {
        setup.env.set_key(&variable, &key);
    }
    if let Some(spec) = spec {
        if save == SaveModel::AsDefault {
            save_default_model(setup, &spec);
        }
        setup.env.model = Some(spec);
    }
    Ok(ModelSetupOutcome::Model)
}

/// Lists the providers to choose from, with local servers first.
fn provider_offers(access: &ModelAccess, probes: &BTreeMap<String, ProbeResult>) -> Vec<ProviderOffer> {
    let providers = &access.providers.by_name;
    let running = probes.iter().filter_map(|(name, probe)| match probe {
        ProbeResult::Running(models) if !models.is_empty() => {
            let url = providers.get(name).map_or("", |provider| provider.base_url.as_str());
            let count = if models.len() == 1 { "1 model".into() } else { format!("{} models", models.len()) };
            Some(ProviderOffer {
                provider: name.clone(),
                description: format!("running at {url}, with {count}"),
                missing_key_variable: None,
                models: models.clone(),
                default: models.first().cloned(),
            })
        }
        ProbeResult::Running(_) | ProbeResult::NotRunning | ProbeResult::OtherServer => None,
    });
    let others = access.choosable().into_iter().filter_map(|choosable| {
        let provider = providers.get(&choosable.provider)?;
        let (about, key) = match &provider.key {
            ProviderKey::Missing { variable } => ("needs an API key".into(), Some(variable.clone())),
            ProviderKey::Present(_) | ProviderKey::NotNeeded => (format!("at {}", provider.base_url), None),
        };
        let mut models: Vec<String> = provider.models.keys().cloned().collect();
        // The default comes first, so that it is among the models that are listed.
        models.sort_by_key(|name| choosable.default.as_ref() != Some(name));
        Some(ProviderOffer {
            provider: choosable.provider,
            description: about,
            missing_key_variable: key,
            models,
            default: choosable.default,
        })
    });
    running.chain(others).collect()
}

/// The local servers that cannot be chosen, with what the user has to do first.
fn unready_servers(probes: &BTreeMap<String, ProbeResult>) -> Vec<UnreadyServer> {
    let remedy = |name: &str, probe: &ProbeResult| match probe {
        ProbeResult::Running(models) if models.is_empty() => {
            Some(format!("{name} is running without a model; load one, then start bosun again"))
        }
        ProbeResult::Running(_) => None,
        ProbeResult::NotRunning => {
            Some(format!("{name} is not running; start it with `{}`, then start bosun again", start_command(name)?))
        }
        ProbeResult::OtherServer => Some(format!("another server runs at the address of {name}; stop it first")),
    };
    probes
        .iter()
        .filter_map(|(name, probe)| Some(UnreadyServer { provider: name.clone(), remedy: remedy(name, probe)? }))
        .collect()
}

/// Saves the default model and prints where. If that fails, the session still uses the model.
fn save_default_model(setup: &Setup, spec: &str) {
    let path = setup.home.root().join("config.toml");
    let saved = setup.home.lock("settings").map_err(CliError::from);
    let saved = saved.and_then(|_lock| config::add_model(&path, spec).map_err(settings_failure));
    print::note(print::sanitize(&match saved {
        Ok(()) => format!("{spec} is the default from now on, saved in {}", path.display()),
        Err(failure) => format!("warning: {spec} is used for this session only: {failure}"),
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::{Env, SettingsFile};

    #[test]
    fn running_servers_come_first_and_others_are_named_with_a_remedy() {
        let access = SettingsFile::default().resolve().access(&Env::default()).unwrap();
        let probes = [
            ("llamacpp", ProbeResult::Running(Vec::new())),
            ("lmstudio", ProbeResult::NotRunning),
            ("ollama", ProbeResult::Running(vec!["qwen3:8b".into()])),
        ];
        let probes = probes.into_iter().map(|(name, probe)| (name.to_owned(), probe)).collect();
        let offers = provider_offers(&access, &probes);
        let [empty, stopped] = &unready_servers(&probes)[..] else { panic!("two cannot be chosen") };
        assert!(empty.provider == "llamacpp" && empty.remedy.contains("without a model"), "{empty:?}");
        assert!(stopped.provider == "lmstudio" && stopped.remedy.contains("`lms server start`"), "{stopped:?}");
        let offered: Vec<_> =
            offers.iter().map(|offer| (offer.provider.as_str(), offer.missing_key_variable.as_deref())).collect();
        let (anthropic, openai) = (Some("ANTHROPIC_API_KEY"), Some("OPENAI_API_KEY"));
        assert_eq!(offered, [("ollama", None), ("anthropic", anthropic), ("openai", openai)]);
        assert_eq!(offers[0].default.as_deref(), Some("qwen3:8b"));
        let sonnet = offers[1].default.clone().unwrap();
        assert_eq!(offers[1].models.first(), Some(&sonnet), "the default is listed first");
    }
}
