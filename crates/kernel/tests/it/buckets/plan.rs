//! The parameters and results of a simulation.

/// The parameters of a simulation.
#[derive(Debug, Clone)]
pub(crate) struct CrowdPlan {
    pub(crate) processes: usize,
    pub(crate) callers: usize,
    /// Turns of each caller.
    pub(crate) turns: u32,
    /// The minimum and maximum time until an answer, in milliseconds.
    pub(crate) latency: (u64, u64),
    /// How many requests the server accepts at once, if the holders know it.
    pub(crate) server_limit: Option<u32>,
    /// How many processes die.
    pub(crate) deaths: u32,
    pub(crate) seed: u64,
}

/// The results of a simulation.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct CrowdReport {
    pub(crate) answered: u32,
    pub(crate) wasted: u32,
    pub(crate) parked: u32,
    pub(crate) closings: u32,
    pub(crate) ended_at: u64,
    /// How many turns each process had when the first caller was finished.
    pub(crate) turns_by_process: Vec<u32>,
}
