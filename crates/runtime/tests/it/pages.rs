//! Fetching web pages in a session, and the addresses that are allowed.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use protocol::RuleEffect;
use testkit::session::{PlayedSession, Scenario, scenario};

use crate::support::turns;

/// A server that gives every connection the same answer while the test runs.
fn serve(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut request = [0; 4096];
            // The request is small; the test only needs the answer.
            let _read = stream.read(&mut request);
            let _sent = stream.write_all(answer.as_bytes());
        }
    });
    address
}

const PAGE: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 20\r\nconnection: close\r\n\r\n\
                    <title>t</title>Hey!";
const AWAY: &str = "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n";

async fn fetch(scenario: Scenario, url: &str) -> PlayedSession {
    let script = turns(&format!(
        "
    - - call: {{ id: f, tool: web_fetch, input: {{ url: '{url}' }} }}
    - - say: 'got: ${{answer}}'
"
    ));
    scenario.script(&script).prompt("read").run().await
}

#[tokio::test]
async fn local_addresses_are_not_fetched_even_if_everything_is_allowed() {
    let server = serve(PAGE);
    for host in ["127.0.0.1", "localhost", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "localhost."] {
        let run = fetch(scenario().allow_all(), &format!("http://{host}:{}/", server.port())).await;
        assert!(run.text().contains("is not a public address, and no rule names it"), "{host}: {}", run.text());
    }
}

#[tokio::test]
async fn a_rule_that_names_a_local_address_allows_it() {
    let server = serve(PAGE);
    for (rule, host) in [("fetch(127.0.0.1)", "127.1"), ("fetch(localhost)", "localhost")] {
        let scenario = scenario().allow_all().rule(RuleEffect::Allow, rule);
        let run = fetch(scenario, &format!("http://{host}:{}/", server.port())).await;
        assert!(run.text().ends_with(":\n> # t\n>\n> Hey!\n"), "{rule}: {}", run.text());
    }
}

#[tokio::test]
async fn a_redirect_to_a_forbidden_address_is_reported_and_not_followed() {
    let server = serve(AWAY);
    let scenario = scenario().allow_all().rule(RuleEffect::Allow, "fetch(127.0.0.1)");
    let run = fetch(scenario, &format!("http://{server}/")).await;
    assert!(run.text().starts_with("got: This page redirects to http://169.254.169.254/;"), "{}", run.text());
}

#[tokio::test]
async fn a_page_needs_permission() {
    let run = fetch(scenario(), "https://docs.example/").await;
    assert!(run.text().starts_with("got: `web_fetch` was not permitted"), "{}", run.text());
    let run = fetch(scenario(), "file:///etc/passwd").await;
    assert!(run.text().contains("`file` is neither http nor https"), "{}", run.text());
}
