//! Restricts the addresses that a client connects to.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::fetch::AddressGate;
use crate::{NetError, NetworkRoute, proxy};

/// Refuses an address that needs no lookup and may not be connected to.
pub(crate) fn check_literal_address(url: &Url, gate: &dyn AddressGate) -> Result<(), NetError> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let port = url.port_or_known_default().unwrap_or_default();
    match host.parse::<IpAddr>() {
        Ok(address) if !gate.may_connect(host, SocketAddr::new(address, port)) => {
            Err(NetError::AddressForbidden { host: host.to_owned(), address })
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The addresses of a host.
pub async fn lookup_host(host: &str) -> io::Result<Vec<IpAddr>> {
    Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
}

/// Resolves names to addresses that the gate permits. The connection uses exactly these.
pub(crate) struct GatedNames {
    gate: Arc<dyn AddressGate>,
    /// Hosts that are not checked, since the user chose them.
    proxies: Vec<String>,
}

impl GatedNames {
    pub(crate) fn new(gate: Arc<dyn AddressGate>, route: &NetworkRoute) -> GatedNames {
        GatedNames { gate, proxies: proxy::proxy_hosts(route) }
    }
}

impl Resolve for GatedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let (gate, name) = (Arc::clone(&self.gate), name.as_str().to_owned());
        let is_proxy = self.proxies.contains(&name);
        Box::pin(async move {
            let addresses = lookup_host(&name).await?;
            let forbidden = |address: &&IpAddr| !is_proxy && !gate.may_connect(&name, SocketAddr::new(**address, 0));
            if let Some(&address) = addresses.iter().find(forbidden) {
                return Err(NetError::AddressForbidden { host: name, address }.into());
            }
            // The client adds the port of the request.
            let addresses: Addrs = Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}
