//! What the methods of the Copilot SDKs do.

mod provider;

pub use provider::Offer;
