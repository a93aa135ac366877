//! Which machines pages may come from.

use std::net::SocketAddr;
use std::sync::Arc;

use net::fetch::AddressGate;

use crate::agent::SessionContext;

/// The machines that the calls of a session may connect to.
#[derive(Debug)]
pub(crate) struct PolicyNetworkGate(pub(crate) Arc<SessionContext>);

impl AddressGate for PolicyNetworkGate {
    fn may_connect(&self, host: &str, machine: SocketAddr) -> bool {
        self.0.policy().may_connect(host, machine)
    }
}
