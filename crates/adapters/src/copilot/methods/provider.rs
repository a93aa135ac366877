//! The model provider that a client supplies with a session: its address, key and model.

use std::collections::BTreeMap;

use model::{ClientProvider, ModelListing, Provider, ProviderKey, RequestExtras, WireFormat};
use net::Secret;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use rpc::ErrorObject;
use runtime::SessionStart;

use ::server::OpenRequest;

/// The providers of the client that opened a session, which other calls of the client concern.
#[derive(Debug)]
pub(crate) struct ClientProviders {
    /// The one without a name, as the client wrote it.
    own: Option<CopilotProviderParams>,
    /// The same for the session.
    pub(crate) provider: Option<ClientProvider>,
    /// The others, by name.
    pub(crate) named: BTreeMap<String, Provider>,
    /// The models that the client lists for them.
    pub(crate) models: Vec<ListedModel>,
}

/// A model of a named provider, as clients list it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedModel {
    /// Its name, with the name of the provider before a slash.
    pub(crate) id: String,
    /// Its display name, if the client gave it one.
    pub(crate) title: Option<String>,
}

impl ClientProviders {
    /// Reads the parameters that a session was opened with.
    pub(crate) fn read(params: &Value) -> Result<ClientProviders, ErrorObject> {
        let mut request = OpenRequest::new(SessionStart::New);
        request.options.model = params["model"].as_str().map(str::to_owned);
        apply(&mut request, params)?;
        let own = CopilotProviderParams::read(&params["provider"]).ok().filter(|_| !params["provider"].is_null());
        let models = named_models(params).collect();
        Ok(ClientProviders { own, provider: request.provider, named: request.named_providers, models })
    }

    /// The provider without a name, for a program that calls it itself.
    pub(crate) fn endpoint(&self) -> Option<Value> {
        self.own.as_ref().map(CopilotProviderParams::endpoint)
    }
}

/// Applies the providers of `session.create` or `session.resume`, if there are any.
pub(crate) fn apply(request: &mut OpenRequest, params: &Value) -> Result<(), ErrorObject> {
    let input = &params["provider"];
    if !input.is_null() {
        let provider = CopilotProviderParams::read(input).and_then(CopilotProviderParams::into_provider);
        let provider = provider.map_err(ErrorObject::bad_params)?;
        let (provider, model) = name_model(provider, request.options.model.take());
        (request.provider, request.options.model) = (Some(provider), model);
    }
    request.named_providers = named_providers(params).map_err(ErrorObject::bad_params)?;
    Ok(())
}

/// Gives a provider's model the name that the client chose for it; returns the name.
fn name_model(provider: ClientProvider, chosen: Option<String>) -> (ClientProvider, Option<String>) {
    let ClientProvider { mut provider, model } = provider;
    let name = chosen.or_else(|| model.clone());
    if let (Some(name), Some(model)) = (&name, model)
        && *name != model
    {
        let listing = provider.models.get(&model).copied();
        provider.models.extend(listing.map(|listing| (name.clone(), listing)));
        provider.extra.model_names.insert(name.clone(), model);
    }
    (ClientProvider { provider, model: None }, name)
}

/// The models of the named providers, with the name of the provider before a slash.
pub(crate) fn named_models(params: &Value) -> impl Iterator<Item = ListedModel> {
    let listed = |model: &Value| {
        let id = format!("{}/{}", model["provider"].as_str()?, model["id"].as_str()?);
        Some(ListedModel { id, title: model["name"].as_str().map(str::to_owned) })
    };
    params["models"].as_array().into_iter().flatten().filter_map(listed)
}

/// The providers that a client names, with the models that it lists for each.
pub(crate) fn named_providers(params: &Value) -> Result<BTreeMap<String, Provider>, String> {
    let inputs = params["providers"].as_array().map(Vec::as_slice).unwrap_or_default();
    if inputs.len() > MAX_PROVIDERS {
        return Err(format!("there are more than {MAX_PROVIDERS} providers"));
    }
    let mut providers = BTreeMap::new();
    for input in inputs {
        let name = input["name"].as_str().unwrap_or_default();
        let is_valid = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.chars().all(is_valid) {
            return Err(format!("invalid name of a provider `{name}`: use letters, digits and `-_.`"));
        }
        let read = CopilotProviderParams::read(input).and_then(CopilotProviderParams::into_provider);
        let ClientProvider { provider, .. } = read.map_err(|why| format!("the provider {name}: {why}"))?;
        providers.insert(name.to_owned(), provider);
    }
    let models = params["models"].as_array().map(Vec::as_slice).unwrap_or_default();
    if models.len() > MAX_MODELS {
        return Err(format!("there are more than {MAX_MODELS} models"));
    }
    for input in models {
        let model = NamedModel::deserialize(input).map_err(|_error| "`models` is not in the Copilot SDK's format")?;
        let provider = providers.get_mut(&model.provider);
        let provider = provider.ok_or_else(|| format!("the model {} names no provider of `providers`", model.id))?;
        let listing = model_listing(model.max_prompt_tokens, model.max_output_tokens);
        provider.models.insert(model.id.clone(), listing);
        if let Some(name) = model.wire_model.or(model.model_id).filter(|name| !name.is_empty()) {
            provider.extra.model_names.insert(model.id, name);
        }
    }
    Ok(providers)
}

