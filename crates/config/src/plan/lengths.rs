//! How long a plan and its parts may be. A plan is text from anywhere, and most of it is told to models.

/// Most bytes of a plan.
pub(super) const PLAN: u64 = 16 << 20;

/// Most todos of a plan.
pub(super) const TODOS: usize = 50_000;

/// Most bytes of an id.
pub(super) const ID: usize = 100;

/// Most bytes of a title.
pub(super) const TITLE: usize = 500;

/// Most bytes of what a worker is told beyond the title, and of a goal.
pub(super) const DESCRIPTION: usize = 64 << 10;

/// Most bytes of a command.
pub(super) const COMMAND: usize = 8 << 10;

/// Most bytes of a name, an amount or a time.
pub(super) const WORD: usize = 200;

/// Most patterns of one todo, and most bytes of one.
pub(super) const PATTERNS: usize = 100;
pub(super) const PATTERN: usize = 500;

/// Most bytes of a schema.
pub(super) const SCHEMA: usize = 64 << 10;
