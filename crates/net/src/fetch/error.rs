//! Why a page could not be fetched.

use std::net::IpAddr;
use std::time::Duration;

use crate::NetError;
use crate::error::error_chain;

/// Why a page could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The address cannot be fetched.
    #[error("`{url}` cannot be fetched: {why}")]
    InvalidUrl {
        /// The address, cut short and without a password.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The host's address may not be connected to.
    #[error("{host} was not contacted: {address} is not a public internet address")]
    AddressForbidden {
        /// The host.
        host: String,
        /// Its address.
        address: IpAddr,
    },
    /// It took too long.
    #[error("{host} did not send the whole page within {} s", .after.as_secs_f32())]
    TimedOut {
        /// The host.
        host: String,
        /// How long the client waited.
        after: Duration,
    },
    /// There are too many redirects.
    #[error("{host} redirects more than {most} times")]
    TooManyRedirects {
        /// The host.
        host: String,
        /// The maximum that is followed.
        most: usize,
    },
    /// A redirect leads to an earlier address.
    #[error("{host} redirects in a loop, to {to}")]
    RedirectLoop {
        /// The host.
        host: String,
        /// The target.
        to: String,
    },
    /// A redirect has no target.
    #[error("{host} redirects (status {status}) without a target")]
    RedirectWithoutLocation {
        /// The host.
        host: String,
        /// The status.
        status: u16,
    },
    /// The page is compressed although that was not requested.
    #[error("{host} sends the page compressed ({encoding}) although that was not requested")]
    Compressed {
        /// The host.
        host: String,
        /// The encoding.
        encoding: String,
    },
    /// The connection failed.
    #[error(transparent)]
    Net(#[from] NetError),
}

impl FetchError {
    /// The error of a request before its answer started. If the gate refused the address, `error` contains that
    /// refusal.
    pub(super) fn from_send(host: &str, error: &reqwest::Error) -> FetchError {
        let refused = error_chain(error).find_map(|cause| cause.downcast_ref::<FetchError>());
        refused.cloned().unwrap_or_else(|| NetError::from_send(host, error).into())
    }
}
