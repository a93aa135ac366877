//! The model that is used where nobody chose one.

use model::{Key, Provider};

use super::Access;
use super::built_in::{BUILT_IN, BuiltIn};

/// The model that is used where nobody chose one, and why it is this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultModel {
    /// Its whole name.
    pub spec: String,
    /// The variable with the key of its provider.
    pub variable: String,
}

impl Access {
    /// The model that is used where nobody chose one: that of the first provider with a key, in the order of the table
    /// of built-in providers, then by name. A provider of a file needs to list exactly one model, since nobody knows
    /// which of several is meant.
    pub fn default_model(&self) -> Option<DefaultModel> {
        let places = &self.providers.places;
        let built_in = BUILT_IN.iter().filter_map(|known| {
            let name = known.default?;
            Some((known.name, places.get(known.name)?, name))
        });
        let configured = places.iter().filter_map(|(provider, place)| {
            let mut names = place.models.keys();
            let only = names.next().filter(|_| names.next().is_none() && BuiltIn::named(provider).is_none())?;
            Some((provider.as_str(), place, only.as_str()))
        });
        built_in.chain(configured).find_map(|(provider, place, name)| {
            let variable = variable(place)?.to_owned();
            Some(DefaultModel { spec: format!("{provider}/{name}"), variable })
        })
    }
}

/// The variable that holds the key of a provider.
fn variable(place: &Provider) -> Option<&str> {
    match &place.key {
        Key::Given(secret) => secret.variable(),
        Key::Needless | Key::Missing { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Env, File};

    fn default_of(file: &str, variables: &[&str]) -> Option<String> {
        let env = variables.iter().map(|name| ((*name).into(), "sk-0123456789".into())).collect::<Vec<_>>();
        let file: File = toml::from_str(file).unwrap();
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
}
