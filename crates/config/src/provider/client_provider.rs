//! A provider that a session's client supplies. It is not in any file, and nothing of it is stored.

use model::{Provider, ProviderKey};
use net::Secret;

use super::address::ProviderAddress;
use super::{ModelAccess, ProviderError};

/// Maximum bytes of the name of a program in requests.
const MAX_PROGRAM_BYTES: usize = 128;

impl ModelAccess {
    /// Adds a provider and hides its secrets. `place` names the field with its address in error messages.
    pub fn add_provider(&mut self, name: &str, place: &str, provider: Provider) -> Result<(), ProviderError> {
        let provider = checked_provider(place, provider)?;
        self.secrets.extend(secrets(&provider).cloned());
        self.providers.by_name.insert(name.to_owned(), provider);
        Ok(())
    }

    /// Names the program on whose behalf all providers are called. A name that is no text for a header is left out.
    pub(crate) fn set_user_agent(&mut self, program: &str) {
        let is_valid = !program.is_empty() && program.len() <= MAX_PROGRAM_BYTES;
        if is_valid && program.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            for provider in self.providers.by_name.values_mut() {
                provider.extra.user_agent = Some(program.to_owned());
            }
        }
    }
}

/// The provider with its normalized address, unless a key would be sent to it unprotected.
pub(crate) fn checked_provider(place: &str, provider: Provider) -> Result<Provider, ProviderError> {
    let wrong = |problem| ProviderError::Address { place: place.to_owned(), problem };
    let address = ProviderAddress::parse(&provider.base_url).map_err(wrong)?;
    if address.is_exposed() && (secrets(&provider).next().is_some() || provider.tokens.is_some()) {
        return Err(wrong("would send a key over plain http to another machine; use https"));
    }
    Ok(Provider { base_url: address.url, ..provider })
}

fn secrets(provider: &Provider) -> impl Iterator<Item = &Secret> {
    let key = match &provider.key {
        ProviderKey::Present(secret) => Some(secret),
        ProviderKey::NotNeeded | ProviderKey::Missing { .. } => None,
    };
    key.into_iter().chain(provider.extra.headers.iter().map(|(_, value)| value))
}

#[cfg(test)]
mod tests {

    use model::{RequestExtras, WireFormat};

    use super::*;
    use crate::{Env, SettingsFile};

    fn add_client_provider(base_url: &str, key: ProviderKey) -> Result<ModelAccess, ProviderError> {
        let mut access = SettingsFile::default().resolve().access(&Env::default()).unwrap();
        let extra =
            RequestExtras { headers: vec![("x-team".into(), Secret::new("blue-team"))], ..RequestExtras::default() };
        let provider = Provider { extra, ..Provider::new(WireFormat::Chat, base_url, key) };
        access.add_provider("client", "baseUrl", provider).map(|()| access)
    }

    #[test]
    fn a_client_s_provider_is_usable_and_its_secrets_are_hidden() {
        let access =
            add_client_provider("http://127.0.0.1:9/v1/", ProviderKey::Present(Secret::new("sk-client-1"))).unwrap();
        assert_eq!(access.providers.by_name["client"].base_url, "http://127.0.0.1:9/v1");
        let hidden: Vec<&str> = access.secrets.iter().map(Secret::reveal).collect();
        assert_eq!(hidden, ["sk-client-1", "blue-team"]);
        assert!(!format!("{access:?}").contains("sk-client-1"));
    }

    #[test]
    fn the_name_of_a_program_is_sent_if_it_is_valid() {
        let mut access = add_client_provider("http://127.0.0.1:9/v1/", ProviderKey::NotNeeded).unwrap();
        for invalid in ["", "a\r\nx: y", &"x".repeat(MAX_PROGRAM_BYTES + 1)] {
            access.set_user_agent(invalid);
            assert_eq!(access.providers.by_name["client"].extra.user_agent, None, "{invalid:?}");
        }
        access.set_user_agent("my-app 1.0");
        assert_eq!(access.providers.by_name["client"].extra.user_agent.as_deref(), Some("my-app 1.0"));
    }

    #[test]
    fn a_client_s_key_does_not_go_over_plain_http_to_another_machine() {
        let refused =
            add_client_provider("http://example.com/v1", ProviderKey::Present(Secret::new("sk-client-1"))).unwrap_err();
        assert!(refused.to_string().starts_with("baseUrl would send a key"), "{refused}");
        assert!(add_client_provider("nonsense", ProviderKey::NotNeeded).is_err());
    }
}
