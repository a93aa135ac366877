//! What a crowd is to do, and what became of it.

/// Who asks, and how it travels.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) processes: usize,
    pub(crate) callers: usize,
    /// Turns of each caller.
    pub(crate) turns: u32,
    /// The least and most time until an answer, in milliseconds.
    pub(crate) latency: (u64, u64),
    pub(crate) most: Option<u32>,
    /// How many processes die.
    pub(crate) deaths: u32,
    pub(crate) seed: u64,
}

/// What became of it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) answered: u32,
    pub(crate) wasted: u32,
    pub(crate) parked: u32,
    pub(crate) closings: u32,
    pub(crate) ended_at: u64,
    /// How many turns each process had at the moment when the first was done.
    pub(crate) shares: Vec<u32>,
}
