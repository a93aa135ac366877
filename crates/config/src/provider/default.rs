//! The default model.

use model::{Provider, ProviderKey};

use super::ModelAccess;
use super::built_in::{BUILT_IN, BuiltInProvider};

/// The default model, and the variable with the key for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultModel {
    /// Its full name.
    pub spec: String,
    /// The variable with the key of its provider.
    pub variable: String,
}

/// A provider that the user can choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChoosableProvider {
    /// Its name.
    pub provider: String,
    /// Its default model. A configured provider has one only if it lists exactly one model.
    pub default: Option<String>,
}

impl ModelAccess {
    /// The providers that can be chosen: first the built-in ones in their order, then others by name. Local servers are
    /// not included, since they must be found first.
    pub fn choosable(&self) -> Vec<ChoosableProvider> {
        let providers = &self.providers.by_name;
        let built_in =
            BUILT_IN.iter().filter(|known| known.default_model.is_some() && providers.contains_key(known.name));
        let built_in = built_in.map(|known| ChoosableProvider {
            provider: known.name.into(),
            default: known.default_model.map(str::to_owned),
        });
        let others = providers.iter().filter(|(name, _)| match BuiltInProvider::find(name) {
            Some(known) => known.is_local() && !self.local_servers.contains(name),
            None => true,
        });
        let others = others.map(|(name, provider)| {
            let mut models = provider.models.keys();
            let only = models.next().filter(|_| models.next().is_none());
            ChoosableProvider { provider: name.clone(), default: only.cloned() }
        });
        built_in.chain(others).collect()
    }

    /// The default model: that of the first provider with a key.
    pub fn default_model(&self) -> Option<DefaultModel> {
        self.choosable().into_iter().find_map(|ChoosableProvider { provider, default }| {
            let variable = key_variable(self.providers.by_name.get(&provider)?)?.to_owned();
            Some(DefaultModel { spec: format!("{provider}/{}", default?), variable })
        })
    }
}

/// The variable with the key of a provider.
fn key_variable(provider: &Provider) -> Option<&str> {
    match &provider.key {
        ProviderKey::Present(secret) => secret.variable(),
        ProviderKey::NotNeeded | ProviderKey::Missing { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Env, SettingsFile};

    fn default_of(file: &str, variables: &[&str]) -> Option<String> {
        let env = variables.iter().map(|name| ((*name).into(), "sk-0123456789".into())).collect::<Vec<_>>();
        let file: SettingsFile = toml::from_str(file).unwrap();
        let access = file.resolve().access(&Env::from(env)).unwrap();
        let DefaultModel { spec, variable } = access.default_model()?;
        assert!(variables.contains(&variable.as_str()));
        assert!(access.providers.available().contains(&spec), "{spec} is not listed");
        Some(spec)
    }

    #[test]
    fn a_key_is_enough_to_have_a_model() {
        let (anthropic, openai) = ("anthropic/claude-sonnet-5-5", "openai/gpt-6.1-sol");
        assert_eq!(default_of("", &["ANTHROPIC_API_KEY"]).as_deref(), Some(anthropic));
        assert_eq!(default_of("", &["OPENAI_API_KEY"]).as_deref(), Some(openai));
        assert_eq!(default_of("", &["OPENAI_API_KEY", "ANTHROPIC_API_KEY"]).as_deref(), Some(anthropic));
        assert_eq!(default_of("", &["OTHER_KEY"]), None);
    }

    #[test]
    fn a_configured_provider_with_one_model_comes_after_the_built_in_ones() {
        let place = "[providers.own]\nkind = 'openai-chat'\nbase-url = 'https://own/v1'\nkey-env = 'OWN_KEY'\n";
        let one = format!("{place}[providers.own.models.big]\n");
        assert_eq!(default_of(&one, &["OWN_KEY"]).as_deref(), Some("own/big"));
        assert_eq!(default_of(&one, &["OWN_KEY", "OPENAI_API_KEY"]).as_deref(), Some("openai/gpt-6.1-sol"));
        assert_eq!(default_of(&one, &[]), None);
        assert_eq!(default_of(place, &["OWN_KEY"]), None);
        assert_eq!(default_of(&format!("{one}[providers.own.models.small]\n"), &["OWN_KEY"]), None);
    }

    #[test]
    fn every_provider_except_servers_on_this_machine_can_be_chosen() {
        let names = |file: &str, env: &[(&str, &str)]| {
            let file: SettingsFile = toml::from_str(file).unwrap();
            let access = file.resolve().access(&Env::from_pairs(env)).unwrap();
            access.choosable().into_iter().map(|choosable| choosable.provider).collect::<Vec<_>>()
        };
        assert_eq!(names("", &[]), ["anthropic", "openai"]);
        let own = "[providers.own]\nkind = 'openai-chat'\nbase-url = 'https://own/v1'\n";
        assert_eq!(names(own, &[("OLLAMA_HOST", "gpu.lan")]), ["anthropic", "openai", "ollama", "own"]);
    }
}
