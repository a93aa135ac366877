//! Plugins that clients install from folders of this machine, and the marketplaces that list them.

mod copy;
mod marketplace;
mod store;

pub(crate) use marketplace::MarketplaceManifest;
pub(crate) use store::{InstalledPlugin, PluginError, PluginStore, PluginUpdate, RemovedMarketplace};
