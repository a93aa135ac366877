//! Pages of well-behaved and of hostile servers.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bosun_net::fetch::{
    AddressGate, FetchError, FetchLimits, FetchOutcome, LookupFuture, NameResolver, PageBody, PageFetcher, PageUrl,
    WebPage,
};
use bosun_net::{ConnectProblem, NetError, NetworkRoute};

use crate::server::{Act, Server, ok, send};

/// Permits the addresses in its list, and records its calls.
#[derive(Debug, Default)]
struct Listed {
    open: Vec<IpAddr>,
    asked: Mutex<Vec<String>>,
}

impl AddressGate for Listed {
    fn may_connect(&self, host: &str, machine: SocketAddr) -> bool {
        let address = machine.ip();
        self.asked.lock().unwrap().push(format!("{host} at {address}"));
        self.open.contains(&address)
    }
}

fn open(addresses: &[&str]) -> Arc<Listed> {
    let open = addresses.iter().map(|address| address.parse().unwrap()).collect();
    Arc::new(Listed { open, ..Listed::default() })
}

/// Returns the next answer with each lookup, and then the last one again.
#[derive(Debug)]
struct Told {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl NameResolver for Told {
    fn lookup(&self, _name: String) -> LookupFuture {
        let next = self.asked.fetch_add(1, Ordering::SeqCst).min(self.answers.len() - 1);
        let answer = self.answers[next].clone();
        Box::pin(async move { Ok(answer) })
    }
}

fn names(answers: &[&[&str]]) -> Arc<Told> {
    let answer = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
    Arc::new(Told { answers: answers.iter().map(answer).collect(), asked: AtomicUsize::new(0) })
}

fn small() -> FetchLimits {
    FetchLimits {
        connect_timeout: Duration::from_secs(5),
        total_timeout: Duration::from_secs(10),
        max_redirects: 2,
        max_body_bytes: 1000,
    }
}

async fn get(url: &str, limits: FetchLimits) -> Result<FetchOutcome, FetchError> {
    let gate: Arc<dyn AddressGate> = open(&["127.0.0.1"]);
    PageFetcher::new(NetworkRoute::default(), limits).get(PageUrl::parse(url).unwrap(), &gate).await
}

async fn page(url: &str) -> WebPage {
    match get(url, small()).await.unwrap() {
        FetchOutcome::Page(page) => page,
        FetchOutcome::OtherServer(to) => panic!("led to {to:?}"),
    }
}

fn moved(status: u16, location: &str) -> Act {
    send(&format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"))
}

#[tokio::test]
async fn page_request_contains_only_the_address() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: 5\r\n\r\n";
    let server = Server::start(&[send(head), send("hello")]).await;
    let page = page(&format!("{}#part", server.url())).await;
    assert_eq!((page.status(), page.is_success(), page.target().as_str()), (200, true, &*server.url()));
    assert_eq!(page.content_type().as_deref(), Some("text/html; charset=utf-8"));
    assert_eq!(page.read().await.unwrap(), PageBody { bytes: b"hello".to_vec(), is_complete: true });
    let sent = server.requests().remove(0);
    let names: Vec<&str> = sent.lines().skip(1).filter_map(|line| Some(line.split_once(':')?.0)).collect();
    assert_eq!(names, ["accept", "accept-encoding", "user-agent", "host"], "{sent}");
    assert!(sent.starts_with("GET /v1/x HTTP/1.1\r\n") && sent.contains("user-agent: bosun/"), "{sent}");
}

#[tokio::test]
async fn page_is_read_up_to_the_limit() {
    for (size, is_whole) in [(1000, true), (1001, false)] {
        let server = Server::start(&[ok(&"x".repeat(size))]).await;
        let body = page(&server.url()).await.read().await.unwrap();
        assert_eq!((body.bytes.len(), body.is_complete), (1000, is_whole));
    }
    let endless = Server::start(&[send("HTTP/1.1 200 OK\r\n\r\n"), send(&"x".repeat(5000)), Act::Hang]).await;
    let body = page(&endless.url()).await.read().await.unwrap();
    assert_eq!((body.bytes.len(), body.is_complete), (1000, false));
}

#[tokio::test]
async fn a_server_that_keeps_silent_is_not_waited_for() {
    let soon = FetchLimits { total_timeout: Duration::from_millis(500), ..small() };
    let late = FetchError::TimedOut { host: "127.0.0.1".into(), after: soon.total_timeout };
    let mute = Server::start(&[Act::Hang]).await;
    assert_eq!(get(&mute.url(), soon).await.unwrap_err(), late);
    let stuck = Server::start(&[send("HTTP/1.1 200 OK\r\n\r\nbegin"), Act::Hang]).await;
    let FetchOutcome::Page(page) = get(&stuck.url(), soon).await.unwrap() else { panic!("it is a page") };
    assert_eq!(page.read().await.unwrap_err(), late);
}

#[tokio::test]
async fn truncated_or_compressed_page_is_an_error() {
    let cut = Server::start(&[send("HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nshort")]).await;
    let error = page(&cut.url()).await.read().await.unwrap_err();
    assert!(matches!(error, FetchError::Net(NetError::ConnectionLost { .. })), "{error}");
    let gzip = Server::start(&[send("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx")]).await;
    let error = get(&gzip.url(), small()).await.unwrap_err();
    assert_eq!(error, FetchError::Compressed { host: "127.0.0.1".into(), encoding: "gzip".into() });
}

#[tokio::test]
async fn error_page_has_its_status() {
    let server = Server::start(&[send("HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\ngone")]).await;
    let page = page(&server.url()).await;
    assert_eq!((page.status(), page.is_success()), (404, false));
    assert_eq!(page.read().await.unwrap().bytes, b"gone");
}

#[tokio::test]
async fn redirect_to_another_server_is_reported_and_not_followed() {
    let other = Server::start(&[ok("secret")]).await;
    let other_port = format!("http://{}/x", other.address);
    for location in ["http://169.254.169.254/latest/", "http://[::1]/", "https://elsewhere.example/", &other_port] {
        let server = Server::start(&[moved(302, location)]).await;
        match get(&server.url(), small()).await.unwrap() {
            FetchOutcome::OtherServer(to) => assert_eq!(to.as_str(), location),
            FetchOutcome::Page(page) => panic!("{location} was followed to {page:?}"),
        }
    }
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn redirect_within_the_server_is_followed_unless_it_loops() {
    let server = Server::start(&[moved(308, "other?q=1")]).await;
    let error = get(&server.url(), small()).await.unwrap_err();
    let to = format!("http://{}/v1/other?q=1", server.address);
    assert_eq!(error, FetchError::RedirectLoop { host: "127.0.0.1".into(), to });
    let paths: Vec<String> = server.requests().iter().map(|sent| sent.lines().next().unwrap().to_owned()).collect();
    assert_eq!(paths, ["GET /v1/x HTTP/1.1", "GET /v1/other?q=1 HTTP/1.1"]);
}

#[tokio::test]
async fn number_of_redirects_is_limited() {
    let server = Server::start(&[moved(307, "./x/x")]).await;
    let error = get(&server.url(), small()).await.unwrap_err();
    assert_eq!(error, FetchError::TooManyRedirects { host: "127.0.0.1".into(), most: 2 });
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn redirect_without_a_target_is_an_error() {
    for (answer, words) in [
        (send("HTTP/1.1 301 Moved\r\ncontent-length: 0\r\n\r\n"), "redirects (status 301) without a target"),
        (moved(301, "file:///etc/passwd"), "`file` is neither http nor https"),
        (moved(301, "javascript:alert(1)"), "`javascript` is neither http nor https"),
        (moved(301, "http://me:pw@127.0.0.1/"), "credentials are not sent"),
    ] {
        let server = Server::start(&[answer]).await;
        let error = get(&server.url(), small()).await.unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains("pw"), "{error}");
    }
}

#[tokio::test]
async fn gate_checks_the_normalised_address() {
    let server = Server::start(&[ok("secret")]).await;
    let port = server.address.port();
    for host in ["0x7f.1", "2130706433", "127.1", "[::ffff:127.0.0.1]", "localhost", "localhost.", "a.localhost", "0"] {
        let gate = open(&[]);
        let target = PageUrl::parse(&format!("http://{host}:{port}/")).unwrap();
        let dyn_gate: Arc<dyn AddressGate> = gate.clone();
        let error = PageFetcher::new(NetworkRoute::default(), small()).get(target, &dyn_gate).await.unwrap_err();
        assert!(matches!(error, FetchError::AddressForbidden { .. }), "{host}: {error}");
        assert_eq!(gate.asked.lock().unwrap().len(), 1, "{host}");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn name_is_resolved_once_and_refused_if_any_address_is_forbidden() {
    let server = Server::start(&[ok("secret")]).await;
    let url = format!("http://rebound.example:{}/", server.address.port());
    let told = names(&[&["192.0.2.1", "127.0.0.1"]]);
    let gate: Arc<dyn AddressGate> = open(&["192.0.2.1"]);
    let fetcher = PageFetcher::with_resolver(NetworkRoute::default(), small(), told.clone());
    let error = fetcher.get(PageUrl::parse(&url).unwrap(), &gate).await.unwrap_err();
    assert_eq!(
        error,
        FetchError::AddressForbidden { host: "rebound.example".into(), address: "127.0.0.1".parse().unwrap() }
    );
    assert_eq!(told.asked.load(Ordering::SeqCst), 1);
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn later_dns_answer_does_not_change_the_connection() {
    // The first answer is a permitted address where no server listens; the second one is this server.
    let server = Server::start(&[ok("secret")]).await;
    let url = format!("http://rebound.example:{}/", server.address.port());
    let told = names(&[&["127.0.0.2"], &["127.0.0.1"]]);
    let gate: Arc<dyn AddressGate> = open(&["127.0.0.2"]);
    let fetcher = PageFetcher::with_resolver(NetworkRoute::default(), small(), told.clone());
    let error = fetcher.get(PageUrl::parse(&url).unwrap(), &gate).await.unwrap_err();
    assert!(matches!(error, FetchError::Net(NetError::Connect { problem: ConnectProblem::Refused, .. })), "{error}");
    let again = fetcher.get(PageUrl::parse(&url).unwrap(), &gate).await.unwrap_err();
    assert!(matches!(again, FetchError::AddressForbidden { .. }), "{again}");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn redirect_to_the_same_name_is_resolved_and_checked_again() {
    let server = Server::start(&[moved(302, "/next")]).await;
    let url = format!("http://rebound.example:{}/", server.address.port());
    let told = names(&[&["127.0.0.1"], &["127.0.0.3"]]);
    let gate: Arc<dyn AddressGate> = open(&["127.0.0.1"]);
    let fetcher = PageFetcher::with_resolver(NetworkRoute::default(), small(), told);
    let error = fetcher.get(PageUrl::parse(&url).unwrap(), &gate).await.unwrap_err();
    assert_eq!(
        error,
        FetchError::AddressForbidden { host: "rebound.example".into(), address: "127.0.0.3".parse().unwrap() }
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn name_without_an_address_cannot_be_resolved() {
    let gate: Arc<dyn AddressGate> = open(&[]);
    let fetcher = PageFetcher::with_resolver(NetworkRoute::default(), small(), names(&[&[]]));
    let error = fetcher.get(PageUrl::parse("http://nobody.example/").unwrap(), &gate).await.unwrap_err();
    assert!(matches!(error, FetchError::Net(NetError::Connect { .. })), "{error}");
}

#[tokio::test]
async fn proxy_resolves_names_but_forbidden_addresses_are_refused() {
    let proxy = Server::start(&[ok("from the proxy")]).await;
    let route = NetworkRoute {
        http_proxy: Some(format!("http://proxy.example:{}", proxy.address.port())),
        no_proxy: Some("direct.example".into()),
        ..NetworkRoute::default()
    };
    let gate: Arc<dyn AddressGate> = open(&["203.0.113.7"]);
    let fetcher = PageFetcher::with_resolver(route, small(), names(&[&["203.0.113.7"], &["127.0.0.1"]]));
    let FetchOutcome::Page(page) = fetcher.get(PageUrl::parse("http://docs.example/").unwrap(), &gate).await.unwrap()
    else {
        panic!("it is a page")
    };
    assert_eq!(page.read().await.unwrap().bytes, b"from the proxy");
    // A name of this machine is not passed to a proxy, which would resolve it without a check.
    let named = ["http://direct.example/", "http://proxy.example/", "http://127.0.0.1.nip.example/"];
    for closed in ["http://10.0.0.1/", "http://localhost/"].into_iter().chain(named) {
        let error = fetcher.get(PageUrl::parse(closed).unwrap(), &gate).await.unwrap_err();
        assert!(matches!(error, FetchError::AddressForbidden { .. }), "{closed}: {error}");
    }
    assert_eq!(proxy.requests().len(), 1);
}
