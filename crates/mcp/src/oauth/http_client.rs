//! Requests to the addresses that a server names. They are as untrusted as the server: only https, or loopback if the
//! server itself is there, and no address of a private network unless the server is in one.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use net::fetch::AddressGate;
use net::{HttpClient, HttpResponse, HttpTimeouts, NetworkRoute, PostRequest, RequestHeader};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::OnceCell;
use url::{Host, Url, form_urlencoded};

use super::OAuthError;

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum bytes of an answer.
const MAX_BYTES: usize = 256 * 1024;

/// Maximum bytes of an authorization server's error.
const MAX_ERROR_BYTES: usize = 300;

/// Sends requests to the addresses that one server names.
#[derive(Debug)]
pub(crate) struct OAuthHttp {
    server: Url,
    route: NetworkRoute,
    client: OnceCell<HttpClient>,
}

/// The answer to a request.
pub(crate) enum HttpAnswer<T> {
    /// What was asked for.
    Found(T),
    /// There is nothing at this address.
    Missing,
}

impl OAuthHttp {
    /// For the server at this address.
    pub(crate) fn new(server: Url, route: NetworkRoute) -> OAuthHttp {
        OAuthHttp { server, route, client: OnceCell::new() }
    }

    /// The address of the server.
    pub(crate) fn server(&self) -> &Url {
        &self.server
    }

    /// Reads an address that the server or its authorization server named.
    pub(crate) fn parse(&self, text: &str) -> Result<Url, OAuthError> {
        let refused = |why| OAuthError::Address { url: protocol::clip_middle(text, 200), why };
        let url = Url::parse(text).map_err(|_invalid| refused("is not an address"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("contains a password"));
        }
        match url.scheme() {
            "https" if url.has_host() => Ok(url),
            "http" if is_loopback(&url) && is_loopback(&self.server) => Ok(url),
            _other => Err(refused("is not an address with https")),
        }
    }

    /// Fetches a document.
    pub(crate) async fn get<T: DeserializeOwned>(&self, url: &str) -> Result<HttpAnswer<T>, OAuthError> {
        match self.text(url).await? {
            HttpAnswer::Found(text) => Ok(HttpAnswer::Found(parse_json(&text, url)?)),
            HttpAnswer::Missing => Ok(HttpAnswer::Missing),
        }
    }

    /// Reads a document as it is written.
    pub(crate) async fn text(&self, url: &str) -> Result<HttpAnswer<String>, OAuthError> {
        let url = self.parse(url)?;
        let headers = [RequestHeader::plain("accept", "application/json")];
        let response = described(self.client().await.get(url.as_str(), &headers).await)?;
        match response.status() {
            200 => Ok(HttpAnswer::Found(read_text(response).await?)),
            400..=499 => Ok(HttpAnswer::Missing),
            status => Err(OAuthError::Request(format!("{url} answered with status {status}"))),
        }
    }

    /// Sends a form to an endpoint of an authorization server.
    pub(crate) async fn post_form<T: DeserializeOwned>(
        &self,
        request: &'static str,
        url: &str,
        headers: Vec<RequestHeader>,
        form: &[(&str, String)],
    ) -> Result<T, OAuthError> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        self.post(request, url, headers, "application/x-www-form-urlencoded", body).await
    }

    /// Sends JSON to an endpoint of an authorization server.
    pub(crate) async fn post_json<T: DeserializeOwned>(
        &self,
        request: &'static str,
        url: &str,
        body: &Value,
    ) -> Result<T, OAuthError> {
        self.post(request, url, Vec::new(), "application/json", body.to_string()).await
    }

    /// Sends a form whose answer has no content.
    pub(crate) async fn notify_form(
        &self,
        request: &'static str,
        url: &str,
        headers: Vec<RequestHeader>,
        form: &[(&str, String)],
    ) -> Result<(), OAuthError> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let response = self.send(url, headers, "application/x-www-form-urlencoded", body).await?;
        match response.is_success() {
            true => Ok(()),
            false => Err(OAuthError::Refused { request, why: refusal_text(response).await }),
        }
    }

    async fn post<T: DeserializeOwned>(
        &self,
        request: &'static str,
        url: &str,
        headers: Vec<RequestHeader>,
        kind: &'static str,
        body: String,
    ) -> Result<T, OAuthError> {
        let response = self.send(url, headers, kind, body).await?;
        match response.is_success() {
            true => read_json(response, url).await,
            false => Err(OAuthError::Refused { request, why: refusal_text(response).await }),
        }
    }

    async fn send(
        &self,
        url: &str,
        mut headers: Vec<RequestHeader>,
        kind: &'static str,
        body: String,
    ) -> Result<HttpResponse, OAuthError> {
        let url = String::from(self.parse(url)?);
        headers.push(RequestHeader::plain("content-type", kind));
        headers.push(RequestHeader::plain("accept", "application/json"));
        described(self.client().await.post(PostRequest { url, headers, body: body.into() }).await)
    }

    async fn client(&self) -> &HttpClient {
        self.client
            .get_or_init(|| async {
                let gate = ServerGate { allows_private: self.server_is_private().await };
                let timeouts = HttpTimeouts { connect: CONNECT_TIMEOUT, first_byte: TIMEOUT, idle: TIMEOUT };
                HttpClient::gated(self.route.clone(), timeouts, Arc::new(gate))
            })
            .await
    }

    /// Whether the server that the user configured is itself not on the public internet.
    async fn server_is_private(&self) -> bool {
        match self.server.host() {
            Some(Host::Ipv4(address)) => !policy::is_public(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => !policy::is_public(IpAddr::V6(address)),
            Some(Host::Domain(_)) if is_loopback(&self.server) => true,
            Some(Host::Domain(name)) => {
                net::lookup_host(name).await.unwrap_or_default().into_iter().any(|address| !policy::is_public(address))
            }
            None => false,
        }
    }
}

