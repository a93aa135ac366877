//! Successful requests, redirects that are not followed, and proxies.

use std::time::Duration;

use bosun_net::{ConnectProblem, HttpClient, HttpTimeouts, NetError, NetworkRoute, RequestHeader, Secret};

use crate::server::{Act, Server, client, ok, post, send};

#[tokio::test]
async fn request_and_answer_arrive_complete() {
    let server = Server::start(&[ok("hello")]).await;
    let mut request = post(server.url());
    request.headers = vec![RequestHeader::plain("x-plain", "1"), RequestHeader::bearer(Secret::new("sk-1"))];
    let answer = client(HttpTimeouts::default()).post(request).await.unwrap();
    assert_eq!((answer.status(), answer.is_success(), answer.header("content-length")), (200, true, Some("5")));
    assert_eq!(answer.text(100).await.unwrap(), "hello");
    let sent = server.requests().remove(0);
    assert!(sent.starts_with("POST /v1/x HTTP/1.1\r\n") && sent.ends_with("\r\n\r\n{}"), "{sent}");
    assert!(sent.contains("x-plain: 1\r\n") && sent.contains("authorization: Bearer sk-1\r\n"), "{sent}");
}

#[tokio::test]
async fn a_get_has_no_body() {
    let server = Server::start(&[ok("[]")]).await;
    let answer = client(HttpTimeouts::default()).get(&server.url(), &[]).await.unwrap();
    assert_eq!(answer.text(100).await.unwrap(), "[]");
    assert!(server.requests()[0].starts_with("GET /v1/x HTTP/1.1\r\n"));
}

#[tokio::test]
async fn body_is_read_up_to_the_limit() {
    let server = Server::start(&[send("HTTP/1.1 500 No\r\n\r\n"), send(&"x".repeat(1000)), Act::Hang]).await;
    let answer = client(HttpTimeouts::default()).post(post(server.url())).await.unwrap();
    assert_eq!(answer.status(), 500);
    assert_eq!(answer.text(10).await.unwrap(), "xxxxxxxxxx");
}

#[tokio::test]
async fn redirect_is_reported_and_not_followed() {
    let other = Server::start(&[ok("stolen")]).await;
    let location = format!("http://{}/elsewhere", other.address);
    let moved = format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
    let server = Server::start(&[send(&moved)]).await;
    let mut request = post(server.url());
    request.headers = vec![RequestHeader::bearer(Secret::new("sk-1"))];
    let error = client(HttpTimeouts::default()).post(request).await.unwrap_err();
    assert_eq!(error, NetError::Redirected { host: server.address.to_string(), location });
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn refused_connection_is_reported() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = client(HttpTimeouts::default()).post(post(format!("http://{free}/"))).await.unwrap_err();
    assert_eq!(error, NetError::Connect { host: free.to_string(), problem: ConnectProblem::Refused });
    assert_eq!(
        error.to_string(),
        format!("cannot connect to {free}: connection refused; is the server running, and is the address right?")
    );
}

#[tokio::test]
async fn proxy_gets_requests_for_other_hosts() {
    let proxy = Server::start(&[ok("from the proxy")]).await;
    let route = NetworkRoute { http_proxy: Some(format!("http://{}", proxy.address)), ..NetworkRoute::default() };
    let client = HttpClient::new(route, HttpTimeouts::default());
    let answer = client.post(post("http://models.invalid/v1/x")).await.unwrap();
    assert_eq!(answer.text(100).await.unwrap(), "from the proxy");
    assert!(proxy.requests()[0].starts_with("POST http://models.invalid/v1/x HTTP/1.1\r\n"));
}

#[tokio::test]
async fn loopback_never_uses_a_proxy() {
    let server = Server::start(&[ok("direct")]).await;
    let route = NetworkRoute {
        http_proxy: Some("http://127.0.0.1:1".into()),
        https_proxy: Some("http://127.0.0.1:1".into()),
        ..NetworkRoute::default()
    };
    let client = HttpClient::new(route, HttpTimeouts::default());
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{}/", server.address.port());
        assert_eq!(client.post(post(url)).await.unwrap().text(100).await.unwrap(), "direct", "{host}");
    }
}

#[tokio::test]
async fn loopback_names_and_no_proxy_hosts_are_reached_directly() {
    let proxy = Server::start(&[ok("from the proxy")]).await;
    let route = NetworkRoute {
        http_proxy: Some(format!("http://{}", proxy.address)),
        no_proxy: Some(" .dotted.invalid, plain.invalid ,192.0.2.0/24,2001:db8::1".into()),
        ..NetworkRoute::default()
    };
    let soon = Duration::from_millis(200);
    let client = HttpClient::new(route, HttpTimeouts { connect: soon, first_byte: soon, idle: soon });
    for host in ["[::1]", "127.9.9.9", "a.localhost", "x.dotted.invalid", "plain.invalid", "192.0.2.7", "[2001:db8::1]"]
    {
        let answer = client.post(post(format!("http://{host}:1/"))).await;
        assert!(answer.is_err() && proxy.requests().is_empty(), "{host}");
    }
    assert!(client.post(post("http://plain.invalid.example/")).await.is_ok());
}

#[tokio::test]
async fn host_in_no_proxy_is_reached_directly() {
    let proxy = Server::start(&[ok("from the proxy")]).await;
    let route = NetworkRoute {
        http_proxy: Some(format!("http://{}", proxy.address)),
        no_proxy: Some("models.invalid".into()),
        ..NetworkRoute::default()
    };
    let error =
        HttpClient::new(route, HttpTimeouts::default()).post(post("http://api.models.invalid/")).await.unwrap_err();
    assert_eq!(error, NetError::Connect { host: "api.models.invalid".into(), problem: ConnectProblem::UnknownHost });
    assert!(proxy.requests().is_empty());
}

#[tokio::test]
async fn a_client_for_plain_addresses_needs_no_certificates() {
    let server = Server::start(&[ok("fine")]).await;
    let route = NetworkRoute { ca_file: Some("/nowhere/ca.pem".into()), ..NetworkRoute::default() };
    let client = HttpClient::new(route, HttpTimeouts::default());
    assert_eq!(client.post(post(server.url())).await.unwrap().text(9).await.unwrap(), "fine");
    let error = client.post(post("https://localhost:1/")).await.unwrap_err();
    assert!(matches!(error, NetError::Certificates { .. }), "{error}");
}
