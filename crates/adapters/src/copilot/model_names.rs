//! The names of models for clients. A model of the client's own provider has the name that the client gave it.

use model::ClientProvider;

/// A model's name for clients: without the prefix that Bosun gives to the client's own provider.
pub(crate) fn client_model_name(model: &str) -> &str {
    match model.split_once('/') {
        Some((ClientProvider::NAME, name)) => name,
        Some(_) | None => model,
    }
}

/// The full name of the model that a client requests. If the session uses the client's own provider, a name without `/`
/// is one of that provider's models.
pub(crate) fn full_model_name(current: &str, requested: &str) -> String {
    let is_of_client = client_model_name(current) != current;
    match is_of_client && !requested.contains('/') {
        true => format!("{}/{requested}", ClientProvider::NAME),
        false => requested.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_names_are_models_of_the_client_provider() {
        assert_eq!(full_model_name("client/a", "b"), "client/b");
        assert_eq!(full_model_name("client/a", "openai/b"), "openai/b");
        assert_eq!(full_model_name("script/x.yaml", "b"), "b");
        assert_eq!(["client/a", "client/a/b", "openai/a", "a"].map(client_model_name), ["a", "a/b", "openai/a", "a"]);
    }
}
