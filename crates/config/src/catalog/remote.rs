//! The remote catalogue: fetched once at start, with a cached copy for when it is down.

use std::path::{Path, PathBuf};
use std::time::Duration;

use data_encoding::HEXLOWER;
use net::{HttpClient, HttpTimeouts, NetworkRoute, RequestHeader, Secret};
use protocol::{Timestamp, format_age};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::Url;

use super::problem::Severity;
use super::repository::remote_url;
use crate::agents::AgentConfig;
use crate::env::Env;

/// Maximum size of its response, in bytes.
const MAX_RESPONSE_BYTES: usize = 1 << 20;

/// Timeout of the whole request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The address of a remote catalogue and the parameters of a request.
#[derive(Debug, Clone)]
pub struct RemoteCatalog {
    /// Its address.
    pub url: String,
    /// The access token, if any.
    pub token: Option<Secret>,
    /// The repository's remote, if it has one.
    pub repository: Option<String>,
    /// The network route to it.
    pub route: NetworkRoute,
    /// Bosun's home, where its response is cached.
    pub home: PathBuf,
}

impl RemoteCatalog {
    /// The remote catalogue named in the settings, with the query for a project.
    pub fn of_project(env: &Env, agents: &AgentConfig, home: &Path, project_dir: &Path) -> Option<RemoteCatalog> {
        let AgentConfig { catalog, catalog_token_env, .. } = agents;
        Some(RemoteCatalog {
            url: catalog.clone()?,
            token: catalog_token_env.as_deref().and_then(|variable| env.key(variable)),
            repository: remote_url(project_dir),
            route: env.network_route(),
            home: home.to_owned(),
        })
    }
}

/// A remote catalogue's definitions and state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteDefinitions {
    /// Its state.
    pub state: RemoteState,
    /// Its definitions, as JSON.
    pub(super) text: Option<String>,
}

/// The state of a remote catalogue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RemoteState {
    /// None is configured.
    #[default]
    Unset,
    /// It answered.
    Fresh {
        /// Its address.
        url: String,
    },
    /// Its last response is used.
    Cached {
        /// Its address.
        url: String,
        /// When that response was fetched.
        fetched_at: Timestamp,
        /// Why there is no newer one; absent if it was not requested.
        why: Option<String>,
    },
    /// It did not answer, and there is no cached response.
    Down {
        /// Its address.
        url: String,
        /// Why.
        why: String,
    },
    /// It was not fetched, and there is no cached response.
    Unasked {
        /// Its address.
        url: String,
    },
}

impl RemoteState {
    /// What is wrong with it, and how bad that is.
    pub fn problem(&self, now: Timestamp) -> Option<(Severity, String)> {
        match self {
            RemoteState::Unset | RemoteState::Fresh { .. } | RemoteState::Cached { why: None, .. } => None,
            RemoteState::Cached { url, fetched_at, why: Some(why) } => {
                let ago = format_age(*fetched_at, now);
                Some((Severity::Error, format!("{url}: {why}; its agents from {ago} ago are used")))
            }
            RemoteState::Down { url, why } => Some((Severity::Error, format!("{url}: {why}; its agents are missing"))),
            RemoteState::Unasked { url } => {
                Some((Severity::Warning, format!("{url}: not fetched yet, so its agents are missing")))
            }
        }
    }
}

/// A cached response.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CachedDefinitions {
    fetched_at: Timestamp,
    definitions: String,
}

impl RemoteCatalog {
    /// Fetches the catalogue; falls back to the cached response if that fails.
    pub async fn fetch(&self, now: Timestamp) -> RemoteDefinitions {
        let result = tokio::time::timeout(ANSWER_TIMEOUT, self.request()).await;
        let why = match result {
            Ok(Ok(text)) => {
                // A cache that cannot be written does not affect this call.
                let _unwritten = self.write_cache(&CachedDefinitions { fetched_at: now, definitions: text.clone() });
                return RemoteDefinitions { state: RemoteState::Fresh { url: self.url.clone() }, text: Some(text) };
            }
            Ok(Err(why)) => why,
            Err(_late) => format!("it did not answer within {} s", ANSWER_TIMEOUT.as_secs()),
        };
        let url = self.url.clone();
        match self.read_cache() {
            Some(CachedDefinitions { fetched_at, definitions }) => RemoteDefinitions {
                state: RemoteState::Cached { url, fetched_at, why: Some(why) },
                text: Some(definitions),
            },
            None => RemoteDefinitions { state: RemoteState::Down { url, why }, text: None },
        }
    }

    /// The cached response, without a request.
    pub fn cached(&self) -> RemoteDefinitions {
        let url = self.url.clone();
        match self.read_cache() {
            Some(CachedDefinitions { fetched_at, definitions }) => {
                RemoteDefinitions { state: RemoteState::Cached { url, fetched_at, why: None }, text: Some(definitions) }
            }
            None => RemoteDefinitions { state: RemoteState::Unasked { url }, text: None },
        }
    }

    async fn request(&self) -> Result<String, String> {
        let mut url = Url::parse(&self.url).map_err(|error| error.to_string())?;
        if let Some(repository) = &self.repository {
            url.query_pairs_mut().append_pair("repository", repository);
        }
        let mut headers = vec![RequestHeader::plain("accept", "application/json")];
        headers.extend(self.token.clone().map(RequestHeader::bearer));
        let timeouts = HttpTimeouts { connect: ANSWER_TIMEOUT, first_byte: ANSWER_TIMEOUT, idle: ANSWER_TIMEOUT };
        let client = HttpClient::new(self.route.clone(), timeouts);
        let response = client.get(url.as_str(), &headers).await.map_err(|error| error.to_string())?;
        match response.status() {
            200..=299 => {}
            401 | 403 => return Err(format!("it answered {}; check the token", response.status())),
            other => return Err(format!("it answered {other}")),
        }
        let text = response.text(MAX_RESPONSE_BYTES + 1).await.map_err(|error| error.to_string())?;
        if text.len() > MAX_RESPONSE_BYTES {
            return Err(format!("its answer is larger than {MAX_RESPONSE_BYTES} bytes"));
        }
        match serde_json::from_str::<serde::de::IgnoredAny>(&text) {
            Ok(_json) => Ok(text),
            Err(error) => Err(format!("its answer is not JSON (line {})", error.line())),
        }
    }

    fn read_cache(&self) -> Option<CachedDefinitions> {
        // The response is stored as a JSON string, whose escapes may make it larger.
        let bytes = host::read_plain(&self.cache_path(), 4 * MAX_RESPONSE_BYTES as u64).ok()??;
        serde_json::from_slice(&bytes).ok()
    }

    fn write_cache(&self, cached: &CachedDefinitions) -> std::io::Result<()> {
        let path = self.cache_path();
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut file, cached)?;
        file.persist(path)?;
        Ok(())
    }

    /// The cache file for this repository. The token is part of its name: users may see different definitions.
    fn cache_path(&self) -> PathBuf {
        let mut digest = Sha256::new();
        let token = self.token.as_ref().map(Secret::reveal).unwrap_or_default();
        for part in [self.url.as_str(), self.repository.as_deref().unwrap_or_default(), token] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        let name = HEXLOWER.encode(&digest.finalize());
        self.home.join("cache").join(format!("catalog-{}.json", name.get(..32).unwrap_or(&name)))
    }
}