/// Permits public addresses, and private ones only if the server itself has one.
#[derive(Debug)]
struct ServerGate {
    allows_private: bool,
}

impl AddressGate for ServerGate {
    fn may_connect(&self, _host: &str, address: SocketAddr) -> bool {
        self.allows_private || policy::is_public(address.ip())
    }
}

/// Whether an address is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn described(response: Result<HttpResponse, net::NetError>) -> Result<HttpResponse, OAuthError> {
    response.map_err(|error| OAuthError::Request(error.to_string()))
}

async fn read_json<T: DeserializeOwned>(response: HttpResponse, url: &str) -> Result<T, OAuthError> {
    parse_json(&read_text(response).await?, url)
}

async fn read_text(response: HttpResponse) -> Result<String, OAuthError> {
    response.text(MAX_BYTES).await.map_err(|error| OAuthError::Request(error.to_string()))
}

fn parse_json<T: DeserializeOwned>(text: &str, url: &str) -> Result<T, OAuthError> {
    serde_json::from_str(text).map_err(|error| OAuthError::Request(format!("the answer of {url} is invalid: {error}")))
}

/// The error of an authorization server: its code and description, or the status.
async fn refusal_text(response: HttpResponse) -> String {
    let status = response.status();
    let text = response.excerpt(MAX_BYTES, TIMEOUT).await;
    let error = serde_json::from_str::<Value>(&text).unwrap_or_default();
    let field = |name: &str| error[name].as_str();
    let why = match (field("error"), field("error_description")) {
        (Some(code), Some(description)) => format!("{code}: {description}"),
        (Some(code), None) => code.to_owned(),
        (None, _) => format!("status {status}"),
    };
    protocol::clip_middle(&why, MAX_ERROR_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(server: &str, url: &str) -> bool {
        OAuthHttp::new(Url::parse(server).unwrap(), NetworkRoute::default()).parse(url).is_ok()
    }

    #[test]
    fn only_https_or_loopback_of_a_local_server_is_contacted() {
        let (far, near) = ("https://mcp.example/mcp", "http://127.0.0.1:9/mcp");
        for (server, url, expected) in [
            (far, "https://login.example/", true),
            (far, "http://login.example/", false),
            (far, "http://127.0.0.1/", false),
            (far, "http://localhost/", false),
            (far, "https://me:pw@login.example/", false),
            (far, "file:///etc/passwd", false),
            (far, "login", false),
            (near, "http://localhost:8/", true),
            (near, "http://[::1]:8/", true),
            (near, "http://169.254.169.254/", false),
            (near, "https://login.example/", true),
        ] {
            assert_eq!(accepts(server, url), expected, "{server} {url}");
        }
    }

    #[tokio::test]
    async fn private_addresses_are_contacted_only_for_a_private_server() {
        let fetch = async |server: &str, url: &str| {
            let http = OAuthHttp::new(Url::parse(server).unwrap(), NetworkRoute::default());
            match http.get::<Value>(url).await {
                Err(error) => error.to_string(),
                Ok(_) => "an answer".to_owned(),
            }
        };
        for url in ["https://127.0.0.1:1/", "https://[::1]:1/", "https://localhost:1/", "https://10.0.0.1:1/"] {
            let why = fetch("https://93.184.216.34/mcp", url).await;
            assert!(why.contains("is not a public internet address"), "{url}: {why}");
        }
        let why = fetch("https://127.0.0.1:2/mcp", "https://127.0.0.1:1/").await;
        assert!(!why.contains("is not a public"), "{why}");
    }
}
