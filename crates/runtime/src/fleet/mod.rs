//! The fleets of a session, as the session knows them: requests, their answers, and what a fleet uses of its session.
//!
//! How a fleet works is not known here. A [`FleetRunner`], which the settings of the session hold, serves the requests;
//! the crate `fleet` has the one that Bosun uses. [`FleetControl`] is the one way to start a fleet, for the command line,
//! `/fleet`, an approved plan and clients of the API.

mod control;
mod handle;
mod request;
mod session;
mod uncommitted;

pub(crate) use control::FleetControl;
pub use control::{FleetQueue, FleetReply, FleetRunner, RequestedFleet, WantedFleet};
pub use handle::{FleetHandle, FleetLimit, FleetOutcome};
pub use request::{FleetError, FleetRequest, ResultReuse};
pub use session::FleetSession;
pub(crate) use uncommitted::uncommitted_files;
