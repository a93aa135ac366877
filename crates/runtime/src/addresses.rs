//! Which addresses pages may come from: those of the public internet, and those that a rule names.
//!
//! A rule that names a host does not open what is not public: whoever owns the name says what its address is, and a
//! person who permits `fetch(example.com)` does not mean this machine. The address itself must be named, but for the
//! names of this machine, which have no other.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use net::fetch::Gate;
use policy::{Policy, Rule};
use protocol::RuleEffect;

use crate::agent::Desk;

/// The addresses that the calls of a session may connect to.
#[derive(Debug)]
pub(crate) struct Addresses(pub(crate) Arc<Desk>);

impl Gate for Addresses {
    fn may_connect(&self, host: &str, address: IpAddr) -> bool {
        may_connect(self.0.policy(), host, address)
    }
}

fn may_connect(policy: &Policy, host: &str, address: IpAddr) -> bool {
    is_public(address) || policy.rules.iter().filter_map(opened).any(|opened| names(opened, host, address))
}

/// The host that a rule opens.
fn opened(rule: &Rule) -> Option<&str> {
    match rule.effect {
        RuleEffect::Allow => Some(rule.text.trim().strip_prefix("fetch(")?.strip_suffix(')')?.trim()),
        RuleEffect::Ask | RuleEffect::Deny => None,
    }
}

fn names(opened: &str, host: &str, address: IpAddr) -> bool {
    let bare = opened.trim_start_matches('[').trim_end_matches(']');
    let is_here = address.is_loopback() && (host == "localhost" || host.ends_with(".localhost"));
    bare.parse() == Ok(address) || is_here && bare.eq_ignore_ascii_case(host)
}

/// Whether an address is one that anybody on the internet could ask.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = match address.octets() {
        // This network, shared by a provider's customers, protocol assignments, relays of 6to4, benchmarks, reserved.
        [0, ..] | [100, 64..=127, ..] | [192, 0, 0, _] | [192, 88, 99, _] | [198, 18..=19, ..] | [240..=255, ..] => {
            true
        }
        _ => false,
    };
    !(special
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast())
}

/// Only what was given out for hosts of the internet; forms that stand for an IPv4 address are not.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // Protocol assignments with Teredo, documentation, 6to4, documentation again.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use policy::Source;

    use super::*;

    const CLOSED: &[&str] = &[
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:2::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ];

    const PUBLIC: &[&str] = &[
        "1.1.1.1",
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.1",
        "126.1.1.1",
        "172.15.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255",
        "2001:200::1",
        "2606:4700::1111",
        "2a00:1450::1",
        "3ffe::1",
    ];

    fn policy(effect: RuleEffect, rules: &[&str]) -> Policy {
        let rule = |text: &&str| Rule::parse(effect, text, Source::Flag).unwrap();
        Policy { rules: rules.iter().map(rule).collect(), ..Policy::default() }
    }

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for address in CLOSED {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in PUBLIC {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_rule_opens_the_address_it_names_and_no_other() {
        for (rule, host, address, opens) in [
            ("fetch(127.0.0.1)", "127.0.0.1", "127.0.0.1", true),
            ("fetch( 127.0.0.1 )", "127.0.0.1", "127.0.0.1", true),
            ("fetch(127.0.0.1)", "127.0.0.2", "127.0.0.2", false),
            ("fetch([::1])", "::1", "::1", true),
            ("fetch(::1)", "::1", "::1", true),
            ("fetch(10.0.0.5)", "wiki.example", "10.0.0.5", true),
            ("fetch(wiki.example)", "wiki.example", "10.0.0.5", false),
            ("fetch(wiki.example)", "wiki.example", "169.254.169.254", false),
            ("fetch(localhost)", "localhost", "127.0.0.1", true),
            ("fetch(LOCALHOST)", "localhost", "::1", true),
            ("fetch(localhost)", "localhost", "10.0.0.1", false),
            ("fetch(localhost)", "a.localhost", "127.0.0.1", false),
            ("fetch(*)", "127.0.0.1", "127.0.0.1", false),
            ("fetch", "127.0.0.1", "127.0.0.1", false),
            ("web_fetch", "localhost", "127.0.0.1", false),
            ("shell(127.0.0.1)", "127.0.0.1", "127.0.0.1", false),
            ("fetch()", "127.0.0.1", "127.0.0.1", false),
        ] {
            let address = address.parse().unwrap();
            assert_eq!(may_connect(&policy(RuleEffect::Allow, &[rule]), host, address), opens, "{rule} {host}");
            for effect in [RuleEffect::Ask, RuleEffect::Deny] {
                assert!(!may_connect(&policy(effect, &[rule]), host, address), "{rule} {host}");
            }
        }
    }
}
