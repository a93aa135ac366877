//! Finding out the context window of a model on a local server.

use std::collections::BTreeMap;
use std::sync::Arc;

use bosun_model::{Model, ModelListing, Provider, ProviderKey, Providers, WireFormat, open};
use net::Secret;

use super::server::{Act, Server};

/// A server that gives the same answer to everything.
async fn says(status: &str, body: &str) -> Server {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    Server::start(Act::Send(format!("{head}{body}"))).await
}

fn local(url: &str, key: ProviderKey, listed: ModelListing) -> Arc<dyn Model> {
    let models = BTreeMap::from([("m".to_owned(), listed)]);
    let at = Provider {
        is_small: true,
        max_concurrent_requests: Some(1),
        models,
        ..Provider::new(WireFormat::Chat, format!("{url}/v1"), key)
    };
    let providers = Providers { by_name: BTreeMap::from([("own".into(), at)]), ..Providers::default() };
    open("own/m", "/".as_ref(), &providers).unwrap()
}

async fn learnt(server: &Server) -> Option<u64> {
    let model = local(&server.url, ProviderKey::NotNeeded, ModelListing::default());
    assert_eq!(model.facts().context_tokens, None);
    model.refresh_facts().await;
    model.facts().context_tokens
}

/// B9.
#[tokio::test]
async fn context_window_of_a_local_model_is_requested_from_its_server() {
    let llama = says("200 OK", r#"{"default_generation_settings":{"id":0,"n_ctx":16384},"total_slots":1}"#).await;
    assert_eq!(learnt(&llama).await, Some(16_384));
    let ollama =
        says("200 OK", r#"{"models":[{"name":"x:7b","context_length":1},{"name":"m:latest","context_length":4096}]}"#)
            .await;
    assert_eq!(learnt(&ollama).await, Some(4096));
    let unloaded = says("200 OK", r#"{"models":[],"parameters":"num_ctx 8192"}"#).await;
    assert_eq!(learnt(&unloaded).await, Some(8192));
    assert!(unloaded.requests().last().unwrap().starts_with("POST /api/show "));
}

#[tokio::test]
async fn context_window_is_requested_until_the_server_has_answered() {
    let told = says("200 OK", r#"{"default_generation_settings":{"n_ctx":16384}}"#).await;
    let unknowing = says("404 Not Found", "{}").await;
    for (server, requests) in [(told, 1), (unknowing, 2)] {
        let model = local(&server.url, ProviderKey::NotNeeded, ModelListing::default());
        model.refresh_facts().await;
        model.refresh_facts().await;
        assert_eq!(server.requests().len(), requests);
    }
    let loading = says("503 Service Unavailable", "{}").await;
    let model = local(&loading.url, ProviderKey::NotNeeded, ModelListing::default());
    model.refresh_facts().await;
    model.refresh_facts().await;
    assert_eq!(loading.requests().len(), 2);
}

#[tokio::test]
async fn context_window_is_not_requested_if_known_or_if_a_key_is_needed() {
    let server = says("200 OK", r#"{"default_generation_settings":{"n_ctx":16384}}"#).await;
    let known = ModelListing { context_tokens: Some(5), ..ModelListing::default() };
    for model in [
        local(&server.url, ProviderKey::NotNeeded, known),
        local(&server.url, ProviderKey::Present(Secret::new("sk-1")), ModelListing::default()),
    ] {
        let before = model.facts().context_tokens;
        model.refresh_facts().await;
        assert_eq!(model.facts().context_tokens, before);
    }
    assert_eq!(server.requests().len(), 0);
}
