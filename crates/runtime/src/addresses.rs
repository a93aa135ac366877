//! Which machines pages may come from.

use std::net::SocketAddr;
use std::sync::Arc;

use net::fetch::Gate;

use crate::agent::Desk;

/// The machines that the calls of a session may connect to.
#[derive(Debug)]
pub(crate) struct Addresses(pub(crate) Arc<Desk>);

impl Gate for Addresses {
    fn may_connect(&self, host: &str, machine: SocketAddr) -> bool {
        self.0.policy().may_connect(host, machine)
    }
}
