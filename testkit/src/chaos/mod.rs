//! Invariants of a session, whatever process died while it was written.

#![expect(clippy::panic, reason = "a test fails by panicking")]

mod mail;

pub use mail::{MailCount, check_mail, letters};
