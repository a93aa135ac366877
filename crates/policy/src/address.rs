//! Web addresses: which host they really name, and whether it is public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Domain suffixes of local machines.
const LOCAL_SUFFIXES: [&str; 6] = ["localhost", "localdomain", "local", "internal", "home.arpa", "lan"];

/// The address of a web page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WebAddress {
    pub(crate) host: Host<String>,
    pub(crate) port: u16,
    /// The default port of its scheme.
    default_port: u16,
}

impl WebAddress {
    /// Parses an address as a browser would; text before an `@` is not a host.
    pub(crate) fn parse(text: &str) -> Result<WebAddress, String> {
        let url = Url::parse(text.trim()).map_err(|error| format!("it is not an address: {error}"))?;
        let default_port = match url.scheme() {
            "http" => 80,
            "https" => 443,
            _other => return Err("only http and https addresses are fetched".into()),
        };
        let host = url.host().map(|host| normalize_host(host.to_owned())).ok_or("it names no host")?;
        if host == Host::Domain(String::new()) {
            return Err("it names no host".into());
        }
        Ok(WebAddress { host, port: url.port().unwrap_or(default_port), default_port })
    }

    /// Whether the host may be public. Where a name really leads is known only after a look-up.
    pub(crate) fn is_public(&self) -> bool {
        match (&self.host, ip_of(&self.host)) {
            (_, Some(address)) => is_public(address),
            (Host::Domain(name), None) => !is_local_name(name),
            (Host::Ipv4(_) | Host::Ipv6(_), None) => false,
        }
    }

    /// The host, with its port unless it is the default one.
    pub(crate) fn display(&self) -> String {
        if self.port == self.default_port { self.host.to_string() } else { format!("{}:{}", self.host, self.port) }
    }
}

/// Whether a name means a local machine.
pub(crate) fn is_local_name(name: &str) -> bool {
    let matches_suffix =
        |suffix: &&str| name.strip_suffix(*suffix).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'));
    !name.contains('.') || LOCAL_SUFFIXES.iter().any(matches_suffix)
}

/// Normalises the spelling of a host.
pub(crate) fn normalize_host(host: Host<String>) -> Host<String> {
    match host {
        Host::Domain(name) => Host::Domain(name.trim_end_matches('.').to_lowercase()),
        Host::Ipv6(address) => address.to_ipv4_mapped().map_or(Host::Ipv6(address), Host::Ipv4),
        Host::Ipv4(address) => Host::Ipv4(address),
    }
}

/// The IP address of a host, unless it is a name.
pub(crate) fn ip_of(host: &Host<String>) -> Option<IpAddr> {
    match host {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some(IpAddr::V4(*address)),
        Host::Ipv6(address) => Some(IpAddr::V6(*address)),
    }
}

/// Whether an address is public: not of this machine, its network or its cloud provider, and not reserved.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || a == 0
        || a >= 224
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19))
        // The metadata service of one cloud provider.
        || address == Ipv4Addr::new(168, 63, 129, 16);
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    // Within the globally routed range: reserved, documentation and embedded addresses.
    let special = match a {
        0x2001 => b < 0x0200 || b == 0x0db8,
        0x2002 => true,
        0x3fff => b < 0x1000,
        _other => false,
    };
    a & 0xe000 == 0x2000 && !special
}

/// A range of addresses, such as `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AddressRange {
    first: IpAddr,
    /// Length of the common prefix of its addresses.
    prefix_bits: u8,
}

impl AddressRange {
    /// Parses a range.
    pub(crate) fn parse(text: &str) -> Option<AddressRange> {
        let (first, bits) = text.split_once('/')?;
        let first: IpAddr = first.trim_matches(['[', ']']).parse().ok()?;
        let bits: u8 = bits.parse().ok()?;
        let max_bits = if first.is_ipv4() { 32 } else { 128 };
        (bits <= max_bits).then_some(AddressRange { first, prefix_bits: bits })
    }

    /// Whether it contains every address.
    pub(crate) fn contains_all(self) -> bool {
        self.prefix_bits == 0
    }

    /// Whether the address is in it.
    pub(crate) fn contains(self, address: IpAddr) -> bool {
        match (self.first, address.to_canonical()) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                let difference = first.to_bits() ^ address.to_bits();
                difference.checked_shr(32 - u32::from(self.prefix_bits)).unwrap_or(0) == 0
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                let difference = first.to_bits() ^ address.to_bits();
                difference.checked_shr(128 - u32::from(self.prefix_bits)).unwrap_or(0) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_global_addresses_are_public() {
        let public = |text: &str| is_public(text.parse().unwrap());
        for yes in
            ["1.1.1.1", "93.184.216.34", "100.63.0.1", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"]
        {
            assert!(public(yes), "{yes}");
        }
        for no in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.0.1",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "5f00::1",
        ] {
            assert!(!public(no), "{no}");
        }
    }

    #[test]
    fn a_range_contains_addresses_with_its_prefix() {
        let within =
            |range: &str, address: &str| AddressRange::parse(range).unwrap().contains(address.parse().unwrap());
        assert!(within("10.0.0.0/8", "10.255.0.1") && !within("10.0.0.0/8", "11.0.0.0"));
        assert!(
            within("10.0.0.0/8", "::ffff:10.1.2.3")
                && within("0.0.0.0/0", "9.9.9.9")
                && within("1.2.3.4/32", "1.2.3.4")
        );
        assert!(!within("1.2.3.4/32", "1.2.3.5") && within("fd00::/8", "fdff::1") && !within("fd00::/8", "fe00::1"));
        assert_eq!(AddressRange::parse("10.0.0.0/33"), None);
        assert_eq!(AddressRange::parse("10.0.0/8"), None);
    }
}
