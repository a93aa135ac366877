//! Performs what the kernel decides: sessions, turns, tools and their supervisor.
//!
//! The supervisor is the only writer of a session's task state. What it decides is durable before anybody
//! sees it; what runs lives in a set that it owns; a failed commit pauses the session with nothing half done.

#![deny(missing_docs)]

mod addresses;
mod agent;
mod api;
mod asks;
mod autopilot;
mod bus;
mod catalog;
mod commands;
mod compact;
mod controls;
mod conversation;
mod crew;
mod definition;
mod errands;
mod expects;
mod fleet;
mod governor;
mod grants;
mod guests;
mod helm;
mod hooks;
mod instructions;
mod links;
mod lists;
mod look;
mod merging;
mod models;
mod outfit;
mod output;
mod own;
mod permit;
mod plan;
mod prompt;
mod recall;
mod redact;
mod repeats;
mod roster;
mod selection;
mod session;
mod settings;
mod shells;
mod sites;
mod skill;
pub mod slash;
mod space;
mod spools;
mod supervisor;
mod todos;
mod waits;
mod watch;

pub use bus::{Bus, Live, Subscription};
pub use catalog::Catalog;
pub use expects::{check_schema, schema_mistakes};
pub use fleet::{
    Aids, Done, Fleet, FleetError, FleetOrder, FleetOutcome, Ground, Halt, Harvest, Harvested, Memory, NamedFiles,
    SharedFiles,
};
pub use guests::{Guests, SystemText};
pub use instructions::{InstructionPlaces, Instructions, Notice};
pub use kernel::Parking;
pub use links::redirects;
pub use look::{Surroundings, look};
pub use merging::{Fit, Fitted, Left, Merging, Summary, Taken};
pub use models::{CostGuard, Models, OnlyOwn, TooDear, Unpriced};
pub use output::output;
pub use own::Unchanged;
pub use plan::read_plan;
pub use prompt::without_marks;
pub use recall::{
    Census, CensusError, FilePatterns, FleetMemory, Landing, Means, NoWorks, Recalled, Recollection, Shelf, Staff, Why,
    Works, apart,
};
pub use redact::Redactor;
pub use session::{OpenError, Session, Start, Status, transcript};
pub use settings::{Features, Settings};
pub use skill::{read as read_skill, skill_text};
pub use spools::{Disk, SpoolLimits, Spools, SystemDisk};
pub use supervisor::{Receipt, Rejected};
pub use todos::Unedited;
pub use watch::Watch;