/// Maximum number of providers that a client may name.
const MAX_PROVIDERS: usize = 32;

/// Maximum number of models that a client may list.
const MAX_MODELS: usize = 256;

/// Maximum bytes of a provider's name.
const MAX_NAME_BYTES: usize = 64;

/// Maximum number of headers that a client may add.
const MAX_HEADERS: usize = 32;

/// A model of a named provider in the Copilot SDK's format.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedModel {
    id: String,
    provider: String,
    #[serde(default)]
    wire_model: Option<String>,
    #[serde(default)]
    model_id: Option<String>,
    #[serde(default)]
    max_prompt_tokens: Option<u32>,
    #[serde(default)]
    max_output_tokens: Option<u32>,
}

/// A provider in the Copilot SDK's format.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CopilotProviderParams {
    /// The API: `openai`, `azure` or `anthropic`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The variant of OpenAI's API: `completions` or `responses`.
    pub wire_api: Option<String>,
    /// The URL of the API.
    pub base_url: String,
    /// The API key.
    #[serde(deserialize_with = "secret")]
    pub api_key: Option<Secret>,
    /// A key that is sent as a bearer token with any API.
    #[serde(deserialize_with = "secret")]
    pub bearer_token: Option<Secret>,
    /// Whether the client supplies a token for each request.
    pub has_bearer_token_provider: bool,
    /// Options for Azure.
    pub azure: Option<AzureOptions>,
    /// Additional headers.
    #[serde(deserialize_with = "headers")]
    pub headers: BTreeMap<String, Secret>,
    /// The model's id.
    pub model_id: Option<String>,
    /// The model's name at the provider, if it differs.
    pub wire_model: Option<String>,
    /// Maximum tokens of a request.
    pub max_prompt_tokens: Option<u32>,
    /// Maximum tokens of an answer.
    pub max_output_tokens: Option<u32>,
}

/// Options for Azure.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AzureOptions {
    /// The API version; the newest when absent.
    pub api_version: Option<String>,
}

/// The API of a provider.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProviderDialect {
    OpenAi,
    Azure,
    Anthropic,
}

impl CopilotProviderParams {
    /// Reads `provider` of `session.create` and `session.resume`.
    pub fn read(input: &Value) -> Result<CopilotProviderParams, String> {
        // The detailed error may contain a key, so it is left out.
        CopilotProviderParams::deserialize(input)
            .map_err(|_error| "`provider` is not in the Copilot SDK's format".into())
    }

    /// Converts it into Bosun's provider.
    pub fn into_provider(self) -> Result<ClientProvider, String> {
        let dialect = self.dialect()?;
        let wire = self.wire_format(dialect)?;
        let model = self.wire_model.clone().or_else(|| self.model_id.clone()).filter(|name| !name.is_empty());
        let (base_url, query) = self.address(dialect, model.as_deref())?;
        let (key, mut headers) = self.key(dialect);
        if self.headers.len() > MAX_HEADERS {
            return Err(format!("provider.headers has more than {MAX_HEADERS} headers"));
        }
        headers.extend(self.headers.clone());
        let extra = RequestExtras { headers, query, ..RequestExtras::default() };
        let limits = model_listing(self.max_prompt_tokens, self.max_output_tokens);
        let models = model.iter().map(|name| (name.clone(), limits)).collect();
        let provider = Provider { extra, models, ..Provider::new(wire, base_url, key) };
        Ok(ClientProvider { provider, model })
    }

    fn dialect(&self) -> Result<ProviderDialect, String> {
        match self.kind.as_deref() {
            None | Some("openai") => Ok(ProviderDialect::OpenAi),
            Some("azure") => Ok(ProviderDialect::Azure),
            Some("anthropic") => Ok(ProviderDialect::Anthropic),
            Some(other) => Err(format!("unknown provider.type `{other}`; use openai, azure or anthropic")),
        }
    }

