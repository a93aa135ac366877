//! Checks that a request has the token, uses the adapter's own address, and does not come from a foreign web page.
//!
//! The address check guards against DNS rebinding and the origin check against web pages in a browser. A client without
//! the token is rejected in any case.

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Request, StatusCode};

use super::AccessToken;
use super::problem::HttpProblem;

/// The browser's statement of where a request comes from.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Decides which requests are let in.
#[derive(Debug)]
pub(crate) struct AccessGuard {
    token: AccessToken,
    /// The adapter's own host names, with its port.
    own_hosts: [String; 2],
}

impl AccessGuard {
    pub(crate) fn new(token: AccessToken, port: u16) -> AccessGuard {
        AccessGuard { token, own_hosts: ["127.0.0.1", "localhost"].map(|name| format!("{name}:{port}")) }
    }

    /// Checks a request before it is processed.
    pub(crate) fn check<B>(&self, request: &Request<B>) -> Result<(), HttpProblem> {
        let headers = request.headers();
        let target = request.uri().authority();
        if !self.has_own_host(headers) || target.is_some_and(|target| !self.is_own_host(target.as_str())) {
            return Err(forbidden("the host is not this server's address")
                .remedy(format!("call it as http://{}", self.own_hosts[0])));
        }
        if !self.is_own_origin(headers) {
            return Err(forbidden("pages from other origins may not use this server"));
        }
        if !self.has_token(headers) {
            return Err(HttpProblem::new(StatusCode::UNAUTHORIZED, "the token is missing or wrong")
                .remedy("send `Authorization: Bearer TOKEN` with the token that the server printed or stored"));
        }
        Ok(())
    }

    fn has_own_host(&self, headers: &HeaderMap) -> bool {
        single_header(headers, &HOST).is_some_and(|name| self.is_own_host(name))
    }

    fn is_own_host(&self, name: &str) -> bool {
        self.own_hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Programs send neither header; a browser sends at least one of them with every request of a page.
    fn is_own_origin(&self, headers: &HeaderMap) -> bool {
        let origin = !headers.contains_key(ORIGIN)
            || single_header(headers, &ORIGIN)
                .and_then(|origin| origin.strip_prefix("http://"))
                .is_some_and(|name| self.is_own_host(name));
        let site = !headers.contains_key(FETCH_SITE)
            || single_header(headers, &FETCH_SITE).is_some_and(|site| matches!(site, "same-origin" | "none"));
        origin && site
    }

    fn has_token(&self, headers: &HeaderMap) -> bool {
        let sent = single_header(headers, &AUTHORIZATION).and_then(|value| value.split_once(' '));
        sent.is_some_and(|(scheme, text)| scheme.eq_ignore_ascii_case("bearer") && self.token.matches(text.as_bytes()))
    }
}

/// The value of a header that occurs exactly once.
fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn forbidden(detail: &str) -> HttpProblem {
    HttpProblem::new(StatusCode::FORBIDDEN, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: &str = "0123456789abcdef0123456789abcdef";

    fn status(headers: &[(&str, &str)]) -> u16 {
        let guard = AccessGuard::new(AccessToken::new(WORD).unwrap(), 4000);
        let mut request = Request::builder().uri("/v1/sessions");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let outcome = guard.check(&request.body(()).unwrap());
        outcome.map_or_else(|problem| problem.into_response().status().as_u16(), |()| 200)
    }

    #[test]
    fn requests_need_own_host_own_origin_and_token() {
        let bearer = format!("Bearer {WORD}");
        let token = ("authorization", bearer.as_str());
        let host = ("host", "127.0.0.1:4000");
        let table: [(&[(&str, &str)], u16); 16] = [
            (&[host, token], 200),
            (&[("host", "LOCALHOST:4000"), token], 200),
            (&[host, token, ("origin", "http://127.0.0.1:4000"), ("sec-fetch-site", "same-origin")], 200),
            (&[host, ("authorization", &format!("bearer {WORD}"))], 200),
            (&[host], 401),
            (&[host, ("authorization", "Bearer ")], 401),
            (&[host, ("authorization", WORD)], 401),
            (&[host, token, token], 401),
            (&[token], 403),
            (&[("host", "127.0.0.1"), token], 403),
            (&[("host", "127.0.0.1:4001"), token], 403),
            (&[("host", "evil.test:4000"), token], 403),
            (&[host, host, token], 403),
            (&[host, token, ("origin", "http://evil.test")], 403),
            (&[host, token, ("origin", "null")], 403),
            (&[host, token, ("sec-fetch-site", "cross-site")], 403),
        ];
        for (headers, expected) in table {
            assert_eq!(status(headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn targets_with_another_authority_are_rejected() {
        let guard = AccessGuard::new(AccessToken::new(WORD).unwrap(), 4000);
        let request = Request::builder().uri("http://evil.test:4000/v1/sessions").header("host", "127.0.0.1:4000");
        let request = request.header("authorization", format!("Bearer {WORD}")).body(()).unwrap();
        assert!(guard.check(&request).is_err());
    }
}
