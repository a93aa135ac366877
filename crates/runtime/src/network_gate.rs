//! Restricts the hosts from which pages may be fetched.

use std::net::SocketAddr;
use std::sync::Arc;

use net::fetch::AddressGate;

use crate::session_context::Workplace;

/// Lets the calls of a session connect only where its policy permits.
#[derive(Debug)]
pub(crate) struct PolicyNetworkGate(pub(crate) Arc<Workplace>);

impl AddressGate for PolicyNetworkGate {
    fn may_connect(&self, host: &str, machine: SocketAddr) -> bool {
        self.0.policy().may_connect(host, machine)
    }
}