    fn wire_format(&self, dialect: ProviderDialect) -> Result<WireFormat, String> {
        match (dialect, self.wire_api.as_deref()) {
            (ProviderDialect::Anthropic, _) => Ok(WireFormat::Anthropic),
            (ProviderDialect::OpenAi | ProviderDialect::Azure, None | Some("completions")) => Ok(WireFormat::Chat),
            (ProviderDialect::OpenAi | ProviderDialect::Azure, Some("responses")) => Ok(WireFormat::Responses),
            (ProviderDialect::OpenAi | ProviderDialect::Azure, Some(other)) => {
                Err(format!("unknown provider.wireApi `{other}`; use completions or responses"))
            }
        }
    }

    /// The URL and query string of requests. Azure with an API version has a URL for each model.
    fn address(&self, dialect: ProviderDialect, model: Option<&str>) -> Result<(String, Option<String>), String> {
        let base = self.base_url.trim().trim_end_matches('/');
        let version = self.azure.as_ref().and_then(|azure| azure.api_version.clone());
        match (dialect, version) {
            (ProviderDialect::OpenAi, _) => Ok((base.to_owned(), None)),
            (ProviderDialect::Anthropic, _) => Ok((base.strip_suffix("/v1").unwrap_or(base).to_owned(), None)),
            (ProviderDialect::Azure, _) if base.contains("/openai") => Ok((base.to_owned(), None)),
            (ProviderDialect::Azure, None) => Ok((format!("{base}/openai/v1"), None)),
            (ProviderDialect::Azure, Some(version)) => {
                let model = model.ok_or("provider.modelId is missing; Azure with an apiVersion needs it")?;
                let is_url_safe = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
                if !is_url_safe(&version) || !is_url_safe(model) {
                    return Err(
                        "provider.azure.apiVersion and provider.modelId may only contain letters, digits, `-._`".into(),
                    );
                }
                Ok((format!("{base}/openai/deployments/{model}"), Some(format!("api-version={version}"))))
            }
        }
    }

    /// The key in the wire format's usual place, or as headers if the provider expects it there.
    fn key(&self, dialect: ProviderDialect) -> (ProviderKey, Vec<(String, Secret)>) {
        match (dialect, &self.bearer_token, &self.api_key) {
            (_, None, None) => (ProviderKey::NotNeeded, Vec::new()),
            (ProviderDialect::OpenAi | ProviderDialect::Azure, Some(token), _) => {
                (ProviderKey::Present(token.clone()), Vec::new())
            }
            (ProviderDialect::Anthropic, Some(token), _) => (
                ProviderKey::NotNeeded,
                vec![("authorization".into(), Secret::new(format!("Bearer {}", token.reveal())))],
            ),
            (ProviderDialect::Azure, None, Some(key)) => {
                (ProviderKey::NotNeeded, vec![("api-key".into(), key.clone())])
            }
            (ProviderDialect::OpenAi | ProviderDialect::Anthropic, None, Some(key)) => {
                (ProviderKey::Present(key.clone()), Vec::new())
            }
        }
    }

    /// The provider for a program that calls it itself, with its key.
    pub(crate) fn endpoint(&self) -> Value {
        let kind = self.kind.as_deref().unwrap_or("openai");
        let headers: serde_json::Map<String, Value> =
            self.headers.iter().map(|(name, value)| (name.clone(), value.reveal().into())).collect();
        let mut endpoint = json!({ "type": kind, "baseUrl": self.base_url, "headers": headers });
        if kind != "anthropic" {
            endpoint["wireApi"] = self.wire_api.as_deref().unwrap_or("completions").into();
        }
        if let Some(key) = self.bearer_token.as_ref().or(self.api_key.as_ref()) {
            endpoint["apiKey"] = key.reveal().into();
        }
        endpoint
    }
}

/// What is known about a model with these limits.
fn model_listing(max_prompt_tokens: Option<u32>, max_output_tokens: Option<u32>) -> ModelListing {
    let output = max_output_tokens.filter(|tokens| *tokens > 0);
    let prompt = max_prompt_tokens.filter(|tokens| *tokens > 0);
    let context = prompt.map(|tokens| u64::from(tokens) + u64::from(output.unwrap_or_default()));
    ModelListing { price: None, context_tokens: context, max_output_tokens: output }
}

fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Secret>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    Ok(text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).map(Secret::new))
}

