//! The door of the Copilot SDKs.

mod methods;

use std::sync::Arc;

use crate::{Ended, House};

pub use methods::Offer;

/// Serves one client on standard input and output.
pub async fn serve(house: Arc<dyn House>, args: Vec<String>) -> Ended {
    let _unused = (house, args);
    Ended::Usage
}
