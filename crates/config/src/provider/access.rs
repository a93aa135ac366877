//! Access to models, from the settings, the environment and the built-in providers.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use model::{ModelListing, Provider, ProviderKey, Providers, RequestExtras, TurnHeaders, WireFormat, prices};
use net::{HttpTimeouts, Secret};

use super::address::ProviderAddress;
use super::built_in::{BUILT_IN, BuiltInProvider};
use super::file::{ProviderFile, ProviderKind};
use super::{ModelFile, ProviderError};
use crate::Env;
use crate::file::EnvironmentSettings;
use crate::variables::HiddenVariables;

/// Access to models, and the secrets that must stay hidden.
#[derive(Debug, Clone)]
pub struct ModelAccess {
    /// All providers.
    pub providers: Providers,
    /// The keys, which must never be written.
    pub secrets: Vec<Secret>,
    /// The environment of started programs, without keys.
    pub program_env: Vec<(OsString, OsString)>,
    /// The built-in local model servers to look for on this machine.
    pub local_servers: Vec<String>,
}

/// Provider settings, by name.
pub(crate) type ProviderTable = BTreeMap<String, ProviderFile>;

/// Settings that affect providers.
#[derive(Clone, Copy)]
pub(crate) struct ProviderSources<'a> {
    /// Provider settings.
    pub(crate) file: &'a ProviderTable,
    /// The providers whose address overrides the environment.
    pub(crate) pinned_providers: &'a BTreeSet<String>,
    /// Environment settings, strongest first.
    pub(crate) environment: &'a [EnvironmentSettings],
    /// A variable with a key that is not a provider's.
    pub(crate) token_variable: Option<&'a str>,
}

/// Fails unless every provider in a file is valid.
pub(crate) fn check_providers(file: &ProviderTable) -> Result<(), ProviderError> {
    let sources = ProviderSources { file, pinned_providers: &BTreeSet::new(), environment: &[], token_variable: None };
    open_access(sources, HttpTimeouts::default(), &Env::default()).map(|_access| ())
}

/// Providers that the environment relocates: the variable, the provider, and its address.
pub(crate) fn relocated(env: &Env) -> impl Iterator<Item = (&'static str, &'static str, String)> {
    BUILT_IN.iter().filter_map(|known| Some((known.address_variable?, known.name, known.relocated(env)?)))
}

/// Resolves all providers.
pub(crate) fn open_access(
    sources: ProviderSources<'_>,
    timeouts: HttpTimeouts,
    env: &Env,
) -> Result<ModelAccess, ProviderError> {
    let ProviderSources { file, pinned_providers: pinned, environment, token_variable: token } = sources;
    let names: BTreeSet<&str> =
        BUILT_IN.iter().map(|known| known.name).chain(file.keys().map(String::as_str)).collect();
    let mut by_name = BTreeMap::new();
    let (mut variables, mut local) = (BTreeSet::from_iter(token.map(str::to_owned)), Vec::new());
    for name in names {
        let relocation =
            if pinned.contains(name) { None } else { relocated(env).find(|(_, relocation, _)| *relocation == name) };
        let relocation = relocation.map(|(variable, _, url)| (variable, url));
        let resolved = ResolvedProvider::new(name, file.get(name).cloned().unwrap_or_default(), relocation)?;
        variables.extend(resolved.key_env.clone());
        if resolved.address.is_loopback() && BuiltInProvider::find(name).is_some_and(BuiltInProvider::is_local) {
            local.push(name.to_owned());
        }
        by_name.insert(name.to_owned(), resolved.provider(env)?);
    }
    let priced = BUILT_IN.iter().filter(|known| known.price_list().is_some());
    let complete = priced.map(|known| known.name.to_owned()).collect();
    let keys = Env::key_variables(variables);
    let hidden = HiddenVariables { keys: &keys, settings: environment };
    Ok(ModelAccess {
        providers: Providers {
            by_name,
            fully_listed: complete,
            route: env.network_route(),
            timeouts,
            carrier: None,
            turn_headers: TurnHeaders::default(),
        },
        secrets: env.secrets(&hidden),
        program_env: env.for_programs(&hidden),
        local_servers: local,
    })
}

