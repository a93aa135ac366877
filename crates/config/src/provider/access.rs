//! The way to every model: what the user's file, the environment and Bosun itself know of the providers.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use model::{Extra, Key, Listed, Provider, Providers, Wire, prices};
use net::{Patience, Secret};

use super::address::Address;
use super::built_in::{BUILT_IN, BuiltIn};
use super::file::{Kind, ProviderFile};
use super::{ModelFile, ProviderError};
use crate::Env;
use crate::file::Environment;
use crate::variables::Hidden;

/// The way to every model, and what has to stay hidden on it.
#[derive(Debug, Clone)]
pub struct Access {
    /// Every place that models can be asked at.
    pub providers: Providers,
    /// The keys, which must never be written anywhere.
    pub secrets: Vec<Secret>,
    /// What started programs get of the environment: no key is in it.
    pub programs: Vec<(OsString, OsString)>,
    /// The built-in servers of local models that are looked for on this machine.
    pub local: Vec<String>,
}

/// What files say of providers, by name.
pub(crate) type Layer = BTreeMap<String, ProviderFile>;

/// What settings say.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    /// Of providers.
    pub(crate) file: &'a Layer,
    /// Those whose address stands above what the environment says.
    pub(crate) placed: &'a BTreeSet<String>,
    /// Of variables, strongest first.
    pub(crate) environment: &'a [Environment],
    /// A variable that holds another key than a provider's.
    pub(crate) token: Option<&'a str>,
}

/// Fails unless every provider of a file could be asked.
pub(crate) fn check(file: &Layer) -> Result<(), ProviderError> {
    let sources = Sources { file, placed: &BTreeSet::new(), environment: &[], token: None };
    open(sources, Patience::default(), &Env::default()).map(|_access| ())
}

/// Where the environment moves providers: the variable, the provider, and its address.
pub(crate) fn moved(env: &Env) -> impl Iterator<Item = (&'static str, &'static str, String)> {
    BUILT_IN.iter().filter_map(|known| Some((known.variable?, known.name, known.moved(env)?)))
}

/// Puts together what is known.
pub(crate) fn open(sources: Sources<'_>, patience: Patience, env: &Env) -> Result<Access, ProviderError> {
    let Sources { file, placed, environment, token } = sources;
    let names: BTreeSet<&str> =
        BUILT_IN.iter().map(|known| known.name).chain(file.keys().map(String::as_str)).collect();
    let mut places = BTreeMap::new();
    let (mut variables, mut local) = (BTreeSet::from_iter(token.map(str::to_owned)), Vec::new());
    for name in names {
        let moved = if placed.contains(name) { None } else { moved(env).find(|(_, moved, _)| *moved == name) };
        let moved = moved.map(|(variable, _, url)| (variable, url));
        let described = Described::new(name, file.get(name).cloned().unwrap_or_default(), moved)?;
        variables.extend(described.key_env.clone());
        if described.address.is_loopback() && BuiltIn::named(name).is_some_and(BuiltIn::is_local) {
            local.push(name.to_owned());
        }
        places.insert(name.to_owned(), described.provider(env)?);
    }
    let priced = BUILT_IN.iter().filter(|known| known.prices().is_some());
    let complete = priced.map(|known| known.name.to_owned()).collect();
    let keys = Env::keys(variables);
    let hidden = Hidden { keys: &keys, settings: environment };
    Ok(Access {
        providers: Providers { places, complete, route: env.route(), patience },
        secrets: env.secrets(&hidden),
        programs: env.for_programs(&hidden),
        local,
    })
}

/// What the environment holds that must not be written anywhere, whether or not every provider can be asked.
pub(crate) fn secrets(sources: Sources<'_>, env: &Env) -> Vec<Secret> {
    let named = sources.file.values().filter_map(|provider| provider.key_env.clone());
    let keys = Env::keys(named.chain(sources.token.map(str::to_owned)).collect());
    env.secrets(&Hidden { keys: &keys, settings: sources.environment })
}

/// One provider with everything in place.
struct Described<'a> {
    name: &'a str,
    kind: Kind,
    address: Address,
    key_env: Option<String>,
    rest: ProviderFile,
}

impl Described<'_> {
    /// `moved` is the variable that moves it, and where.
    fn new<'a>(
        name: &'a str,
        file: ProviderFile,
        moved: Option<(&str, String)>,
    ) -> Result<Described<'a>, ProviderError> {
        let built_in = BuiltIn::named(name);
        let own = || name.to_owned();
        if !is_name(name) {
            return Err(ProviderError::Name { name: own() });
        }
        if file.key.is_some() {
            return Err(ProviderError::KeyInFile { name: own() });
        }
        let rest = file.over(built_in.map(BuiltIn::layer).unwrap_or_default());
        let kind = rest.kind.ok_or_else(|| ProviderError::NoKind { name: own() })?;
        let (place, url) = match (moved, &rest.base_url) {
            (Some((variable, url)), _) => (variable.to_owned(), url),
            (None, Some(url)) => (format!("providers.{name}.base-url"), url.clone()),
            (None, None) => return Err(ProviderError::NoAddress { name: own() }),
        };
        let key_env = rest.key_env.clone().filter(|variable| !variable.is_empty());
        if key_env.as_deref().is_some_and(|variable| !is_variable(variable)) {
            return Err(ProviderError::KeyEnv { name: own() });
        }
        let wrong = |problem| ProviderError::Address { place, problem };
        let address = match Address::parse(&url) {
            Ok(address) => address,
            Err(problem) => return Err(wrong(problem)),
        };
        if address.is_exposed() && key_env.is_some() && rest.insecure != Some(true) {
            return Err(wrong(
                "would send the key over plain http to another machine; use https, or set insecure = true",
            ));
        }
        if kind == Kind::Anthropic && address.url.ends_with("/v1") {
            return Err(wrong("ends in /v1, which is added to it; leave that out"));
        }
        Ok(Described { name, kind, address, key_env, rest })
    }

    fn provider(self, env: &Env) -> Result<Provider, ProviderError> {
        let Described { name, kind, address, key_env, rest } = self;
        let key = match key_env {
            None => Key::Needless,
            Some(variable) => env.key(&variable).map_or(Key::Missing { variable }, Key::Given),
        };
        let local = kind.wire() == Wire::Chat && address.is_loopback();
        let mut provider = Provider {
            wire: kind.wire(),
            base_url: address.url,
            key,
            small: rest.small.unwrap_or(local),
            at_once: rest.at_once.map(u32::from),
            extra: Extra::default(),
            models: BuiltIn::named(name).and_then(BuiltIn::prices).map(prices::table).unwrap_or_default(),
        };
        for (model, file) in &rest.models {
            let listed = listed(name, model, file, provider.listed(model))?;
            provider.models.insert(model.clone(), listed);
        }
        Ok(provider)
    }
}

/// What is known of a model, where a file adds to what is known anyway.
fn listed(provider: &str, model: &str, file: &ModelFile, known: Listed) -> Result<Listed, ProviderError> {
    Ok(Listed {
        price: file.price(provider, model)?.or(known.price),
        context: file.context.map(u64::from).or(known.context),
        max_output: file.max_output.map(u32::from).or(known.max_output),
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
