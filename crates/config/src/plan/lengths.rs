//! Maximum lengths of a plan and its parts, in bytes. A plan is untrusted text, and most of it is sent to models.

/// A plan.
pub(super) const PLAN: u64 = 16 << 20;

/// Maximum number of todos in a plan.
pub(super) const TODOS: usize = 50_000;

/// An id.
pub(super) const ID: usize = 100;

/// A title.
pub(super) const TITLE: usize = 500;

/// A description or a goal.
pub(super) const DESCRIPTION: usize = 64 << 10;

/// A command.
pub(super) const COMMAND: usize = 8 << 10;

/// A name, an amount or a time.
pub(super) const WORD: usize = 200;

/// Maximum number of patterns of one todo, and the length of each.
pub(super) const PATTERNS: usize = 100;
pub(super) const PATTERN: usize = 500;

/// A schema.
pub(super) const SCHEMA: usize = 64 << 10;
