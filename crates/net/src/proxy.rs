//! Proxies: only those of the route, and never for loopback.

use reqwest::{NoProxy, Proxy, Url};

use crate::{NetError, NetworkRoute};

/// Hosts that are this machine.
const LOOPBACK_HOSTS: &str = "localhost,127.0.0.0/8,::1";

/// The route's proxies for the client.
pub(crate) fn proxies_of(route: &NetworkRoute) -> Result<Vec<Proxy>, NetError> {
    let exceptions = [LOOPBACK_HOSTS, route.no_proxy.as_deref().unwrap_or_default()].join(",");
    let with_exceptions = |proxy: Proxy| proxy.no_proxy(NoProxy::from_string(&exceptions));
    let http = parse_address("http", route.http_proxy.as_deref())?.map(Proxy::http).transpose();
    let https = parse_address("https", route.https_proxy.as_deref())?.map(Proxy::https).transpose();
    let http = http.map_err(|error| unusable("http", &error))?;
    let https = https.map_err(|error| unusable("https", &error))?;
    Ok(http.into_iter().chain(https).map(with_exceptions).collect())
}

/// Whether a proxy of the route is reached over TLS.
pub(crate) fn uses_tls(route: &NetworkRoute) -> bool {
    let is_secure = |proxy: &Option<String>| matches!(parse_address("", proxy.as_deref()), Ok(Some(url)) if url.scheme() == "https");
    is_secure(&route.http_proxy) || is_secure(&route.https_proxy)
}

/// The hosts of the route's proxies.
pub(crate) fn proxy_hosts(route: &NetworkRoute) -> Vec<String> {
    let host = |proxy: &Option<String>| Some(parse_address("", proxy.as_deref()).ok()??.host_str()?.to_owned());
    [&route.http_proxy, &route.https_proxy].into_iter().filter_map(host).collect()
}

/// The proxy's address; one without a scheme is `http`, as is usual for these variables.
fn parse_address(scheme: &'static str, proxy: Option<&str>) -> Result<Option<Url>, NetError> {
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
        proxies_of(&route).map(|_| "no error").unwrap_err().to_string()
    }

    #[test]
    fn unusable_proxy_is_explained_without_its_password() {
        assert_eq!(
            why("socks5://me:pw@p:1"),
            "the proxy for https addresses cannot be used: socks5 proxies are not supported, only http(s); \
             check https_proxy and all_proxy"
        );
        assert!(!why("http://me:pw@").contains("pw"));
    }

    #[test]
    fn proxy_over_tls_is_recognised() {
        for (proxy, secure) in
            [("https://p", true), (" HTTPS://p", true), ("http://https:1", false), ("https:1", false)]
        {
            let route = NetworkRoute { http_proxy: Some(proxy.into()), ..NetworkRoute::default() };
            assert_eq!(uses_tls(&route), secure, "{proxy}");
        }
    }

    #[test]
    fn proxy_address_may_be_empty_or_lack_a_scheme() {
        for proxy in ["proxy:3128", "", " "] {
            let route = NetworkRoute { http_proxy: Some(proxy.into()), ..NetworkRoute::default() };
            assert_eq!(proxies_of(&route).unwrap().len(), usize::from(!proxy.trim().is_empty()));
        }
    }
}
