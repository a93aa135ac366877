//! Asks a local model server for its models.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use net::{HttpClient, HttpTimeouts, NetError, NetworkRoute};
use serde::Deserialize;

use crate::provider::ModelAccess;

/// The time limit for a server on this machine.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// The maximum size of the response.
const MAX_RESPONSE_BYTES: usize = 1 << 20;

/// The result of probing an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeResult {
    /// A server with these models.
    Running(Vec<String>),
    /// No server answers.
    NotRunning,
    /// A server answers in another format.
    OtherServer,
}

/// Ollama's model list.
#[derive(Deserialize)]
struct OllamaTags {
    models: Vec<OllamaTag>,
}

#[derive(Deserialize)]
struct OllamaTag {
    name: String,
}

/// The model list of OpenAI-compatible servers.
#[derive(Deserialize)]
struct ModelListResponse {
    data: Vec<ModelListEntry>,
}

#[derive(Deserialize)]
struct ModelListEntry {
    id: String,
}

impl ProbeResult {
    /// The models of a server that runs.
    pub fn models(&self) -> &[String] {
        match self {
            ProbeResult::Running(models) => models,
            ProbeResult::NotRunning | ProbeResult::OtherServer => &[],
        }
    }
}

/// The models of the servers on this machine. No other host is contacted.
pub async fn probe_local_servers(access: &ModelAccess) -> BTreeMap<String, ProbeResult> {
    let by_name = &access.providers.by_name;
    let servers = access.local_servers.iter().filter_map(|name| Some((name, &by_name.get(name)?.base_url)));
    let answers = servers.map(async |(name, url)| (name.clone(), probe_server(name, url).await));
    join_all(answers).await.into_iter().collect()
}

/// Probes the server of this name at its base URL.
async fn probe_server(name: &str, base_url: &str) -> ProbeResult {
    let is_ollama = name == "ollama";
    let url = match base_url.strip_suffix("/v1") {
        Some(root) if is_ollama => format!("{root}/api/tags"),
        Some(_) | None => format!("{base_url}/models"),
    };
    match tokio::time::timeout(PROBE_TIMEOUT, get(&url)).await {
        Ok(Ok(text)) => {
            let models = if is_ollama {
                parse_ollama_tags(&text).or_else(|| parse_model_list(&text))
            } else {
                parse_model_list(&text)
            };
            models.map_or(ProbeResult::OtherServer, ProbeResult::Running)
        }
        Ok(Err(_)) | Err(_) => ProbeResult::NotRunning,
    }
}

async fn get(url: &str) -> Result<String, NetError> {
    let timeouts = HttpTimeouts { connect: PROBE_TIMEOUT, first_byte: PROBE_TIMEOUT, idle: PROBE_TIMEOUT };
    HttpClient::new(NetworkRoute::default(), timeouts).get(url, &[]).await?.text(MAX_RESPONSE_BYTES).await
}

fn parse_ollama_tags(text: &str) -> Option<Vec<String>> {
    let tags: OllamaTags = serde_json::from_str(text).ok()?;
    Some(tags.models.into_iter().map(|tag| tag.name).collect())
}

fn parse_model_list(text: &str) -> Option<Vec<String>> {
    let listing: ModelListResponse = serde_json::from_str(text).ok()?;
    Some(listing.data.into_iter().map(|entry| entry.id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_lists_are_read() {
        let expected = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            parse_ollama_tags(r#"{"models":[{"name":"qwen3:8b","size":5},{"name":"b"}]}"#),
            expected(&["qwen3:8b", "b"])
        );
        assert_eq!(
            parse_model_list(r#"{"object":"list","data":[{"id":"model.gguf"}],"models":[]}"#),
            expected(&["model.gguf"])
        );
        for other in ["", "{}", "[]", "<html>", r#"{"models":"many"}"#] {
            assert_eq!((parse_ollama_tags(other), parse_model_list(other)), (None, None), "{other}");
        }
    }
}
