//! Maximum lengths of a plan and its parts, in bytes. A plan is untrusted text, and most of it is sent to models.

/// A plan.
pub(super) const MAX_PLAN_BYTES: u64 = 16 << 20;

/// Maximum number of todos in a plan.
pub(super) const MAX_TODOS: usize = 50_000;

/// An id.
pub(super) const MAX_ID_BYTES: usize = 100;

/// A title.
pub(super) const MAX_TITLE_BYTES: usize = 500;

/// A description or a goal.
pub(super) const MAX_DESCRIPTION_BYTES: usize = 64 << 10;

/// A command.
pub(super) const MAX_COMMAND_BYTES: usize = 8 << 10;

/// A name, an amount or a time.
pub(super) const MAX_WORD_BYTES: usize = 200;

/// Maximum number of patterns of one todo.
pub(super) const MAX_PATTERNS: usize = 100;

/// A pattern.
pub(super) const MAX_PATTERN_BYTES: usize = 500;

/// A schema.
pub(super) const MAX_SCHEMA_BYTES: usize = 64 << 10;
