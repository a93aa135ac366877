//! Names of models as the Claude SDK writes them: without a provider, or a family alone.

use server::HostCatalog;

/// Names that mean the configured model.
const DEFAULT_NAMES: [&str; 2] = ["default", "inherit"];

/// A suffix of names that requests a longer context, which every model here has as far as its provider offers it.
const LONG_CONTEXT: &str = "[1m]";

/// What a client's name of a model means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ModelChoice {
    /// The configured model.
    Configured,
    /// The model with this name, in the syntax of `--model`.
    Named(String),
    /// No configured provider has such a model.
    Unknown,
}

/// Finds the model that a client names. A name without a provider means a model of the provider of the configured model
/// if that has it, else of the first one that has it or another of its family.
pub(super) fn choose_model(name: &str, catalog: impl FnOnce() -> HostCatalog) -> ModelChoice {
    let name = name.trim().trim_end_matches(LONG_CONTEXT);
    if name.is_empty() || DEFAULT_NAMES.contains(&name) {
        return ModelChoice::Configured;
    }
    if name.contains('/') {
        return ModelChoice::Named(name.to_owned());
    }
    let catalog = catalog();
    let own = catalog.default_model.as_deref().and_then(|model| Some(model.split_once('/')?.0));
    let own = own.filter(|provider| !protocol::is_file_provider(provider));
    let listed = || catalog.models.iter().filter_map(|model| model.split_once('/'));
    let providers = || own.into_iter().chain(listed().map(|(provider, _)| provider));
    let models_of = |provider: &str| {
        let provider = provider.to_owned();
        listed().filter(move |(of, _)| **of == *provider).map(|(_, model)| model)
    };
    if listed().any(|(_, model)| is_family(name, model)) {
        return ModelChoice::Named(name.to_owned());
    }
    let exact = providers().find(|provider| models_of(provider).any(|model| model == name));
    let related =
        || providers().find(|provider| models_of(provider).any(|model| first_word(model) == first_word(name)));
    // A provider that lists no models may have any.
    let unlisted = || own.filter(|provider| models_of(provider).next().is_none());
    match exact.or_else(related).or_else(unlisted) {
        Some(provider) => ModelChoice::Named(format!("{provider}/{name}")),
        None => ModelChoice::Unknown,
    }
}

/// Whether a name is a family of models to which this model belongs, such as `sonnet`.
fn is_family(name: &str, model: &str) -> bool {
    model.split('-').skip(1).any(|word| word == name)
}

fn first_word(name: &str) -> &str {
    name.split('-').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(name: &str, models: &[&str], default: Option<&str>) -> ModelChoice {
        let models = models.iter().map(|&model| model.to_owned()).collect();
        let default_model = default.map(str::to_owned);
        choose_model(name, || HostCatalog { models, default_model, ..HostCatalog::default() })
    }

    #[test]
    fn names_without_a_provider_mean_a_model_of_a_configured_one() {
        let models = ["openai/gpt-6", "proxy/claude-opus-5", "anthropic/claude-sonnet-5-5", "anthropic/claude-opus-5"];
        let named = |name: &str| ModelChoice::Named(name.to_owned());
        let own = Some("anthropic/claude-sonnet-5-5");
        for (name, default, expected) in [
            ("sonnet", own, named("sonnet")),
            ("sonnet[1m]", own, named("sonnet")),
            ("claude-opus-5", own, named("anthropic/claude-opus-5")),
            ("claude-opus-5", None, named("proxy/claude-opus-5")),
            ("claude-made-up", own, named("anthropic/claude-made-up")),
            ("claude-made-up", Some("openai/gpt-6"), named("proxy/claude-made-up")),
            ("gpt-6", own, named("openai/gpt-6")),
            ("x/any", own, named("x/any")),
            ("default", own, ModelChoice::Configured),
            ("mistral", own, ModelChoice::Unknown),
            ("anything", Some("local/one"), named("local/anything")),
            ("anything", Some("script/a.yaml"), ModelChoice::Unknown),
        ] {
            assert_eq!(choice(name, &models, default), expected, "{name} {default:?}");
        }
        assert_eq!(choice("sonnet", &[], Some("script/a.yaml")), ModelChoice::Unknown);
        assert_eq!(choice("", &[], None), ModelChoice::Configured);
    }
}
