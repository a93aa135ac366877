//! The door of the Copilot SDKs.

use std::sync::Arc;

use crate::{Ended, House};

/// Serves one client on standard input and output.
pub async fn serve(house: Arc<dyn House>, args: Vec<String>) -> Ended {
    let _unused = (house, args);
    Ended::Usage
}
