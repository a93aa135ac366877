//! Why a server could not be asked, or did not answer to the end.

use std::error::Error;
use std::io;
use std::time::Duration;

/// Why a server could not be asked, or did not answer to the end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// The address is not one.
    #[error("`{url}` is not an address of a server: {why}; write http://HOST or https://HOST")]
    Url {
        /// The address, without a password in it.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// A header cannot be sent.
    #[error("the header {name} would hold a character that no header may; check the key for spaces and line ends")]
    Header {
        /// The header.
        name: String,
    },
    /// The proxy cannot be used.
    #[error("the proxy for {scheme} addresses cannot be used: {why}; check {scheme}_proxy and all_proxy")]
    Proxy {
        /// `http` or `https`.
        scheme: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// There are no certificates to trust.
    #[error("no certificate to trust was found: {why}; name a file of them in SSL_CERT_FILE")]
    Certificates {
        /// What is wrong.
        why: String,
    },
    /// No connection was made.
    #[error("cannot connect to {host}: {problem}")]
    Connect {
        /// The server.
        host: String,
        /// What was in the way.
        problem: ConnectProblem,
    },
    /// The server sent nothing.
    #[error("{host} sent nothing within {} s", .after.as_secs_f32())]
    FirstByte {
        /// The server.
        host: String,
        /// How long was waited.
        after: Duration,
    },
    /// The server fell silent.
    #[error("{host} fell silent for {} s in the middle of its answer", .after.as_secs_f32())]
    Idle {
        /// The server.
        host: String,
        /// How long was waited.
        after: Duration,
    },
    /// The server points elsewhere. A key is never sent along.
    #[error("{host} moved to {location}; if that is right, make it the address")]
    Moved {
        /// The server.
        host: String,
        /// Where to.
        location: String,
    },
    /// The connection broke.
    #[error("the connection to {host} broke: {why}")]
    ConnectionLost {
        /// The server.
        host: String,
        /// What happened.
        why: String,
    },
}

/// What was in the way of a connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectProblem {
    /// The host has no address.
    #[error("cannot resolve the host name; check it, and the network")]
    UnknownHost,
    /// Nobody listens there.
    #[error("connection refused; is the server running, and is the address right?")]
    Refused,
    /// It took too long.
    #[error("it did not answer in time; check the network and the proxy")]
    TimedOut,
    /// Its certificate is not trusted.
    #[error("its certificate is not trusted: {0}; if it should be, name its authority in SSL_CERT_FILE")]
    Untrusted(String),
    /// Something else.
    #[error("{0}")]
    Other(String),
}

impl NetError {
    /// What a request failed with before its answer began.
    pub(crate) fn from_send(host: &str, error: &reqwest::Error) -> NetError {
        let host = host.to_owned();
        if error.is_connect() {
            return NetError::Connect { host, problem: problem(error) };
        }
        NetError::ConnectionLost { host, why: root(error) }
    }

    /// What the body of an answer failed with.
    pub(crate) fn from_body(host: &str, error: &reqwest::Error) -> NetError {
        NetError::ConnectionLost { host: host.to_owned(), why: root(error) }
    }
}

fn problem(error: &reqwest::Error) -> ConnectProblem {
    let untrusted = causes(error).find_map(|cause| match tls_error(cause)? {
        rustls::Error::InvalidCertificate(why) => Some(ConnectProblem::Untrusted(why.to_string())),
        _ => None,
    });
    let refused = || causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).any(is_refusal);
    if let Some(untrusted) = untrusted {
        untrusted
    } else if error.is_timeout() {
        ConnectProblem::TimedOut
    } else if error.is_dns() {
        ConnectProblem::UnknownHost
    } else if refused() {
        ConnectProblem::Refused
    } else {
        ConnectProblem::Other(root(error))
    }
}

fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
}

/// The TLS error inside of I/O errors, which do not count what they wrap as their source.
fn tls_error<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let wrapped = || tls_error(cause.downcast_ref::<io::Error>()?.get_ref()?);
    cause.downcast_ref().or_else(wrapped)
}

/// An error and everything that led to it.
pub(crate) fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn Error + 'static)| (*error).source())
}

/// What the innermost error says; the outer ones only repeat that something failed.
fn root(error: &reqwest::Error) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}
