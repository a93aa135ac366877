//! Why there is no page.

use std::net::IpAddr;
use std::time::Duration;

use crate::NetError;
use crate::error::causes;

/// Why there is no page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The address is none that is fetched.
    #[error("`{url}` cannot be fetched: {why}")]
    InvalidUrl {
        /// The address, cut short and without a password.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The host is where nobody may connect to.
    #[error("{host} was not asked: {address} is not an address of the public internet")]
    AddressForbidden {
        /// The host.
        host: String,
        /// The address that it has.
        address: IpAddr,
    },
    /// It took too long.
    #[error("{host} did not send the whole page within {} s", .after.as_secs_f32())]
    TimedOut {
        /// The host.
        host: String,
        /// How long was waited.
        after: Duration,
    },
    /// There is no end to redirects.
    #[error("{host} redirects more than {most} times")]
    TooManyRedirects {
        /// The host.
        host: String,
        /// How many are followed.
        most: usize,
    },
    /// A redirect leads to where another began.
    #[error("{host} redirects in a circle, to {to}")]
    RedirectLoop {
        /// The host.
        host: String,
        /// Where to.
        to: String,
    },
    /// A redirect leads nowhere.
    #[error("{host} redirects (status {status}) without saying where to")]
    RedirectWithoutLocation {
        /// The host.
        host: String,
        /// The status.
        status: u16,
    },
    /// The page is compressed, which was not asked for.
    #[error("{host} sends the page compressed ({encoding}) although it was asked not to")]
    Compressed {
        /// The host.
        host: String,
        /// In which way.
        encoding: String,
    },
    /// The host could not be asked, or broke off.
    #[error(transparent)]
    Net(#[from] NetError),
}

impl FetchError {
    /// What a request failed with before its answer began. What the gate said is found inside of it.
    pub(super) fn from_send(host: &str, error: &reqwest::Error) -> FetchError {
        let refused = causes(error).find_map(|cause| cause.downcast_ref::<FetchError>());
        refused.cloned().unwrap_or_else(|| NetError::from_send(host, error).into())
    }
}
