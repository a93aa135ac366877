//! Asks a server of local models for the context window of a model.

use std::time::Duration;

use bytes::Bytes;
use net::{HttpClient, HttpResponse, HttpTimeouts, NetError, NetworkRoute, PostRequest, RequestHeader};
use serde::Deserialize;
use serde_json::json;

/// Timeout for such a server.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum bytes of its answer.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// A server's answer about a model's context window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContextWindow {
    /// Its size in tokens.
    Tokens(u64),
    /// The server does not run yet, or has not loaded the model.
    NotReady,
    /// The server does not report it.
    NotReported,
}

/// The answer of llama-server to `/props`.
#[derive(Deserialize)]
struct LlamaServerProps {
    default_generation_settings: LlamaServerSettings,
}

#[derive(Deserialize)]
struct LlamaServerSettings {
    n_ctx: u64,
}

/// The answer of Ollama to `/api/ps`.
#[derive(Deserialize)]
struct OllamaProcesses {
    models: Vec<OllamaLoadedModel>,
}

#[derive(Deserialize)]
struct OllamaLoadedModel {
    name: String,
    context_length: Option<u64>,
}

/// The answer of Ollama to `/api/show`.
#[derive(Deserialize)]
struct OllamaModelInfo {
    #[serde(default)]
    parameters: String,
}

/// Asks the server at this base URL, with the requests of llama-server and of Ollama.
pub(super) async fn fetch_context_window(base_url: &str, model: &str) -> ContextWindow {
    let root = base_url.strip_suffix("/v1").unwrap_or(base_url);
    let client = HttpClient::new(
        NetworkRoute::default(),
        HttpTimeouts { connect: PROBE_TIMEOUT, first_byte: PROBE_TIMEOUT, idle: PROBE_TIMEOUT },
    );
    match response_text(client.get(&format!("{root}/props"), &[]).await).await {
        Err(window) => return window,
        Ok(text) => {
            if let Ok(props) = serde_json::from_str::<LlamaServerProps>(&text) {
                return ContextWindow::Tokens(props.default_generation_settings.n_ctx);
            }
        }
    }
    let loaded = match response_text(client.get(&format!("{root}/api/ps"), &[]).await).await {
        Err(window) => return window,
        Ok(text) => serde_json::from_str::<OllamaProcesses>(&text),
    };
    let Ok(OllamaProcesses { models }) = loaded else { return ContextWindow::NotReported };
    let latest = format!("{model}:latest");
    let running = models.into_iter().find(|running| running.name == model || running.name == latest);
    if let Some(tokens) = running.as_ref().and_then(|running| running.context_length) {
        return ContextWindow::Tokens(tokens);
    }
    let show = PostRequest {
        url: format!("{root}/api/show"),
        headers: vec![RequestHeader::plain("content-type", "application/json")],
        body: Bytes::from(json!({ "model": model }).to_string()),
    };
    let shown = response_text(client.post(show).await).await.ok();
    match shown.and_then(|text| configured_context(&text)) {
        Some(tokens) => ContextWindow::Tokens(tokens),
        // Once it is loaded, the server knows its context.
        None if running.is_none() => ContextWindow::NotReady,
        None => ContextWindow::NotReported,
    }
}

/// The text of an answer; empty after an error, unless a retry may succeed.
async fn response_text(answer: Result<HttpResponse, NetError>) -> Result<String, ContextWindow> {
    const LOADING: u16 = 503;
    let answer = answer.map_err(|_unreached| ContextWindow::NotReady)?;
    match answer.status() {
        200 => answer.text(MAX_ANSWER_BYTES).await.map_err(|_cut| ContextWindow::NotReady),
        LOADING => Err(ContextWindow::NotReady),
        _other => Ok(String::new()),
    }
}

/// The context configured in a model's own file, which it has whenever it is loaded.
fn configured_context(text: &str) -> Option<u64> {
    let OllamaModelInfo { parameters } = serde_json::from_str(text).ok()?;
    let mut lines = parameters.lines().map(str::split_whitespace);
    lines.find_map(|mut words| words.next().filter(|name| *name == "num_ctx").and(words.next())?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configured_context_is_found_among_the_parameters() {
        let shown = |parameters: &str| configured_context(&json!({ "parameters": parameters }).to_string());
        assert_eq!(shown("temperature 0.6\nnum_ctx                        8192\nstop \"x\""), Some(8192));
        assert_eq!(shown("num_ctx many\n"), None);
        assert_eq!((shown(""), configured_context("{}"), configured_context("")), (None, None, None));
    }
}
