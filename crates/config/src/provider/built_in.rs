//! The providers that need no file.

use std::num::NonZeroU32;

use model::WireFormat;

use super::address;
use super::file::{ProviderFile, ProviderKind};
use crate::Env;
use crate::env::{ANTHROPIC_KEY, ANTHROPIC_URL, OLLAMA_HOST, OPENAI_KEY, OPENAI_URL};

/// One provider that needs no file.
pub(super) struct BuiltInProvider {
    pub(super) name: &'static str,
    kind: ProviderKind,
    url: &'static str,
    key_variable: Option<&'static str>,
    /// Its default model.
    pub(super) default_model: Option<&'static str>,
    /// The variable that relocates it.
    pub(super) address_variable: Option<&'static str>,
}

#[rustfmt::skip]
pub(super) const BUILT_IN: [BuiltInProvider; 7] = [
    BuiltInProvider { name: "anthropic", kind: ProviderKind::Anthropic, url: "https://api.anthropic.com", key_variable: Some(ANTHROPIC_KEY), default_model: Some("claude-sonnet-5-5"), address_variable: Some(ANTHROPIC_URL) },
    BuiltInProvider { name: "openai", kind: ProviderKind::Openai, url: "https://api.openai.com/v1", key_variable: Some(OPENAI_KEY), default_model: Some("gpt-6.1-sol"), address_variable: Some(OPENAI_URL) },
    BuiltInProvider { name: "openai-chat", kind: ProviderKind::OpenaiChat, url: "https://api.openai.com/v1", key_variable: Some(OPENAI_KEY), default_model: None, address_variable: Some(OPENAI_URL) },
    BuiltInProvider { name: "ollama", kind: ProviderKind::OpenaiChat, url: "http://127.0.0.1:11434/v1", key_variable: None, default_model: None, address_variable: Some(OLLAMA_HOST) },
    BuiltInProvider { name: "llamacpp", kind: ProviderKind::OpenaiChat, url: "http://127.0.0.1:8080/v1", key_variable: None, default_model: None, address_variable: None },
    BuiltInProvider { name: "llama-server", kind: ProviderKind::OpenaiChat, url: "http://127.0.0.1:9931/v1", key_variable: None, default_model: None, address_variable: None },
    BuiltInProvider { name: "lmstudio", kind: ProviderKind::OpenaiChat, url: "http://127.0.0.1:1234/v1", key_variable: None, default_model: None, address_variable: None },
];

impl BuiltInProvider {
    pub(super) fn find(name: &str) -> Option<&'static BuiltInProvider> {
        BUILT_IN.iter().find(|built_in| built_in.name == name)
    }

    /// Whether it is a local server, which needs no key.
    pub(super) fn is_local(&self) -> bool {
        self.key_variable.is_none()
    }

    /// Its settings as the weakest layer.
    pub(super) fn to_settings(&self) -> ProviderFile {
        ProviderFile {
            kind: Some(self.kind),
            base_url: Some(self.url.into()),
            key_env: self.key_variable.map(str::to_owned),
            small: Some(self.is_local()),
            at_once: self.is_local().then_some(NonZeroU32::MIN),
            ..ProviderFile::default()
        }
    }

    /// The address to which the environment relocates it.
    pub(super) fn relocated(&self, env: &Env) -> Option<String> {
        let text = env.text(self.address_variable?)?;
        Some(if self.address_variable == Some(OLLAMA_HOST) { address::ollama_address(&text) } else { text })
    }

    /// The vendor whose list prices apply to it, if any.
    pub(super) fn price_list(&self) -> Option<WireFormat> {
        (!self.is_local()).then(|| self.kind.wire())
    }
}
