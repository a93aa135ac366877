//! Sends requests. A client is cheap to create and to clone; certificates are loaded when an address first needs them.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use reqwest::{Method, Url, redirect};
use tokio::time::Instant;

use crate::fetch::AddressGate;
use crate::gate::GatedNames;
use crate::{
    CarriedRequest, HttpResponse, HttpTimeouts, NetError, NetworkRoute, RequestCarrier, RequestHeader, gate, header,
    proxy, tls, wait,
};

/// An HTTP client.
#[derive(Clone)]
pub struct HttpClient {
    shared: Arc<HttpClientInner>,
    /// On whose behalf a carrier sends requests.
    sender: Option<Arc<str>>,
}

struct HttpClientInner {
    route: NetworkRoute,
    timeouts: HttpTimeouts,
    /// Decides which addresses may be connected to; all when absent.
    gate: Option<Arc<dyn AddressGate>>,
    /// Carries all requests instead of the network.
    carrier: Option<Arc<dyn RequestCarrier>>,
    /// The client for addresses without TLS, once it was needed.
    plain_client: OnceLock<reqwest::Client>,
    /// The client for addresses with TLS, once it was needed.
    tls_client: OnceLock<reqwest::Client>,
}

/// A request with a body.
#[derive(Debug)]
pub struct PostRequest {
    /// The address.
    pub url: String,
    /// The headers.
    pub headers: Vec<RequestHeader>,
    /// The body.
    pub body: Bytes,
}

impl HttpClient {
    /// A client that uses `route` and `timeouts`.
    pub fn new(route: NetworkRoute, timeouts: HttpTimeouts) -> HttpClient {
        HttpClient::build(route, timeouts, None, None)
    }

    /// A client whose requests a carrier sends.
    pub fn carried(carrier: Arc<dyn RequestCarrier>, timeouts: HttpTimeouts) -> HttpClient {
        HttpClient::build(NetworkRoute::default(), timeouts, None, Some(carrier))
    }

    /// A client for addresses that a server named: it connects only where the gate permits.
    pub fn gated(route: NetworkRoute, timeouts: HttpTimeouts, gate: Arc<dyn AddressGate>) -> HttpClient {
        HttpClient::build(route, timeouts, Some(gate), None)
    }

    fn build(
        route: NetworkRoute,
        timeouts: HttpTimeouts,
        gate: Option<Arc<dyn AddressGate>>,
        carrier: Option<Arc<dyn RequestCarrier>>,
    ) -> HttpClient {
        let (plain_client, tls_client) = (OnceLock::new(), OnceLock::new());
        let shared = Arc::new(HttpClientInner { route, timeouts, gate, carrier, plain_client, tls_client });
        HttpClient { shared, sender: None }
    }

    /// The same client, whose carrier learns on whose behalf requests are sent.
    pub fn on_behalf_of(&self, sender: &str) -> HttpClient {
        HttpClient { shared: Arc::clone(&self.shared), sender: Some(sender.into()) }
    }

    /// Whether a carrier sends the requests.
    pub fn is_carried(&self) -> bool {
        self.shared.carrier.is_some()
    }

    /// Sends a POST request; returns when the headers of the response have arrived.
    pub async fn post(&self, post: PostRequest) -> Result<HttpResponse, NetError> {
        self.send(Method::POST, &post.url, &post.headers, post.body).await
    }

    /// Sends a GET request; returns when the headers of the response have arrived.
    pub async fn get(&self, url: &str, headers: &[RequestHeader]) -> Result<HttpResponse, NetError> {
        self.send(Method::GET, url, headers, Bytes::new()).await
    }

    /// Sends a DELETE request; returns when the headers of the response have arrived.
    pub async fn delete(&self, url: &str, headers: &[RequestHeader]) -> Result<HttpResponse, NetError> {
        self.send(Method::DELETE, url, headers, Bytes::new()).await
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[RequestHeader],
        body: Bytes,
    ) -> Result<HttpResponse, NetError> {
        let url = parse_url(url)?;
        if let Some(gate) = &self.shared.gate {
            gate::check_literal_address(&url, &**gate)?;
        }
        let host = host_and_port(&url);
        if let Some(carrier) = &self.shared.carrier {
            return self.carry(&**carrier, CarriedUrl { url, host }, (method, headers, body)).await;
        }
        let request = self.client(&url)?.request(method, url).headers(header::header_map(headers)?).body(body);
        let timeouts = self.shared.timeouts;
        let deadline = Instant::now() + timeouts.first_byte;
        let Some(sent) = wait::until(deadline, request.send()).await else {
            return Err(NetError::FirstByte { host, after: timeouts.first_byte });
        };
        let response = sent.map_err(|error| NetError::from_send(&host, &error))?;
        unless_redirected(HttpResponse::new(response, host.clone(), timeouts, deadline), host)
    }