fn headers<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Secret>, D::Error> {
    let headers = Option::<BTreeMap<String, String>>::deserialize(from)?.unwrap_or_default();
    Ok(headers.into_iter().map(|(name, value)| (name, Secret::new(value))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(params: Value) -> Result<ClientProvider, String> {
        CopilotProviderParams::read(&params)?.into_provider()
    }

    #[test]
    fn all_provider_types_are_read() {
        let plain = provider(json!({ "baseUrl": "http://127.0.0.1:1/v1/", "apiKey": "sk-1", "modelId": "m" })).unwrap();
        assert_eq!(plain.provider.wire, WireFormat::Chat);
        assert_eq!(plain.provider.base_url, "http://127.0.0.1:1/v1");
        assert_eq!(plain.provider.key, ProviderKey::Present(Secret::new("sk-1")));
        assert_eq!(plain.model.as_deref(), Some("m"));
        let responses = provider(json!({ "type": "openai", "wireApi": "responses", "baseUrl": "https://h" })).unwrap();
        assert_eq!((responses.provider.wire, responses.provider.key), (WireFormat::Responses, ProviderKey::NotNeeded));
        let claude = json!({ "type": "anthropic", "baseUrl": "https://h/v1", "bearerToken": "t", "wireModel": "w" });
        let claude = provider(claude).unwrap();
        assert_eq!((claude.provider.wire, claude.provider.base_url.as_str()), (WireFormat::Anthropic, "https://h"));
        assert_eq!(claude.provider.extra.headers, [("authorization".to_owned(), Secret::new("Bearer t"))]);
    }

    #[test]
    fn azure_has_its_own_urls_and_key_header() {
        let newest = json!({ "type": "azure", "baseUrl": "https://h", "apiKey": "k", "modelId": "m" });
        let newest = provider(newest).unwrap();
        assert_eq!(newest.provider.base_url, "https://h/openai/v1");
        assert_eq!(newest.provider.extra.headers, [("api-key".to_owned(), Secret::new("k"))]);
        let old =
            json!({ "type": "azure", "baseUrl": "https://h", "modelId": "m", "azure": { "apiVersion": "2024-10-21" } });
        let old = provider(old).unwrap();
        assert_eq!(old.provider.base_url, "https://h/openai/deployments/m");
        assert_eq!(old.provider.extra.query.as_deref(), Some("api-version=2024-10-21"));
        let hostile =
            json!({ "type": "azure", "baseUrl": "https://h", "modelId": "../x", "azure": { "apiVersion": "1" } });
        assert!(provider(hostile).is_err());
    }

    fn applied(params: Value) -> Result<OpenRequest, ErrorObject> {
        let mut request = OpenRequest::new(SessionStart::New);
        request.options.model = params["model"].as_str().map(str::to_owned);
        apply(&mut request, &params).map(|()| request)
    }

    #[test]
    fn a_model_keeps_the_name_that_the_client_gave_it() {
        let provider = json!({ "baseUrl": "https://h", "wireModel": "wire", "maxPromptTokens": 9 });
        let request = applied(json!({ "model": "mine", "provider": provider })).unwrap();
        let ClientProvider { provider, .. } = request.provider.unwrap();
        assert_eq!(request.options.model.as_deref(), Some("mine"));
        assert_eq!(
            (provider.extra.model_names["mine"].as_str(), provider.models["mine"].context_tokens),
            ("wire", Some(9))
        );
        let unnamed = applied(json!({ "provider": { "baseUrl": "https://h", "modelId": "m" } })).unwrap();
        assert_eq!(unnamed.options.model.as_deref(), Some("m"));
        assert!(unnamed.provider.unwrap().provider.extra.model_names.is_empty());
    }

    #[test]
    fn several_providers_have_several_models() {
        let params = json!({
            "model": "alpha/a",
            "providers": [{ "name": "alpha", "baseUrl": "https://a" }, { "name": "beta", "type": "anthropic", "baseUrl": "https://b" }],
            "models": [{ "id": "a", "provider": "alpha", "wireModel": "wire-a" }, { "id": "b", "provider": "beta" }],
        });
        assert_eq!(named_models(&params).map(|model| model.id).collect::<Vec<_>>(), ["alpha/a", "beta/b"]);
        let request = applied(params).unwrap();
        assert_eq!(request.options.model.as_deref(), Some("alpha/a"));
        assert_eq!(request.named_providers["alpha"].extra.model_names["a"], "wire-a");
        assert_eq!(request.named_providers["beta"].wire, WireFormat::Anthropic);
        for invalid in [
            json!({ "providers": [{ "name": "a/b", "baseUrl": "https://a" }] }),
            json!({ "providers": [{ "name": "a", "type": "fax", "baseUrl": "https://a" }] }),
            json!({ "models": [{ "id": "a", "provider": "nobody" }] }),
        ] {
            assert!(applied(invalid.clone()).is_err(), "{invalid}");
        }
    }

    #[test]
    fn invalid_providers_are_refused_without_showing_a_key() {
        let wrong = provider(json!({ "baseUrl": 7, "apiKey": "sk-hidden" })).unwrap_err();
        assert!(!wrong.contains("sk-hidden"), "{wrong}");
        assert!(provider(json!({ "type": "fax", "baseUrl": "https://h" })).unwrap_err().contains("fax"));
        assert!(
            !format!("{:?}", CopilotProviderParams::read(&json!({ "apiKey": "sk-hidden" })).unwrap())
                .contains("sk-hidden")
        );
    }
}
