//! Why a request failed or its answer is incomplete.

use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

/// Why a request failed or its answer is incomplete.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// The address is invalid.
    #[error("`{url}` is not a server address: {why}; write http://HOST or https://HOST")]
    Url {
        /// The address, without a password in it.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// A header cannot be sent.
    #[error("the header {name} would contain an invalid character; check the key for spaces and line breaks")]
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
    /// There are no trusted certificates.
    #[error("no trusted certificates were found: {why}; set SSL_CERT_FILE to a file of certificates")]
    Certificates {
        /// What is wrong.
        why: String,
    },
    /// No connection was made.
    #[error("cannot connect to {host}: {problem}")]
    Connect {
        /// The server.
        host: String,
        /// The problem.
        problem: ConnectProblem,
    },
    /// The address may not be connected to.
    #[error("{host} was not contacted: {address} is not a public internet address")]
    AddressForbidden {
        /// The server.
        host: String,
        /// Its address.
        address: IpAddr,
    },
    /// The server sent nothing.
    #[error("{host} sent nothing within {} s", .after.as_secs_f32())]
    FirstByte {
        /// The server.
        host: String,
        /// How long the client waited.
        after: Duration,
    },
    /// The server stopped sending.
    #[error("{host} sent nothing for {} s in the middle of its answer", .after.as_secs_f32())]
    Idle {
        /// The server.
        host: String,
        /// How long the client waited.
        after: Duration,
    },
    /// The server redirects. The client does not follow, so that the key is not sent to another address.
    #[error("{host} redirects to {location}; if that is correct, configure it as the address")]
    Redirected {
        /// The server.
        host: String,
        /// The new address.
        location: String,
    },
    /// The connection broke.
    #[error("the connection to {host} was lost: {why}")]
    ConnectionLost {
        /// The server.
        host: String,
        /// What happened.
        why: String,
    },
}

/// Why a connection failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectProblem {
    /// The host has no address.
    #[error("cannot resolve the host name; check it, and the network")]
    UnknownHost,
    /// No server listens there.
    #[error("connection refused; is the server running, and is the address right?")]
    Refused,
    /// It took too long.
    #[error("timed out; check the network and the proxy")]
    TimedOut,
    /// Its certificate is not trusted.
    #[error("its certificate is not trusted: {0}; if it should be, add its authority to SSL_CERT_FILE")]
    Untrusted(String),
    /// Something else.
    #[error("{0}")]
    Other(String),
}

impl NetError {
    /// The error of a request before its answer started.
    pub(crate) fn from_send(host: &str, error: &reqwest::Error) -> NetError {
        let host = host.to_owned();
        if let Some(forbidden @ NetError::AddressForbidden { .. }) =
            error_chain(error).find_map(|cause| cause.downcast_ref())
        {
            return forbidden.clone();
        }
        if error.is_connect() {
            return NetError::Connect { host, problem: connect_problem(error) };
        }
        NetError::ConnectionLost { host, why: innermost_message(error) }
    }

    /// The error of an answer's body.
    pub(crate) fn from_body(host: &str, error: &reqwest::Error) -> NetError {
        NetError::ConnectionLost { host: host.to_owned(), why: innermost_message(error) }
    }
}

fn connect_problem(error: &reqwest::Error) -> ConnectProblem {
    let untrusted = error_chain(error).find_map(|cause| match tls_error(cause)? {
        rustls::Error::InvalidCertificate(why) => Some(ConnectProblem::Untrusted(why.to_string())),
        _ => None,
    });
    let refused =
        || error_chain(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).any(is_connection_refused);
    if let Some(untrusted) = untrusted {
        untrusted
    } else if error.is_timeout() {
        ConnectProblem::TimedOut
    } else if error.is_dns() {
        ConnectProblem::UnknownHost
    } else if refused() {
        ConnectProblem::Refused
    } else {
        ConnectProblem::Other(innermost_message(error))
    }
}

fn is_connection_refused(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
}

/// The TLS error inside I/O errors, which do not report the error they wrap as their source.
fn tls_error<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let wrapped = || tls_error(cause.downcast_ref::<io::Error>()?.get_ref()?);
    cause.downcast_ref().or_else(wrapped)
}

/// An error and all its causes.
pub(crate) fn error_chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn Error + 'static)| (*error).source())
}

/// The message of the innermost error; the outer ones only repeat that something failed.
fn innermost_message(error: &reqwest::Error) -> String {
    error_chain(error).last().map(ToString::to_string).unwrap_or_default()
}