    async fn carry(
        &self,
        carrier: &dyn RequestCarrier,
        CarriedUrl { url, host }: CarriedUrl,
        (method, headers, body): (Method, &[RequestHeader], Bytes),
    ) -> Result<HttpResponse, NetError> {
        let request = CarriedRequest {
            method: method.to_string(),
            url: url.into(),
            headers: header::header_texts(headers)?,
            body,
            sender: self.sender.as_deref().map(str::to_owned),
        };
        let timeouts = self.shared.timeouts;
        let deadline = Instant::now() + timeouts.first_byte;
        let Some(answer) = wait::until(deadline, carrier.carry(request)).await else {
            return Err(NetError::FirstByte { host, after: timeouts.first_byte });
        };
        unless_redirected(HttpResponse::carried(answer?, host.clone(), timeouts, deadline), host)
    }

    fn client(&self, url: &Url) -> Result<reqwest::Client, NetError> {
        let shared = &*self.shared;
        if url.scheme() == "https" || proxy::uses_tls(&shared.route) {
            get_or_build(&shared.tls_client, || build_client(shared, tls::config_with_trust(&shared.route)?))
        } else {
            get_or_build(&shared.plain_client, || build_client(shared, tls::config_without_trust()?))
        }
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("net client")
    }
}

/// The address of a request that a carrier sends.
struct CarriedUrl {
    url: Url,
    host: String,
}

fn unless_redirected(answer: HttpResponse, host: String) -> Result<HttpResponse, NetError> {
    match (answer.status(), answer.header("location")) {
        (300..=399, Some(location)) => Err(NetError::Redirected { host, location: location.to_owned() }),
        _ => Ok(answer),
    }
}

/// The client in `cell`, built now if there is none. Building two at once does no harm.
fn get_or_build(
    cell: &OnceLock<reqwest::Client>,
    build: impl FnOnce() -> Result<reqwest::Client, NetError>,
) -> Result<reqwest::Client, NetError> {
    match cell.get() {
        Some(client) => Ok(client.clone()),
        None => build().map(|client| cell.get_or_init(|| client).clone()),
    }
}

fn build_client(shared: &HttpClientInner, tls: rustls::ClientConfig) -> Result<reqwest::Client, NetError> {
    let mut builder = client_builder(&shared.route, tls, shared.timeouts.connect)?;
    if let Some(gate) = &shared.gate {
        builder = builder.dns_resolver(Arc::new(GatedNames::new(Arc::clone(gate), &shared.route)));
    }
    builder.build().map_err(|error| NetError::Certificates { why: error.to_string() })
}

/// The settings that all clients of this crate share.
pub(crate) fn client_builder(
    route: &NetworkRoute,
    tls: rustls::ClientConfig,
    connect: Duration,
) -> Result<reqwest::ClientBuilder, NetError> {
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        // A client that follows redirects would send the key to the new address.
        .redirect(redirect::Policy::none())
        .referer(false)
        .connect_timeout(connect)
        .user_agent(concat!("bosun/", env!("CARGO_PKG_VERSION")))
        .no_proxy();
    for proxy in proxy::proxies_of(route)? {
        builder = builder.proxy(proxy);
    }
    Ok(builder)
}

/// Parses an `http` or `https` address with a host.
fn parse_url(text: &str) -> Result<Url, NetError> {
    let invalid = |why: &str| NetError::Url { url: without_password(text), why: why.to_owned() };
    let url = Url::parse(text).map_err(|error| invalid(&error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        other => Err(invalid(&format!("`{other}` is not supported"))),
    }
}

/// The server's name in messages: its host, and its port unless that is the default one.
fn host_and_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or(host.to_owned(), |port| format!("{host}:{port}"))
}

fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        (None, _) | (_, None) => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_address_is_explained() {
        for (text, message) in [
            ("api.example.com", "relative URL without a base"),
            ("ftp://me:pw@example.com/x", "`ftp` is not supported"),
            ("http://", "empty host"),
        ] {
            let error = parse_url(text).unwrap_err().to_string();
            assert!(error.contains(message) && !error.contains("pw"), "{error}");
        }
    }
}
