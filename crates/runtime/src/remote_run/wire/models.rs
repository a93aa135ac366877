//! The models of a session as data: another process opens them again with the same addresses and keys.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use model::{Model, ModelListing, Provider, ProviderKey, Providers, RequestExtras, TurnHeaders, WireFormat};
use net::{HttpTimeouts, NetworkRoute, Secret};
use protocol::{ModelPreference, Price};
use serde::{Deserialize, Serialize};

use crate::models::{ModelResolveError, ModelResolver, ModelSources};

/// Where models come from.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireModels {
    /// The folder in which relative names of files start.
    folder: OsString,
    providers: BTreeMap<String, WireProvider>,
    fully_listed: BTreeSet<String>,
    route: WireRoute,
    connect_millis: u64,
    first_byte_millis: u64,
    idle_millis: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireProvider {
    format: WireModelFormat,
    base_url: String,
    key: WireKey,
    is_small: bool,
    is_free: bool,
    max_concurrent_requests: Option<u32>,
    headers: Vec<WireHeader>,
    query: Option<String>,
    model_names: BTreeMap<String, String>,
    user_agent: Option<String>,
    models: BTreeMap<String, WireListing>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum WireModelFormat {
    Anthropic,
    Responses,
    Chat,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum WireKey {
    NotNeeded,
    Missing { variable: String },
    Present { key: WireSecret },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireHeader {
    name: String,
    value: WireSecret,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireListing {
    price: Option<Price>,
    context_tokens: Option<u64>,
    max_output_tokens: Option<u32>,
}

/// A key or password.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireSecret {
    value: String,
    variable: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireRoute {
    http_proxy: Option<String>,
    https_proxy: Option<String>,
    no_proxy: Option<String>,
    ca_file: Option<OsString>,
    ca_dir: Option<OsString>,
}

impl From<&ModelSources> for WireModels {
    fn from(ModelSources { providers, folder }: &ModelSources) -> WireModels {
        // Sources whose requests need the client are not sent to another process.
        let Providers { by_name, fully_listed, route, timeouts, carrier: _, turn_headers: _ } = providers;
        let HttpTimeouts { connect, first_byte, idle } = *timeouts;
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        WireModels {
            folder: folder.into(),
            providers: by_name.iter().map(|(name, provider)| (name.clone(), provider.into())).collect(),
            fully_listed: fully_listed.clone(),
            route: route.into(),
            connect_millis: millis(connect),
            first_byte_millis: millis(first_byte),
            idle_millis: millis(idle),
        }
    }
}

impl WireModels {
    /// Opens the models in this process.
    pub(super) fn into_resolver(self) -> Arc<dyn ModelResolver> {
        let WireModels { folder, providers, fully_listed, route, connect_millis, first_byte_millis, idle_millis } =
            self;
        let providers = Providers {
            by_name: providers.into_iter().map(|(name, provider)| (name, provider.into())).collect(),
            fully_listed,
            route: route.into(),
            timeouts: HttpTimeouts {
                connect: Duration::from_millis(connect_millis),
                first_byte: Duration::from_millis(first_byte_millis),
                idle: Duration::from_millis(idle_millis),
            },
            carrier: None,
            // They belong to the process that has the client.
            turn_headers: TurnHeaders::default(),
        };
        Arc::new(ReceivedModels(ModelSources { providers, folder: folder.into() }))
    }
}

/// The models that a run received with its setup.
struct ReceivedModels(ModelSources);

/// The addresses and headers of providers may contain keys.
impl fmt::Debug for ReceivedModels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReceivedModels").field(&self.0.folder).finish()
    }
}

impl ModelResolver for ReceivedModels {
    fn open(&self, spec: &str) -> Result<Arc<dyn Model>, ModelResolveError> {
        Ok(model::open(spec, &self.0.folder, &self.0.providers)?)
    }

    fn available(&self) -> Vec<String> {
        self.0.providers.available()
    }

    /// The session chooses the models of the agents that the run starts.
    fn preferred(&self, _preference: ModelPreference) -> Option<String> {
        None
    }
}

impl From<&Provider> for WireProvider {
    fn from(provider: &Provider) -> WireProvider {
        let Provider { wire, base_url, key, tokens: _, is_small, is_free, max_concurrent_requests, extra, models } =
            provider;
        let RequestExtras { headers, query, model_names, user_agent } = extra;
        let header = |(name, value): &(String, Secret)| WireHeader { name: name.clone(), value: value.into() };
        WireProvider {
            format: match wire {
                WireFormat::Anthropic => WireModelFormat::Anthropic,
                WireFormat::Responses => WireModelFormat::Responses,
                WireFormat::Chat => WireModelFormat::Chat,
            },
            base_url: base_url.clone(),
            key: match key {
                ProviderKey::NotNeeded => WireKey::NotNeeded,
                ProviderKey::Missing { variable } => WireKey::Missing { variable: variable.clone() },
                ProviderKey::Present(key) => WireKey::Present { key: key.into() },
            },
            is_small: *is_small,
            is_free: *is_free,
            max_concurrent_requests: *max_concurrent_requests,
            headers: headers.iter().map(header).collect(),
            query: query.clone(),
            model_names: model_names.clone(),
            user_agent: user_agent.clone(),
            models: models.iter().map(|(name, listing)| (name.clone(), (*listing).into())).collect(),
        }
    }
}

impl From<WireProvider> for Provider {
    fn from(provider: WireProvider) -> Provider {
        let WireProvider { format, base_url, key, is_small, is_free, max_concurrent_requests, models, .. } = provider;
        let WireProvider { headers, query, model_names, user_agent, .. } = provider;
        let headers = headers.into_iter().map(|WireHeader { name, value }| (name, value.into())).collect();
        Provider {
            wire: match format {
                WireModelFormat::Anthropic => WireFormat::Anthropic,
                WireModelFormat::Responses => WireFormat::Responses,
                WireModelFormat::Chat => WireFormat::Chat,
            },
            base_url,
            key: match key {
                WireKey::NotNeeded => ProviderKey::NotNeeded,
                WireKey::Missing { variable } => ProviderKey::Missing { variable },
                WireKey::Present { key } => ProviderKey::Present(key.into()),
            },
            tokens: None,
            is_small,
            is_free,
            max_concurrent_requests,
            extra: RequestExtras { headers, query, model_names, user_agent },
            models: models.into_iter().map(|(name, listing)| (name, listing.into())).collect(),
        }
    }
}

impl From<ModelListing> for WireListing {
    fn from(ModelListing { price, context_tokens, max_output_tokens }: ModelListing) -> WireListing {
        WireListing { price, context_tokens, max_output_tokens }
    }
}

impl From<WireListing> for ModelListing {
    fn from(WireListing { price, context_tokens, max_output_tokens }: WireListing) -> ModelListing {
        ModelListing { price, context_tokens, max_output_tokens }
    }
}

impl From<&Secret> for WireSecret {
    fn from(secret: &Secret) -> WireSecret {
        WireSecret { value: secret.reveal().to_owned(), variable: secret.variable().map(str::to_owned) }
    }
}

impl From<WireSecret> for Secret {
    fn from(WireSecret { value, variable }: WireSecret) -> Secret {
        match variable {
            Some(variable) => Secret::new(value).found_in(variable),
            None => Secret::new(value),
        }
    }
}

impl From<&NetworkRoute> for WireRoute {
    fn from(route: &NetworkRoute) -> WireRoute {
        let NetworkRoute { http_proxy, https_proxy, no_proxy, ca_file, ca_dir } = route.clone();
        let (ca_file, ca_dir) = (ca_file.map(PathBuf::into_os_string), ca_dir.map(PathBuf::into_os_string));
        WireRoute { http_proxy, https_proxy, no_proxy, ca_file, ca_dir }
    }
}

impl From<WireRoute> for NetworkRoute {
    fn from(route: WireRoute) -> NetworkRoute {
        let WireRoute { http_proxy, https_proxy, no_proxy, ca_file, ca_dir } = route;
        let (ca_file, ca_dir) = (ca_file.map(PathBuf::from), ca_dir.map(PathBuf::from));
        NetworkRoute { http_proxy, https_proxy, no_proxy, ca_file, ca_dir }
    }
}
