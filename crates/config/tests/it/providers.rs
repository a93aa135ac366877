//! The providers, their addresses, and facts about their models.

use model::{ModelListing, Provider, ProviderKey, WireFormat};
use net::Secret;
use protocol::Price;

use crate::{access, read};

#[track_caller]
fn provider(name: &str, text: &str, vars: &[(&str, &str)]) -> Provider {
    access(text, vars).unwrap().providers.by_name.remove(name).unwrap()
}

fn given(words: &str, variable: &str) -> ProviderKey {
    ProviderKey::Present(Secret::new(words).found_in(variable))
}

fn missing(variable: &str) -> ProviderKey {
    ProviderKey::Missing { variable: variable.into() }
}

#[test]
fn default_providers_need_no_settings() {
    let providers = access("", &[]).unwrap().providers.by_name;
    let seen: Vec<_> = providers
        .iter()
        .map(|(name, provider)| {
            (
                name.as_str(),
                provider.wire,
                provider.base_url.as_str(),
                provider.is_small,
                provider.max_concurrent_requests,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("anthropic", WireFormat::Anthropic, "https://api.anthropic.com", false, None),
            ("llama-server", WireFormat::Chat, "http://127.0.0.1:9931/v1", true, Some(1)),
            ("llamacpp", WireFormat::Chat, "http://127.0.0.1:8080/v1", true, Some(1)),
            ("lmstudio", WireFormat::Chat, "http://127.0.0.1:1234/v1", true, Some(1)),
            ("ollama", WireFormat::Chat, "http://127.0.0.1:11434/v1", true, Some(1)),
            ("openai", WireFormat::Responses, "https://api.openai.com/v1", false, None),
            ("openai-chat", WireFormat::Chat, "https://api.openai.com/v1", false, None),
        ]
    );
    let keys: Vec<&ProviderKey> = providers.values().map(|provider| &provider.key).collect();
    let (anthropic, openai) = (missing("ANTHROPIC_API_KEY"), missing("OPENAI_API_KEY"));
    assert_eq!(
        keys,
        [
            &anthropic,
            &ProviderKey::NotNeeded,
            &ProviderKey::NotNeeded,
            &ProviderKey::NotNeeded,
            &ProviderKey::NotNeeded,
            &openai,
            &openai
        ]
    );
}

#[test]
fn keys_and_addresses_come_from_the_environment() {
    let vars = [("ANTHROPIC_API_KEY", " sk-1\n"), ("ANTHROPIC_BASE_URL", "https://proxy/anthropic/")];
    let anthropic = provider("anthropic", "", &vars);
    assert_eq!(anthropic.key, given("sk-1", "ANTHROPIC_API_KEY"));
    assert_eq!(anthropic.base_url, "https://proxy/anthropic");
    assert!(anthropic.listing("claude-opus-5").price.is_some(), "behind a proxy are the same models");
    let vars = [("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"), ("OLLAMA_HOST", "0.0.0.0:9")];
    for name in ["openai", "openai-chat", "ollama"] {
        assert_eq!(provider(name, "", &vars).base_url, "http://127.0.0.1:9/v1", "{name}");
    }
    assert_eq!(provider("openai", "", &[("OPENAI_API_KEY", " ")]).key, missing("OPENAI_API_KEY"));
}

#[test]
fn local_model_servers_are_found_only_on_this_machine() {
    assert_eq!(access("", &[]).unwrap().local_servers, ["llama-server", "llamacpp", "lmstudio", "ollama"]);
    let elsewhere = "[providers.lmstudio]\nbase-url = 'http://10.0.0.1:1234/v1'\n";
    assert_eq!(access(elsewhere, &[("OLLAMA_HOST", "box")]).unwrap().local_servers, ["llama-server", "llamacpp"]);
}

#[test]
fn settings_change_only_the_named_fields_of_a_provider() {
    let text = "[providers.openai]\nkey-env = 'WORK_KEY'\nat-once = 4\n";
    let openai = provider("openai", text, &[("OPENAI_API_KEY", "sk-1"), ("WORK_KEY", "sk-2")]);
    assert_eq!((openai.key, openai.max_concurrent_requests), (given("sk-2", "WORK_KEY"), Some(4)));
    assert_eq!((openai.wire, &*openai.base_url), (WireFormat::Responses, "https://api.openai.com/v1"));
    let moved = provider("ollama", "[providers.ollama]\nbase_url = 'http://box:1/v1'\nsmall = false\n", &[]);
    assert_eq!((&*moved.base_url, moved.is_small, moved.key), ("http://box:1/v1", false, ProviderKey::NotNeeded));
}

#[test]
fn user_defined_provider_has_its_settings() {
    let text =
        "[providers.gateway]\nkind = 'anthropic'\nbase-url = 'https://gateway.example/'\nkey-env = 'GATEWAY_KEY'\n";
    let gateway = provider("gateway", text, &[]);
    assert_eq!((gateway.wire, &*gateway.base_url), (WireFormat::Anthropic, "https://gateway.example"));
    assert_eq!(
        (gateway.key.clone(), gateway.is_small, gateway.max_concurrent_requests),
        (missing("GATEWAY_KEY"), false, None)
    );
    assert_eq!(gateway.listing("claude-opus-5"), ModelListing::default(), "list prices hold for the makers only");
    let local = "[providers.vllm]\nkind = 'openai-chat'\nbase-url = 'http://localhost:8000/v1'\n";
    let vllm = provider("vllm", local, &[]);
    assert_eq!((vllm.key, vllm.is_small), (ProviderKey::NotNeeded, true));
    let far = "[providers.vllm]\nkind = 'openai-chat'\nbase-url = 'http://10.0.0.1:8000/v1'\n";
    assert!(!provider("vllm", far, &[]).is_small);
    let exposed =
        "[providers.vllm]\nkind = 'openai'\nbase-url = 'http://10.0.0.1/v1'\nkey-env = 'K'\ninsecure = true\n";
    assert_eq!(provider("vllm", exposed, &[]).key, missing("K"));
    let keyless = "[providers.openai]\nkey-env = ''\nbase-url = 'http://10.0.0.1/v1'\n";
    assert_eq!(provider("openai", keyless, &[("OPENAI_API_KEY", "sk-1")]).key, ProviderKey::NotNeeded);
}

#[test]
fn prices_in_settings_override_the_list() {
    let text = "
[providers.anthropic.models.'claude-opus-5']
context = 200_000
[providers.anthropic.models.'claude-sonnet-4-5-20250929']
input = 1.5
output = 7
cache_read = 0.15
[providers.ollama.models.'qwen3:8b']
context = 32768
max-output = 4096
input = 0
output = 0
";
    let anthropic = provider("anthropic", text, &[]);
    let opus = anthropic.listing("claude-opus-5");
    assert_eq!((opus.context_tokens, opus.price.map(|price| price.input)), (Some(200_000), Some(5_000_000)));
    let sonnet = anthropic.listing("claude-sonnet-4-5-20250929");
    let price = Price { input: 1_500_000, output: 7_000_000, cache_read: 150_000, cache_write: 1_500_000 };
    assert_eq!((sonnet.price, sonnet.context_tokens), (Some(price), Some(200_000)));
    assert_ne!(anthropic.listing("claude-sonnet-4-5").price, Some(price));
    let qwen = provider("ollama", text, &[]).listing("qwen3:8b");
    let free =
        ModelListing { price: Some(Price::default()), context_tokens: Some(32_768), max_output_tokens: Some(4_096) };
    assert_eq!(qwen, free);
}

#[test]
fn models_on_this_machine_cost_nothing() {
    let price = |name: &str, text: &str, vars: &[(&str, &str)]| provider(name, text, vars).listing("any").price;
    for server in ["ollama", "llamacpp", "llama-server", "lmstudio"] {
        assert_eq!(price(server, "", &[]), Some(Price::default()), "{server}");
    }
    assert_eq!(price("ollama", "", &[("OLLAMA_HOST", "gpu.lan")]), None);
    assert_eq!(price("ollama", "[providers.ollama]\nkey-env = 'OLLAMA_KEY'\n", &[]), None);
    // It may be a gateway to a paid provider.
    assert_eq!(price("own", "[providers.own]\nkind = 'openai-chat'\nbase-url = 'http://localhost/v1'\n", &[]), None);
}

#[test]
fn debug_output_hides_keys() {
    let text = "[providers.gateway]\nkind = 'openai'\nbase-url = 'https://g/v1'\nkey-env = 'GATEWAY_KEY'\n";
    let vars = [
        ("ANTHROPIC_API_KEY", "sk-1"),
        ("ANTHROPIC_AUTH_TOKEN", "sk-2"),
        ("OPENAI_API_KEY", "sk-3"),
        ("GATEWAY_KEY", "sk-4"),
        ("PATH", "/bin"),
    ];
    let env = config::Env::from(vars.map(|(name, value)| (name.into(), value.into())).to_vec());
    assert_eq!(read(text).unwrap().secrets(&env).len(), 4);
    let access = access(text, &vars).unwrap();
    assert_eq!(access.program_env, [("PATH".into(), "/bin".into())]);
    let mut secrets: Vec<&str> = access.secrets.iter().map(Secret::reveal).collect();
    secrets.sort_unstable();
    assert_eq!(secrets, ["sk-1", "sk-2", "sk-3", "sk-4"]);
    assert!(!format!("{access:?}").contains("sk-"));
}
