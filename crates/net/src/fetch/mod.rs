//! Fetches web pages for tools, with limits, and only from permitted addresses.
//!
//! Neither the address that a model requests nor the answer is trusted. Names are resolved here, each address is
//! checked by an [`AddressGate`], and the connection uses exactly the permitted addresses, so that a name which
//! resolves to another address a moment later gains nothing. A redirect is followed only within its host. Nothing is
//! sent but the address: no cookie, no key, no referrer.
//!
//! A proxy of the route resolves names itself. Then the gate checks literal addresses and names of this machine;
//! other names it checks only as this machine resolves them, which may differ from the proxy.

mod error;
mod fetcher;
mod page;
mod page_url;
mod resolver;

pub use error::FetchError;
pub use fetcher::{FetchLimits, FetchOutcome, PageFetcher};
pub use page::{PageBody, WebPage};
pub use page_url::PageUrl;
pub use resolver::{AddressGate, LookupFuture, NameResolver};
