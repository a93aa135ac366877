//! TLS, with a certificate authority of the test's own.

use std::io::Write;
use std::sync::Arc;

use bosun_net::{Client, NetError, Patience, Problem, Route};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::NamedTempFile;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::server::{Server, ok, post};

/// A server that `authority` vouches for.
struct Secure {
    server: Server,
    authority: NamedTempFile,
}

async fn secure() -> Secure {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".into()]).unwrap().signed_by(&key, &issuer).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    let server = Server::with(&[ok("safe")], Some(TlsAcceptor::from(Arc::new(config)))).await;
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(authority.as_bytes()).unwrap();
    Secure { server, authority: file }
}

#[tokio::test]
async fn a_server_of_an_authority_that_is_named_is_trusted() {
    let Secure { server, authority } = secure().await;
    let route = Route { ca_file: Some(authority.path().into()), ..Route::default() };
    let url = format!("https://localhost:{}/", server.address.port());
    let answer = Client::new(route, Patience::default()).post(post(url)).await.unwrap();
    assert_eq!(answer.text(9).await.unwrap(), "safe");
}

#[tokio::test]
async fn a_server_of_another_authority_or_name_is_not() {
    let (Secure { server, authority }, stranger) = (secure().await, secure().await);
    for (file, host) in [(stranger.authority.path(), "localhost"), (authority.path(), "127.0.0.1")] {
        let route = Route { ca_file: Some(file.into()), ..Route::default() };
        let url = format!("https://{host}:{}/", server.address.port());
        let error = Client::new(route, Patience::default()).post(post(url)).await.unwrap_err();
        let is_untrusted = matches!(&error, NetError::Connect { problem: Problem::Untrusted(_), .. });
        assert!(is_untrusted && error.to_string().contains("SSL_CERT_FILE"), "{error}");
    }
    assert!(server.requests().is_empty());
}
