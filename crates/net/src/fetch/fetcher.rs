//! Fetches pages and follows their redirects.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::Response;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, LOCATION};
use tokio::time::Instant;

use super::page::FetchDeadline;
use super::resolver::{GatedResolver, SystemResolver, check_known_address, check_resolved_addresses};
use super::{AddressGate, FetchError, NameResolver, PageUrl, WebPage};
use crate::{NetError, NetworkRoute, client, proxy, tls, wait};

/// The accepted content types, best first.
const ACCEPTED_TYPES: &str = "text/markdown, text/html;q=0.9, text/plain;q=0.9, */*;q=0.5";

/// Limits of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// Timeout for the connection.
    pub connect_timeout: Duration,
    /// Timeout for the whole fetch.
    pub total_timeout: Duration,
    /// Maximum number of redirects that are followed.
    pub max_redirects: usize,
    /// Maximum bytes read of a page.
    pub max_body_bytes: usize,
}

impl Default for FetchLimits {
    fn default() -> FetchLimits {
        FetchLimits {
            connect_timeout: Duration::from_secs(10),
            total_timeout: Duration::from_secs(30),
            max_redirects: 5,
            max_body_bytes: 5 * 1024 * 1024,
        }
    }
}

/// Fetches pages. It is cheap to create and to clone.
#[derive(Clone)]
pub struct PageFetcher {
    shared: Arc<PageFetcherInner>,
}

struct PageFetcherInner {
    route: NetworkRoute,
    limits: FetchLimits,
    resolver: Arc<dyn NameResolver>,
    /// The TLS configuration, once it was needed.
    tls_config: OnceLock<rustls::ClientConfig>,
}

/// The result of a fetch.
#[derive(Debug)]
pub enum FetchOutcome {
    /// A page.
    Page(WebPage),
    /// A redirect to another server, which was not followed.
    OtherServer(PageUrl),
}

impl PageFetcher {
    /// A fetcher that uses `route` and the system's name resolution.
    pub fn new(route: NetworkRoute, limits: FetchLimits) -> PageFetcher {
        PageFetcher::with_resolver(route, limits, Arc::new(SystemResolver))
    }

    /// A fetcher with its own name resolution.
    pub fn with_resolver(route: NetworkRoute, limits: FetchLimits, resolver: Arc<dyn NameResolver>) -> PageFetcher {
        PageFetcher { shared: Arc::new(PageFetcherInner { route, limits, resolver, tls_config: OnceLock::new() }) }
    }

    /// Its route to the network.
    pub fn route(&self) -> &NetworkRoute {
        &self.shared.route
    }

    /// Fetches a page, if the gate permits its address.
    pub async fn get(&self, target: PageUrl, gate: &Arc<dyn AddressGate>) -> Result<FetchOutcome, FetchError> {
        let after = self.shared.limits.total_timeout;
        let deadline = FetchDeadline { at: Instant::now() + after, timeout: after };
        let timed_out = FetchError::TimedOut { host: target.host().to_owned(), after };
        wait::until(deadline.at, self.follow_redirects(target, gate, deadline)).await.unwrap_or(Err(timed_out))
    }

    async fn follow_redirects(
        &self,
        mut target: PageUrl,
        gate: &Arc<dyn AddressGate>,
        deadline: FetchDeadline,
    ) -> Result<FetchOutcome, FetchError> {
        let FetchLimits { max_redirects: redirects, max_body_bytes: body, .. } = self.shared.limits;
        let mut visited = Vec::new();
        while visited.len() <= redirects {
            let response = self.send_request(&target, gate).await?;
            let Some(next) = redirect_target(&target, &response)? else {
                return WebPage::new(target, response, deadline, body).map(FetchOutcome::Page);
            };
            if !target.may_redirect_to(&next) {
                return Ok(FetchOutcome::OtherServer(next));
            }
            visited.push(target);
            if visited.contains(&next) {
                return Err(FetchError::RedirectLoop { host: next.host().to_owned(), to: next.as_str().to_owned() });
            }
            target = next;
        }
        Err(FetchError::TooManyRedirects { host: target.host().to_owned(), most: redirects })
    }

    async fn send_request(&self, target: &PageUrl, gate: &Arc<dyn AddressGate>) -> Result<Response, FetchError> {
        check_known_address(target, &**gate)?;
        let PageFetcherInner { route, resolver, .. } = &*self.shared;
        // A proxy resolves the name itself, and Bosun cannot check the result.
        if !proxy::proxy_hosts(route).is_empty() {
            check_resolved_addresses(target, &**gate, &**resolver).await?;
        }
        let request = self.client(target, gate)?.get(target.url().clone());
        let sent = request.header(ACCEPT, ACCEPTED_TYPES).header(ACCEPT_ENCODING, "identity").send().await;
        sent.map_err(|error| FetchError::from_send(target.host(), &error))
    }

    /// A client for one connection; its resolver refuses addresses that the gate forbids.
    fn client(&self, target: &PageUrl, gate: &Arc<dyn AddressGate>) -> Result<reqwest::Client, FetchError> {
        let PageFetcherInner { route, limits, resolver, .. } = &*self.shared;
        let gated = GatedResolver {
            target: target.clone(),
            proxy_hosts: proxy::proxy_hosts(route),
            gate: Arc::clone(gate),
            resolver: Arc::clone(resolver),
        };
        let builder = client::client_builder(route, self.tls_config(target)?, limits.connect_timeout)?;
        let client = builder.dns_resolver(Arc::new(gated)).build();
        Ok(client.map_err(|error| NetError::Certificates { why: error.to_string() })?)
    }

    fn tls_config(&self, target: &PageUrl) -> Result<rustls::ClientConfig, NetError> {
        let PageFetcherInner { route, tls_config: secure, .. } = &*self.shared;
        if target.url().scheme() != "https" && !proxy::uses_tls(route) {
            return tls::config_without_trust();
        }
        match secure.get() {
            Some(config) => Ok(config.clone()),
            None => tls::config_with_trust(route).map(|config| secure.get_or_init(|| config).clone()),
        }
    }
}

impl fmt::Debug for PageFetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fetcher")
    }
}

/// The target of the answer, if it is a redirect.
fn redirect_target(from: &PageUrl, response: &Response) -> Result<Option<PageUrl>, FetchError> {
    let status = response.status().as_u16();
    match (status, response.headers().get(LOCATION)) {
        (301 | 302 | 303 | 307 | 308, Some(location)) => {
            from.join(&String::from_utf8_lossy(location.as_bytes())).map(Some)
        }
        (301 | 302 | 303 | 307 | 308, None) => {
            Err(FetchError::RedirectWithoutLocation { host: from.host().to_owned(), status })
        }
        _ => Ok(None),
    }
}
