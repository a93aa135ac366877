//! TLS, with a certificate authority made for the test.

use std::io::Write;
use std::sync::Arc;

use bosun_net::{ConnectProblem, HttpClient, HttpTimeouts, NetError, NetworkRoute, RequestHeader, Secret};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::NamedTempFile;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::server::{Server, ok, post, send};

/// A server with a certificate of `authority`.
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
async fn server_of_a_configured_authority_is_trusted() {
    let Secure { server, authority } = secure().await;
    let route = NetworkRoute { ca_file: Some(authority.path().into()), ..NetworkRoute::default() };
    let url = format!("https://localhost:{}/", server.address.port());
    let answer = HttpClient::new(route, HttpTimeouts::default()).post(post(url)).await.unwrap();
    assert_eq!(answer.text(9).await.unwrap(), "safe");
}

#[tokio::test]
async fn server_with_another_authority_or_name_is_not_trusted() {
    let (Secure { server, authority }, stranger) = (secure().await, secure().await);
    for (file, host) in [(stranger.authority.path(), "localhost"), (authority.path(), "127.0.0.1")] {
        let route = NetworkRoute { ca_file: Some(file.into()), ..NetworkRoute::default() };
        let url = format!("https://{host}:{}/", server.address.port());
        let error = HttpClient::new(route, HttpTimeouts::default()).post(post(url)).await.unwrap_err();
        let is_untrusted = matches!(&error, NetError::Connect { problem: ConnectProblem::Untrusted(_), .. });
        assert!(is_untrusted && error.to_string().contains("SSL_CERT_FILE"), "{error}");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn proxy_tunnels_tls_and_does_not_see_the_key() {
    let Secure { authority, .. } = secure().await;
    let proxy = Server::start(&[send("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")]).await;
    let route = NetworkRoute {
        https_proxy: Some(format!("http://me:pw@{}", proxy.address)),
        ca_file: Some(authority.path().into()),
        ..NetworkRoute::default()
    };
    let mut request = post("https://models.invalid/v1/x");
    request.headers = vec![RequestHeader::bearer(Secret::new("sk-1"))];
    let error = HttpClient::new(route, HttpTimeouts::default()).post(request).await.unwrap_err();
    assert!(matches!(&error, NetError::Connect { problem: ConnectProblem::Other(_), .. }), "{error}");
    assert!(!error.to_string().contains("pw"), "{error}");
    let asked = proxy.requests().remove(0);
    assert!(asked.starts_with("CONNECT models.invalid:443 HTTP/1.1\r\n") && !asked.contains("sk-1"), "{asked}");
    assert!(asked.to_lowercase().contains("proxy-authorization: basic "), "{asked}");
}
