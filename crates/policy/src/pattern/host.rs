//! Patterns for hosts: a name, its subdomains, an address, or a range of addresses; optionally with a port.

use std::net::IpAddr;

use url::Host;

use crate::address::{AddressRange, WebAddress, ip_of, normalize_host};

/// A pattern for hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostPattern {
    hosts: HostSet,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostSet {
    Every,
    /// This host.
    Host(Host<String>),
    /// Every subdomain of this name.
    SubdomainsOf(String),
    Range(AddressRange),
}

impl HostPattern {
    pub(crate) fn parse(text: &str) -> Result<HostPattern, String> {
        let text = text.strip_prefix("https://").or(text.strip_prefix("http://")).unwrap_or(text);
        if let Some(range) = AddressRange::parse(text) {
            return Ok(HostPattern { hosts: HostSet::Range(range), port: None });
        }
        let text = text.strip_suffix('/').unwrap_or(text);
        if text.contains(['/', '@', '?', '#', ' ']) {
            return Err(
                "it matches hosts, such as docs.rs or *.rust-lang.org; leave out the rest of the address".into()
            );
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(HostPattern { hosts: HostSet::Host(host_of(address)), port: None });
        }
        let (host, port) = split_port(text)?;
        Ok(HostPattern { hosts: HostSet::parse(host)?, port })
    }

    /// Whether an allow rule with this pattern covers the address. An address that is not public must be named.
    pub(crate) fn permits(&self, address: &WebAddress) -> bool {
        self.matches(&address.host, address.port) && (address.is_public() || self.is_specific())
    }

    /// Whether a deny or ask rule with this pattern covers the address.
    pub(crate) fn forbids(&self, address: &WebAddress) -> bool {
        let apex =
            matches!((&self.hosts, &address.host), (HostSet::SubdomainsOf(name), Host::Domain(host)) if name == host);
        self.matches(&address.host, address.port) || (apex && self.matches_port(address.port))
    }

    /// Whether the pattern names this address itself, not only a host name that resolves to it.
    pub(crate) fn names_address(&self, address: IpAddr, port: u16) -> bool {
        self.is_specific() && self.matches(&host_of(address.to_canonical()), port)
    }

    /// Whether the pattern names this host.
    pub(crate) fn names_host(&self, host: &Host<String>, port: u16) -> bool {
        self.is_specific() && self.matches(host, port)
    }

    /// Whether it names hosts, rather than matching all.
    fn is_specific(&self) -> bool {
        match &self.hosts {
            HostSet::Every => false,
            HostSet::Host(_) | HostSet::SubdomainsOf(_) => true,
            HostSet::Range(range) => !range.contains_all(),
        }
    }

    fn matches_port(&self, port: u16) -> bool {
        self.port.is_none_or(|only| only == port)
    }

    fn matches(&self, host: &Host<String>, port: u16) -> bool {
        let host_matches = match &self.hosts {
            HostSet::Every => true,
            HostSet::Host(only) => only == host,
            HostSet::SubdomainsOf(name) => match host {
                Host::Domain(host) => host.strip_suffix(name.as_str()).is_some_and(|sub| sub.ends_with('.')),
                Host::Ipv4(_) | Host::Ipv6(_) => false,
            },
            HostSet::Range(range) => ip_of(host).is_some_and(|address| range.contains(address)),
        };
        host_matches && self.matches_port(port)
    }
}

impl HostSet {
    fn parse(text: &str) -> Result<HostSet, String> {
        if text == "*" {
            return Ok(HostSet::Every);
        }
        let (below, name) = text.strip_prefix("*.").map_or((false, text), |name| (true, name));
        if name.contains('*') {
            return Err("a `*` is allowed only at the front, as in *.rust-lang.org".into());
        }
        let host = Host::parse(name).map(normalize_host).map_err(|error| format!("`{name}` is not a host: {error}"))?;
        match (below, host) {
            (true, Host::Domain(name)) => Ok(HostSet::SubdomainsOf(name)),
            (true, Host::Ipv4(_) | Host::Ipv6(_)) => Err("write a range of addresses as 10.0.0.0/8".into()),
            (false, host) => Ok(HostSet::Host(host)),
        }
    }
}

fn host_of(address: IpAddr) -> Host<String> {
    match address.to_canonical() {
        IpAddr::V4(address) => Host::Ipv4(address),
        IpAddr::V6(address) => Host::Ipv6(address),
    }
}

fn split_port(text: &str) -> Result<(&str, Option<u16>), String> {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            let port = port.parse().map_err(|_| format!("`{port}` is not a port; it is a number up to 65535"))?;
            Ok((host, Some(port)))
        }
        Some(_) | None => Ok((text, None)),
    }
}
