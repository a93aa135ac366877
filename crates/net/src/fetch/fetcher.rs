//! Gets pages, one redirect after the other.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::Response;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, LOCATION};
use tokio::time::Instant;

use super::names::{Checked, SystemNames, check_known, check_named};
use super::page::Due;
use super::{FetchError, Gate, Names, Page, Target};
use crate::{NetError, Route, client, proxy, tls, wait};

/// What is asked for, best first.
const KINDS: &str = "text/markdown, text/html;q=0.9, text/plain;q=0.9, */*;q=0.5";

/// How much a page may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest wait for a connection.
    pub connect: Duration,
    /// Longest time for everything.
    pub whole: Duration,
    /// Most redirects that are followed.
    pub redirects: usize,
    /// Most bytes of a page that are read.
    pub body: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connect: Duration::from_secs(10), whole: Duration::from_secs(30), redirects: 5, body: 5 * 1024 * 1024 }
    }
}

/// Who gets pages. It is cheap to make and to clone.
#[derive(Clone)]
pub struct Fetcher {
    shared: Arc<Shared>,
}

struct Shared {
    route: Route,
    limits: Limits,
    names: Arc<dyn Names>,
    /// The certificates, once they were needed.
    secure: OnceLock<rustls::ClientConfig>,
}

/// What was found at an address.
#[derive(Debug)]
pub enum Fetched {
    /// A page.
    Page(Page),
    /// The way to another server, which was not gone.
    Elsewhere(Target),
}

impl Fetcher {
    /// A fetcher that goes along `route` and looks names up as the machine does.
    pub fn new(route: Route, limits: Limits) -> Fetcher {
        Fetcher::with_names(route, limits, Arc::new(SystemNames))
    }

    /// A fetcher that looks names up elsewhere.
    pub fn with_names(route: Route, limits: Limits, names: Arc<dyn Names>) -> Fetcher {
        Fetcher { shared: Arc::new(Shared { route, limits, names, secure: OnceLock::new() }) }
    }

    /// Gets what is at an address, if the gate lets it be connected to.
    pub async fn get(&self, target: Target, gate: &Arc<dyn Gate>) -> Result<Fetched, FetchError> {
        let after = self.shared.limits.whole;
        let due = Due { at: Instant::now() + after, after };
        let late = FetchError::Late { host: target.host().to_owned(), after };
        wait::until(due.at, self.follow(target, gate, due)).await.unwrap_or(Err(late))
    }

    async fn follow(&self, mut target: Target, gate: &Arc<dyn Gate>, due: Due) -> Result<Fetched, FetchError> {
        let Limits { redirects, body, .. } = self.shared.limits;
        let mut seen = Vec::new();
        while seen.len() <= redirects {
            let response = self.ask(&target, gate).await?;
            let Some(next) = redirect(&target, &response)? else {
                return Page::new(target, response, due, body).map(Fetched::Page);
            };
            if !target.leads_on_to(&next) {
                return Ok(Fetched::Elsewhere(next));
            }
            seen.push(target);
            if seen.contains(&next) {
                return Err(FetchError::Circle { host: next.host().to_owned(), to: next.as_str().to_owned() });
            }
            target = next;
        }
        Err(FetchError::Redirects { host: target.host().to_owned(), most: redirects })
    }

    async fn ask(&self, target: &Target, gate: &Arc<dyn Gate>) -> Result<Response, FetchError> {
        check_known(target, &**gate)?;
        let Shared { route, names, .. } = &*self.shared;
        // A proxy looks the name up itself, where nobody checks what it means.
        if !proxy::hosts(route).is_empty() {
            check_named(target, &**gate, &**names).await?;
        }
        let request = self.client(target, gate)?.get(target.url().clone());
        let sent = request.header(ACCEPT, KINDS).header(ACCEPT_ENCODING, "identity").send().await;
        sent.map_err(|error| FetchError::from_send(target.host(), &error))
    }

    /// A client for one connection: it knows the way to no other host.
    fn client(&self, target: &Target, gate: &Arc<dyn Gate>) -> Result<reqwest::Client, FetchError> {
        let Shared { route, limits, names, .. } = &*self.shared;
        let checked = Checked {
            target: target.clone(),
            proxies: proxy::hosts(route),
            gate: Arc::clone(gate),
            names: Arc::clone(names),
        };
        let builder = client::builder(route, self.tls(target)?, limits.connect)?;
        let client = builder.dns_resolver(Arc::new(checked)).build();
        Ok(client.map_err(|error| NetError::Certificates { why: error.to_string() })?)
    }

    fn tls(&self, target: &Target) -> Result<rustls::ClientConfig, NetError> {
        let Shared { route, secure, .. } = &*self.shared;
        if target.url().scheme() != "https" && !proxy::speaks_tls(route) {
            return tls::unused();
        }
        match secure.get() {
            Some(config) => Ok(config.clone()),
            None => tls::trusting(route).map(|config| secure.get_or_init(|| config).clone()),
        }
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fetcher")
    }
}

/// Where the answer points, if it is a redirect.
fn redirect(from: &Target, response: &Response) -> Result<Option<Target>, FetchError> {
    let status = response.status().as_u16();
    match (status, response.headers().get(LOCATION)) {
        (301 | 302 | 303 | 307 | 308, Some(location)) => {
            from.join(&String::from_utf8_lossy(location.as_bytes())).map(Some)
        }
        (301 | 302 | 303 | 307 | 308, None) => Err(FetchError::Nowhere { host: from.host().to_owned(), status }),
        _ => Ok(None),
    }
}
