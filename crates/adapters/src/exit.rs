//! How an adapter's process ends.

/// How an adapter's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdapterExit {
    /// Its client left, and there was no error.
    Success,
    /// There was an error, which was reported to the client.
    Failed,
    /// Its command line was not valid.
    UsageError,
}
