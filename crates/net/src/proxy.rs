//! Proxies: only those of the route, and never for loopback.

use reqwest::{NoProxy, Proxy, Url};

use crate::{NetError, NetworkRoute};

/// Hosts that are this machine.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// The route's proxies for the client.
pub(crate) fn all(route: &NetworkRoute) -> Result<Vec<Proxy>, NetError> {
    let direct = [LOOPBACK, route.no_proxy.as_deref().unwrap_or_default()].join(",");
    let with_exceptions = |proxy: Proxy| proxy.no_proxy(NoProxy::from_string(&direct));
    let http = address("http", route.http_proxy.as_deref())?.map(Proxy::http).transpose();
    let https = address("https", route.https_proxy.as_deref())?.map(Proxy::https).transpose();
    let http = http.map_err(|error| unusable("http", &error))?;
    let https = https.map_err(|error| unusable("https", &error))?;
    Ok(http.into_iter().chain(https).map(with_exceptions).collect())
}

/// Whether a proxy of the route is reached over TLS.
pub(crate) fn speaks_tls(route: &NetworkRoute) -> bool {
    let is_secure =
        |proxy: &Option<String>| matches!(address("", proxy.as_deref()), Ok(Some(url)) if url.scheme() == "https");
    is_secure(&route.http_proxy) || is_secure(&route.https_proxy)
}

/// The hosts of the route's proxies.
pub(crate) fn hosts(route: &NetworkRoute) -> Vec<String> {
    let host = |proxy: &Option<String>| Some(address("", proxy.as_deref()).ok()??.host_str()?.to_owned());
    [&route.http_proxy, &route.https_proxy].into_iter().filter_map(host).collect()
}

/// The proxy's address; one without a scheme is `http`, as is usual for these variables.
fn address(scheme: &'static str, proxy: Option<&str>) -> Result<Option<Url>, NetError> {
    let Some(proxy) = proxy.map(str::trim).filter(|proxy| !proxy.is_empty()) else { return Ok(None) };
    let proxy = if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") };
    let url = Url::parse(&proxy).map_err(|error| unusable(scheme, &error))?;
    match url.scheme() {
        "http" | "https" => Ok(Some(url)),
        other => Err(NetError::Proxy { scheme, why: format!("{other} proxies are not supported, only http(s)") }),
    }
}

fn unusable(scheme: &'static str, error: &impl ToString) -> NetError {
    NetError::Proxy { scheme, why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(proxy: &str) -> String {
        let route = NetworkRoute { https_proxy: Some(proxy.into()), ..NetworkRoute::default() };
        all(&route).map(|_| "no error").unwrap_err().to_string()
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_explained_without_its_password() {
        assert_eq!(
            why("socks5://me:pw@p:1"),
            "the proxy for https addresses cannot be used: socks5 proxies are not supported, only http(s); \
             check https_proxy and all_proxy"
        );
        assert!(!why("http://me:pw@").contains("pw"));
    }

    #[test]
    fn a_proxy_over_tls_is_known_however_it_is_written() {
        for (proxy, secure) in
            [("https://p", true), (" HTTPS://p", true), ("http://https:1", false), ("https:1", false)]
        {
            let route = NetworkRoute { http_proxy: Some(proxy.into()), ..NetworkRoute::default() };
            assert_eq!(speaks_tls(&route), secure, "{proxy}");
        }
    }

    #[test]
    fn an_address_without_a_scheme_and_an_empty_one_are_fine() {
        for proxy in ["proxy:3128", "", " "] {
            let route = NetworkRoute { http_proxy: Some(proxy.into()), ..NetworkRoute::default() };
            assert_eq!(all(&route).unwrap().len(), usize::from(!proxy.trim().is_empty()));
        }
    }
}