/// Secrets in the environment, which must never be written. Does not depend on valid providers.
pub(crate) fn secrets(sources: ProviderSources<'_>, env: &Env) -> Vec<Secret> {
    let named = sources.file.values().filter_map(|provider| provider.key_env.clone());
    let keys = Env::key_variables(named.chain(sources.token_variable.map(str::to_owned)).collect());
    env.secrets(&HiddenVariables { keys: &keys, settings: sources.environment })
}

/// A provider with defaults filled in.
struct ResolvedProvider<'a> {
    name: &'a str,
    kind: ProviderKind,
    address: ProviderAddress,
    key_env: Option<String>,
    settings: ProviderFile,
}

impl ResolvedProvider<'_> {
    /// Resolves a provider. `relocated` is the variable that relocates it, and the new address.
    fn new<'a>(
        name: &'a str,
        file: ProviderFile,
        relocated: Option<(&str, String)>,
    ) -> Result<ResolvedProvider<'a>, ProviderError> {
        let built_in = BuiltInProvider::find(name);
        let own = || name.to_owned();
        if !is_name(name) {
            return Err(ProviderError::Name { name: own() });
        }
        if file.key.is_some() {
            return Err(ProviderError::KeyInFile { name: own() });
        }
        let rest = file.over(built_in.map(BuiltInProvider::to_settings).unwrap_or_default());
        let kind = rest.kind.ok_or_else(|| ProviderError::NoKind { name: own() })?;
        let (place, url) = match (relocated, &rest.base_url) {
            (Some((variable, url)), _) => (variable.to_owned(), url),
            (None, Some(url)) => (format!("providers.{name}.base-url"), url.clone()),
            (None, None) => return Err(ProviderError::NoAddress { name: own() }),
        };
        let key_env = rest.key_env.clone().filter(|variable| !variable.is_empty());
        if key_env.as_deref().is_some_and(|variable| !is_variable(variable)) {
            return Err(ProviderError::KeyEnv { name: own() });
        }
        let wrong = |problem| ProviderError::Address { place, problem };
        let address = match ProviderAddress::parse(&url) {
            Ok(address) => address,
            Err(problem) => return Err(wrong(problem)),
        };
        if address.is_exposed() && key_env.is_some() && rest.insecure != Some(true) {
            return Err(wrong(
                "would send the key over plain http to another machine; use https, or set insecure = true",
            ));
        }
        if kind == ProviderKind::Anthropic && address.url.ends_with("/v1") {
            return Err(wrong("ends in /v1, which Bosun adds itself; leave it out"));
        }
        Ok(ResolvedProvider { name, kind, address, key_env, settings: rest })
    }

    fn provider(self, env: &Env) -> Result<Provider, ProviderError> {
        let ResolvedProvider { name, kind, address, key_env, settings: rest } = self;
        let key = match key_env {
            None => ProviderKey::NotNeeded,
            Some(variable) => env.key(&variable).map_or(ProviderKey::Missing { variable }, ProviderKey::Present),
        };
        let local = kind.wire() == WireFormat::Chat && address.is_loopback();
        let is_own_server = address.is_loopback() && BuiltInProvider::find(name).is_some_and(BuiltInProvider::is_local);
        let mut provider = Provider {
            wire: kind.wire(),
            base_url: address.url,
            is_free: is_own_server && key == ProviderKey::NotNeeded,
            key,
            tokens: None,
            is_small: rest.small.unwrap_or(local),
            max_concurrent_requests: rest.at_once.map(u32::from),
            extra: RequestExtras::default(),
            models: BuiltInProvider::find(name)
                .and_then(BuiltInProvider::price_list)
                .map(prices::price_table)
                .unwrap_or_default(),
        };
        for (model, file) in &rest.models {
            let listed = merge_listing(name, model, file, provider.listing(model))?;
            provider.models.insert(model.clone(), listed);
        }
        Ok(provider)
    }
}

/// Merges a file's information about a model over the built-in one.
fn merge_listing(
    provider: &str,
    model: &str,
    file: &ModelFile,
    known: ModelListing,
) -> Result<ModelListing, ProviderError> {
    Ok(ModelListing {
        price: file.price(provider, model)?.or(known.price),
        context_tokens: file.context.map(u64::from).or(known.context_tokens),
        max_output_tokens: file.max_output.map(u32::from).or(known.max_output_tokens),
    })
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.chars().all(plain) && !matches!(name, "script" | "replay")
}

fn is_variable(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
