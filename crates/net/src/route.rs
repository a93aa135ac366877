//! Network settings: proxies, certificates and timeouts.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Network settings from the usual environment variables.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct NetworkRoute {
    /// The proxy for `http` addresses (`http_proxy`, `all_proxy`).
    pub http_proxy: Option<String>,
    /// The proxy for `https` addresses (`https_proxy`, `all_proxy`).
    pub https_proxy: Option<String>,
    /// Hosts that are reached without a proxy (`no_proxy`), as loopback always is.
    pub no_proxy: Option<String>,
    /// A file of certificates to trust instead of the system's (`SSL_CERT_FILE`).
    pub ca_file: Option<PathBuf>,
    /// A folder of certificates to trust instead of the system's (`SSL_CERT_DIR`).
    pub ca_dir: Option<PathBuf>,
}

/// Proxies show only whether they are set: their addresses may contain passwords.
impl fmt::Debug for NetworkRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NetworkRoute { http_proxy, https_proxy, no_proxy, ca_file, ca_dir } = self;
        f.debug_struct("Route")
            .field("http_proxy", &http_proxy.is_some())
            .field("https_proxy", &https_proxy.is_some())
            .field("no_proxy", no_proxy)
            .field("ca_file", ca_file)
            .field("ca_dir", ca_dir)
            .finish()
    }
}

/// Timeouts for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpTimeouts {
    /// For the connection.
    pub connect: Duration,
    /// For the first byte of the answer's body, from the start of the request; connecting counts.
    pub first_byte: Duration,
    /// For each further byte.
    pub idle: Duration,
}

impl Default for HttpTimeouts {
    fn default() -> Self {
        HttpTimeouts {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_the_password_of_a_proxy() {
        let proxy = |text: &str| Some(text.to_owned());
        let route = NetworkRoute {
            http_proxy: proxy("http://me:pw@proxy:1"),
            https_proxy: proxy("me:pw@proxy:1"),
            no_proxy: proxy("internal"),
            ..NetworkRoute::default()
        };
        let shown = format!("{route:?}");
        assert!(!shown.contains("pw") && shown.contains("internal"), "{shown}");
    }
}
