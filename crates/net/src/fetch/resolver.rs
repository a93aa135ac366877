//! Resolves names to permitted addresses.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{FetchError, PageUrl};

/// Decides which addresses may be connected to.
pub trait AddressGate: Send + Sync + fmt::Debug {
    /// Whether this host may be contacted at this address.
    fn may_connect(&self, host: &str, address: SocketAddr) -> bool;
}

/// A running lookup of a name.
pub type LookupFuture = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Resolves names.
pub trait NameResolver: Send + Sync + fmt::Debug {
    /// Looks up a name.
    fn lookup(&self, name: String) -> LookupFuture;
}

/// The system's name resolution.
#[derive(Debug)]
pub(super) struct SystemResolver;

impl NameResolver for SystemResolver {
    fn lookup(&self, name: String) -> LookupFuture {
        Box::pin(async move {
            let addresses = tokio::net::lookup_host((name, 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}

/// Refuses a host whose address needs no lookup and may not be connected to.
pub(super) fn check_known_address(target: &PageUrl, gate: &dyn AddressGate) -> Result<(), FetchError> {
    target.known_address().map_or(Ok(()), |address| check_address(gate, target, address))
}

/// Refuses a name that resolves here to an address that may not be connected to. A name that does not resolve here
/// passes: a proxy on this machine cannot resolve it either, and a remote proxy may be the only one that can.
pub(super) async fn check_resolved_addresses(
    target: &PageUrl,
    gate: &dyn AddressGate,
    resolver: &dyn NameResolver,
) -> Result<(), FetchError> {
    if target.known_address().is_some() {
        return Ok(());
    }
    let addresses = resolver.lookup(target.host().to_owned()).await.unwrap_or_default();
    addresses.into_iter().try_for_each(|address| check_address(gate, target, address))
}

fn check_address(gate: &dyn AddressGate, target: &PageUrl, address: IpAddr) -> Result<(), FetchError> {
    let host = target.host();
    if gate.may_connect(host, SocketAddr::new(address, target.port())) {
        Ok(())
    } else {
        Err(FetchError::AddressForbidden { host: host.to_owned(), address })
    }
}

/// Resolves names for one connection. The connection uses exactly the returned addresses.
pub(super) struct GatedResolver {
    pub(super) target: PageUrl,
    /// Host names of proxies. The gate does not check them, since the user chose them.
    pub(super) proxy_hosts: Vec<String>,
    pub(super) gate: Arc<dyn AddressGate>,
    pub(super) resolver: Arc<dyn NameResolver>,
}

impl Resolve for GatedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_owned();
        let is_exempt = self.target.url().host_str() != Some(&name) && self.proxy_hosts.contains(&name);
        let (gate, target) = (Arc::clone(&self.gate), self.target.clone());
        let pending = self.resolver.lookup(name);
        Box::pin(async move {
            let addresses = pending.await?;
            if !is_exempt {
                addresses.iter().try_for_each(|&address| check_address(&*gate, &target, address))?;
            }
            // The client adds the port of the request.
            let addresses: Addrs = Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}
