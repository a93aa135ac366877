//! Addresses of providers.

use std::net::Ipv6Addr;

use url::{Host, Url};

/// A base address for requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProviderAddress {
    /// As written, without trailing slashes.
    pub(super) url: String,
    loopback: bool,
    plain_http: bool,
}

impl ProviderAddress {
    /// Parses an address. The error does not repeat any part of it.
    pub(super) fn parse(text: &str) -> Result<ProviderAddress, &'static str> {
        let trimmed = text.trim().trim_end_matches('/');
        if !text.contains("://") {
            return Err("has no scheme; begin it with https://");
        }
        if trimmed.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err("contains a space");
        }
        let url = Url::parse(trimmed).map_err(|_not_one| "is not an address such as https://host/v1")?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("contains a user name or password; leave it out, and name the key's variable with key-env");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("has a query; leave out what follows the `?` or `#`");
        }
        let plain = match url.scheme() {
            "https" => false,
            "http" => true,
            _other => return Err("is neither http:// nor https://"),
        };
        let loopback = match url.host() {
            None => return Err("has no host"),
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        };
        Ok(ProviderAddress { url: trimmed.to_owned(), loopback, plain_http: plain })
    }

    /// Whether it is on this machine.
    pub(super) fn is_loopback(&self) -> bool {
        self.loopback
    }

    /// Whether requests to it can be read on the network.
    pub(super) fn is_exposed(&self) -> bool {
        self.plain_http && !self.loopback
    }
}

/// The address that `OLLAMA_HOST` means. Scheme, port and host may be missing, and a wildcard address means this
/// machine.
pub(super) fn ollama_address(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("", host));
    let (authority, path) =
        rest.split_once('/').map_or((rest, String::new()), |(host, path)| (host, format!("/{path}")));
    // An IPv6 address may be written without brackets.
    let bracketed = authority.parse::<Ipv6Addr>().map(|ip| format!("[{ip}]"));
    let authority = bracketed.as_deref().unwrap_or(authority);
    let has_port = |authority: &str| {
        let after = authority.rsplit_once(']').map_or(authority, |(_, after)| after);
        after.contains(':')
    };
    let port = if scheme.is_empty() && !has_port(authority) { ":11434" } else { "" };
    let authority = match authority.strip_prefix("0.0.0.0").or_else(|| authority.strip_prefix("[::]")) {
        Some(port) => format!("127.0.0.1{port}"),
        None if authority.is_empty() || authority.starts_with(':') => format!("127.0.0.1{authority}"),
        None => authority.to_owned(),
    };
    let scheme = if scheme.is_empty() { "http" } else { scheme };
    format!("{scheme}://{authority}{port}{path}/v1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_kept_as_it_was_written() {
        let address = |text| ProviderAddress::parse(text).unwrap();
        assert_eq!(address("https://api.openai.com/v1//").url, "https://api.openai.com/v1");
        assert_eq!(address(" http://127.0.0.1:8080/v1 ").url, "http://127.0.0.1:8080/v1");
        for near in ["http://localhost:1", "http://127.9.9.9/v1", "http://[::1]:11434", "https://a.localhost"] {
            assert!(address(near).is_loopback() && !address(near).is_exposed(), "{near}");
        }
        for far in ["http://10.0.0.1/v1", "http://localhost.example.com", "http://[2001:db8::1]"] {
            assert!(!address(far).is_loopback() && address(far).is_exposed(), "{far}");
        }
        assert!(!address("https://example.com").is_exposed());
    }

    #[test]
    fn invalid_addresses_are_refused_with_the_reason() {
        let refused = [
            ("api.openai.com/v1", "scheme"),
            ("", "scheme"),
            ("https://", "address"),
            ("https://me:secret@host/v1", "password"),
            ("https://key@host/v1", "password"),
            ("https://host/v1?key=x", "query"),
            ("https://host/v1#x", "query"),
            ("ftp://host", "neither"),
            ("https://a b/v1", "space"),
            ("https://host:99999/v1", "address"),
        ];
        for (text, reason) in refused {
            let problem = ProviderAddress::parse(text).unwrap_err();
            assert!(problem.contains(reason), "{text}: {problem}");
        }
    }

    #[test]
    fn ollama_host_is_understood() {
        let meant = [
            ("127.0.0.1", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0:9999", "http://127.0.0.1:9999/v1"),
            (":9999", "http://127.0.0.1:9999/v1"),
            ("box", "http://box:11434/v1"),
            ("[::1]", "http://[::1]:11434/v1"),
            ("[::]:7", "http://127.0.0.1:7/v1"),
            ("::1", "http://[::1]:11434/v1"),
            ("::", "http://127.0.0.1:11434/v1"),
            ("fd00::7", "http://[fd00::7]:11434/v1"),
            ("http://::1", "http://[::1]/v1"),
            ("http://box:80/", "http://box:80/v1"),
            ("https://box/ollama", "https://box/ollama/v1"),
        ];
        for (host, url) in meant {
            assert_eq!(ollama_address(host), url);
            assert!(ProviderAddress::parse(url).is_ok());
        }
    }
}
