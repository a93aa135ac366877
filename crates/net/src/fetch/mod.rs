//! Pages of the web, for tools: got with limits, and only from addresses that somebody may connect to.
//!
//! Whom a model wants to ask is not to be trusted, and neither is the answer. Names are looked up here, each address is
//! put to a [`Gate`], and the connection goes to exactly those that it let pass, so that a name which means another
//! address a moment later gains nothing. A redirect is followed only where it stays with its host. Nothing is sent but
//! the address: no cookie, no key, no referrer.
//!
//! A proxy of the route looks names up itself. Then only addresses that are written out, and names of this machine, are
//! put to the gate.

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
