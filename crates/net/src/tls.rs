//! TLS with ring, passed explicitly, so that no process-wide provider need be installed.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_native_certs::{CertificateResult, load_certs_from_paths, load_native_certs};

use crate::{NetError, NetworkRoute};

/// TLS that trusts no certificate, for clients that never use it.
pub(crate) fn config_without_trust() -> Result<ClientConfig, NetError> {
    with_roots(RootCertStore::empty())
}

/// TLS that trusts the route's certificates, or the system's.
pub(crate) fn config_with_trust(route: &NetworkRoute) -> Result<ClientConfig, NetError> {
    let loaded = load_certificates(route);
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(loaded.certs);
    if added == 0 {
        let why = loaded.errors.first().map_or_else(|| missing_certificates_text(route), ToString::to_string);
        return Err(NetError::Certificates { why });
    }
    with_roots(roots)
}

fn with_roots(roots: RootCertStore) -> Result<ClientConfig, NetError> {
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(ring).with_safe_default_protocol_versions();
    let builder = versions.map_err(|error| NetError::Certificates { why: error.to_string() })?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn load_certificates(route: &NetworkRoute) -> CertificateResult {
    if route.ca_file.is_none() && route.ca_dir.is_none() {
        return load_native_certs();
    }
    let mut loaded = load_certs_from_paths(route.ca_file.as_deref(), None);
    // The variable may contain several folders, like a search path.
    for folder in route.ca_dir.iter().flat_map(std::env::split_paths) {
        let more = load_certs_from_paths(None, Some(&folder));
        loaded.certs.extend(more.certs);
        loaded.errors.extend(more.errors);
    }
    loaded
}

fn missing_certificates_text(route: &NetworkRoute) -> String {
    let places = route.ca_file.iter().chain(&route.ca_dir).map(|path| path.display().to_string());
    match places.collect::<Vec<_>>() {
        places if places.is_empty() => "the system has none".into(),
        places => format!("there is none in {}", places.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_certificate_file_is_named() {
        let route = NetworkRoute { ca_file: Some("/nowhere/ca.pem".into()), ..NetworkRoute::default() };
        let error = config_with_trust(&route).unwrap_err().to_string();
        assert!(error.contains("/nowhere/ca.pem") && error.ends_with("to a file of certificates"), "{error}");
    }
}
