//! Gets pages, one redirect after the other.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::Response;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, LOCATION};
use tokio::time::Instant;

use super::page::FetchDeadline;
use super::resolver::{GatedResolver, SystemResolver, check_known, check_named};
use super::{AddressGate, FetchError, NameResolver, PageUrl, WebPage};
use crate::{NetError, NetworkRoute, client, proxy, tls, wait};

/// What is asked for, best first.
const ACCEPTED_TYPES: &str = "text/markdown, text/html;q=0.9, text/plain;q=0.9, */*;q=0.5";

/// How much a page may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// Longest wait for a connection.
    pub connect: Duration,
    /// Longest time for everything.
    pub whole: Duration,
    /// Most redirects that are followed.
    pub redirects: usize,
    /// Most bytes of a page that are read.
    pub body: usize,
}

impl Default for FetchLimits {
    fn default() -> FetchLimits {
        FetchLimits {
            connect: Duration::from_secs(10),
            whole: Duration::from_secs(30),
            redirects: 5,
            body: 5 * 1024 * 1024,
        }
    }
}

/// Who gets pages. It is cheap to make and to clone.
#[derive(Clone)]
pub struct PageFetcher {
    shared: Arc<PageFetcherInner>,
}

struct PageFetcherInner {
    route: NetworkRoute,
    limits: FetchLimits,
    resolver: Arc<dyn NameResolver>,
    /// The certificates, once they were needed.
    secure: OnceLock<rustls::ClientConfig>,
}

/// What was found at an address.
#[derive(Debug)]
pub enum FetchOutcome {
    /// A page.
    Page(WebPage),
    /// The way to another server, which was not gone.
    OtherServer(PageUrl),
}

impl PageFetcher {
    /// A fetcher that goes along `route` and looks names up as the machine does.
    pub fn new(route: NetworkRoute, limits: FetchLimits) -> PageFetcher {
        PageFetcher::with_resolver(route, limits, Arc::new(SystemResolver))
    }

    /// A fetcher that looks names up elsewhere.
    pub fn with_resolver(route: NetworkRoute, limits: FetchLimits, names: Arc<dyn NameResolver>) -> PageFetcher {
        PageFetcher { shared: Arc::new(PageFetcherInner { route, limits, resolver: names, secure: OnceLock::new() }) }
    }

    /// Gets what is at an address, if the gate lets it be connected to.
    pub async fn get(&self, target: PageUrl, gate: &Arc<dyn AddressGate>) -> Result<FetchOutcome, FetchError> {
        let after = self.shared.limits.whole;
        let due = FetchDeadline { at: Instant::now() + after, after };
        let late = FetchError::TimedOut { host: target.host().to_owned(), after };
        wait::until(due.at, self.follow(target, gate, due)).await.unwrap_or(Err(late))
    }

    async fn follow(
        &self,
        mut target: PageUrl,
        gate: &Arc<dyn AddressGate>,
        due: FetchDeadline,
    ) -> Result<FetchOutcome, FetchError> {
        let FetchLimits { redirects, body, .. } = self.shared.limits;
        let mut seen = Vec::new();
        while seen.len() <= redirects {
            let response = self.ask(&target, gate).await?;
            let Some(next) = redirect(&target, &response)? else {
                return WebPage::new(target, response, due, body).map(FetchOutcome::Page);
            };
            if !target.may_redirect_to(&next) {
                return Ok(FetchOutcome::OtherServer(next));
            }
            seen.push(target);
            if seen.contains(&next) {
                return Err(FetchError::RedirectLoop { host: next.host().to_owned(), to: next.as_str().to_owned() });
            }
            target = next;
        }
        Err(FetchError::TooManyRedirects { host: target.host().to_owned(), most: redirects })
    }

    async fn ask(&self, target: &PageUrl, gate: &Arc<dyn AddressGate>) -> Result<Response, FetchError> {
        check_known(target, &**gate)?;
        let PageFetcherInner { route, resolver: names, .. } = &*self.shared;
        // A proxy looks the name up itself, where nobody checks what it means.
        if !proxy::hosts(route).is_empty() {
            check_named(target, &**gate, &**names).await?;
        }
        let request = self.client(target, gate)?.get(target.url().clone());
        let sent = request.header(ACCEPT, ACCEPTED_TYPES).header(ACCEPT_ENCODING, "identity").send().await;
        sent.map_err(|error| FetchError::from_send(target.host(), &error))
    }

    /// A client for one connection: it knows the way to no other host.
    fn client(&self, target: &PageUrl, gate: &Arc<dyn AddressGate>) -> Result<reqwest::Client, FetchError> {
        let PageFetcherInner { route, limits, resolver: names, .. } = &*self.shared;
        let checked = GatedResolver {
            target: target.clone(),
            proxies: proxy::hosts(route),
            gate: Arc::clone(gate),
            resolver: Arc::clone(names),
        };
        let builder = client::builder(route, self.tls(target)?, limits.connect)?;
        let client = builder.dns_resolver(Arc::new(checked)).build();
        Ok(client.map_err(|error| NetError::Certificates { why: error.to_string() })?)
    }

    fn tls(&self, target: &PageUrl) -> Result<rustls::ClientConfig, NetError> {
        let PageFetcherInner { route, secure, .. } = &*self.shared;
        if target.url().scheme() != "https" && !proxy::speaks_tls(route) {
            return tls::unused();
        }
        match secure.get() {
            Some(config) => Ok(config.clone()),
            None => tls::trusting(route).map(|config| secure.get_or_init(|| config).clone()),
        }
    }
}

impl fmt::Debug for PageFetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fetcher")
    }
}

/// Where the answer points, if it is a redirect.
fn redirect(from: &PageUrl, response: &Response) -> Result<Option<PageUrl>, FetchError> {
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
