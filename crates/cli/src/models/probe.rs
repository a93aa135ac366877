//! Asks a server of local models what it serves.

use std::time::Duration;

use net::{Client, NetError, Patience, Route};
use serde::Deserialize;

/// How long a server on this machine may take.
const LIMIT: Duration = Duration::from_millis(500);

/// Most bytes of its answer.
const MOST: usize = 1 << 20;

/// What was found at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// A server with these models.
    Running(Vec<String>),
    /// Nobody who answers.
    Nobody,
    /// Somebody who answers otherwise.
    Stranger,
}

/// Ollama's list.
#[derive(Deserialize)]
struct Tags {
    models: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
}

/// The list that everything compatible has.
#[derive(Deserialize)]
struct Listing {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
}

/// Asks the server of this name at its base URL.
pub(super) async fn ask(name: &str, base_url: &str) -> Found {
    let ollama = name == "ollama";
    let url = match base_url.strip_suffix("/v1") {
        Some(root) if ollama => format!("{root}/api/tags"),
        Some(_) | None => format!("{base_url}/models"),
    };
    match tokio::time::timeout(LIMIT, get(&url)).await {
        Ok(Ok(text)) => {
            let models = if ollama { tags(&text).or_else(|| listing(&text)) } else { listing(&text) };
            models.map_or(Found::Stranger, Found::Running)
        }
        Ok(Err(_)) | Err(_) => Found::Nobody,
    }
}

async fn get(url: &str) -> Result<String, NetError> {
    let patience = Patience { connect: LIMIT, first_byte: LIMIT, idle: LIMIT };
    Client::new(Route::default(), patience).get(url, &[]).await?.text(MOST).await
}

fn tags(text: &str) -> Option<Vec<String>> {
    let tags: Tags = serde_json::from_str(text).ok()?;
    Some(tags.models.into_iter().map(|tag| tag.name).collect())
}

fn listing(text: &str) -> Option<Vec<String>> {
    let listing: Listing = serde_json::from_str(text).ok()?;
    Some(listing.data.into_iter().map(|entry| entry.id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_lists_are_read() {
        let ours = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(tags(r#"{"models":[{"name":"qwen3:8b","size":5},{"name":"b"}]}"#), ours(&["qwen3:8b", "b"]));
        assert_eq!(listing(r#"{"object":"list","data":[{"id":"model.gguf"}],"models":[]}"#), ours(&["model.gguf"]));
        for other in ["", "{}", "[]", "<html>", r#"{"models":"many"}"#] {
            assert_eq!((tags(other), listing(other)), (None, None), "{other}");
        }
    }
}
