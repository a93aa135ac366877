//! The address of a page.

use std::net::{IpAddr, Ipv4Addr};

use reqwest::Url;

use super::FetchError;

/// Maximum bytes of an address.
const LONGEST: usize = 2048;

/// Maximum characters shown of an invalid address.
const MAX_SHOWN_CHARS: usize = 200;

/// The address of a page: `http` or `https`, with a host, without credentials. The host is normalised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageUrl(Url);

impl PageUrl {
    /// Parses an address.
    pub fn parse(text: &str) -> Result<PageUrl, FetchError> {
        let url = Url::parse(text.trim()).map_err(|error| invalid_url(text, error.to_string()))?;
        PageUrl::new(url)
    }

    /// The whole address.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The host as rules name it: without brackets and without a trailing dot.
    pub fn host(&self) -> &str {
        let host = self.0.host_str().unwrap_or_default();
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        bare.unwrap_or_else(|| host.strip_suffix('.').unwrap_or(host))
    }

    pub(super) fn url(&self) -> &Url {
        &self.0
    }

    /// The port.
    pub(super) fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    /// The IP address of the host if it needs no lookup: a literal address, or this machine's.
    pub(super) fn known_address(&self) -> Option<IpAddr> {
        let host = self.host();
        let is_here = host == "localhost" || host.ends_with(".localhost");
        host.parse().ok().or_else(|| is_here.then_some(IpAddr::V4(Ipv4Addr::LOCALHOST)))
    }

    /// The target of a redirect from this page.
    pub(super) fn join(&self, location: &str) -> Result<PageUrl, FetchError> {
        let invalid = |why| invalid_url(location, format!("{} redirects there, but {why}", self.host()));
        let url = self.0.join(location).map_err(|error| invalid(error.to_string()))?;
        PageUrl::new(url).map_err(|error| match error {
            FetchError::InvalidUrl { why, .. } => invalid(why),
            other => other,
        })
    }

    /// Whether a redirect to `next` stays with the same server, or with the same host over TLS.
    pub(super) fn may_redirect_to(&self, next: &PageUrl) -> bool {
        let (here, there) = (&self.0, &next.0);
        let same_server = here.scheme() == there.scheme() && here.port() == there.port();
        let secured =
            here.scheme() == "http" && there.scheme() == "https" && (here.port(), there.port()) == (None, None);
        self.host() == next.host() && (same_server || secured)
    }

    fn new(mut url: Url) -> Result<PageUrl, FetchError> {
        let why = match url.scheme() {
            "http" | "https" if url.as_str().len() > LONGEST => format!("it has more than {LONGEST} bytes"),
            "http" | "https" if !url.username().is_empty() || url.password().is_some() => {
                "credentials are not sent; remove the part before the `@`".into()
            }
            "http" | "https" if url.has_host() => {
                url.set_fragment(None);
                return Ok(PageUrl(url));
            }
            "http" | "https" => "it has no host".into(),
            other => format!("`{}` is neither http nor https", clip(other)),
        };
        Err(invalid_url(url.as_str(), why))
    }
}

fn invalid_url(url: &str, why: String) -> FetchError {
    let bare = match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        (None, _) | (_, None) => url.to_owned(),
    };
    FetchError::InvalidUrl { url: clip(&bare), why }
}

/// Clips the text and removes control characters.
fn clip(text: &str) -> String {
    let mut characters = text.chars().filter(|character| !character.is_control());
    let mut shown: String = characters.by_ref().take(MAX_SHOWN_CHARS).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_normalised() {
        for (text, host, known) in [
            ("http://0x7f.1/", "127.0.0.1", true),
            ("http://2130706433/", "127.0.0.1", true),
            ("http://127.1", "127.0.0.1", true),
            ("http://017700000001/", "127.0.0.1", true),
            ("http://127.0.0.1./", "127.0.0.1", true),
            ("http://①②⑦.0.0.1/", "127.0.0.1", true),
            ("http://%31%32%37.0.0.1/", "127.0.0.1", true),
            ("http://[::ffff:127.0.0.1]/", "::ffff:7f00:1", true),
            ("http://[0:0::1]:80/", "::1", true),
            ("http://localhost./", "localhost", true),
            ("http://LOCALHOST:8080/", "localhost", true),
            ("http://a.b.localhost/", "a.b.localhost", true),
            (" https://Docs.RS./x#y ", "docs.rs", false),
            ("https:docs.rs", "docs.rs", false),
            ("http://localhost.example.com/", "localhost.example.com", false),
        ] {
            let target = PageUrl::parse(text).unwrap();
            assert_eq!((target.host(), target.known_address().is_some()), (host, known), "{text}");
            assert!(!target.as_str().contains('#'));
        }
    }

    #[test]
    fn invalid_page_address_is_refused_without_showing_its_password() {
        let long = format!("https://docs.rs/{}", "x".repeat(LONGEST));
        for (text, why) in [
            ("docs.rs", "relative URL without a base"),
            ("file:///etc/passwd", "`file` is neither http nor https"),
            ("javascript:alert(1)", "neither http nor https"),
            ("ftp://me:pw@example.com/", "neither http nor https"),
            ("https://me:pw@example.com/", "credentials"),
            ("https://me@example.com/", "credentials"),
            ("http://", "empty host"),
            ("http://256.256.256.256/", "invalid IPv4"),
            (&long, "more than 2048 bytes"),
        ] {
            let error = PageUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains("pw") && error.len() < 400, "{text}: {error}");
        }
    }

    #[test]
    fn redirect_must_stay_with_its_server_or_switch_to_tls() {
        for (from, to, stays) in [
            ("http://a.example/x", "/y", true),
            ("http://a.example/x", "?q", true),
            ("http://a.example/x", "//a.example/y", true),
            ("http://a.example/x", "https://a.example/y", true),
            ("http://a.example/x", "http://a.example:80/y", true),
            ("https://a.example/x", "http://a.example/y", false),
            ("http://a.example/x", "http://a.example:8080/y", false),
            ("http://a.example/x", "https://a.example:8443/y", false),
            ("http://a.example:81/x", "https://a.example/y", false),
            ("http://a.example/x", "http://www.a.example/x", false),
            ("http://a.example/x", "http://169.254.169.254/", false),
        ] {
            let from = PageUrl::parse(from).unwrap();
            assert_eq!(from.may_redirect_to(&from.join(to).unwrap()), stays, "{to}");
        }
        let from = PageUrl::parse("http://a.example/x").unwrap();
        for to in ["file:///etc/passwd", "javascript:alert(1)", "http://me:pw@a.example/", "http://"] {
            let error = from.join(to).unwrap_err().to_string();
            assert!(error.contains("a.example redirects there, but ") && !error.contains("pw"), "{error}");
        }
    }
}
