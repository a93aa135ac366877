//! Exit codes that tell the truth.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandExit {
    /// Everything succeeded.
    Success,
    /// The command failed.
    Failed,
    /// The arguments or the configuration are wrong.
    Usage,
    /// There is an answer, but a task failed.
    Partial,
    /// A time or turn limit was reached.
    Limit,
    /// Stopped by the user.
    Cancelled,
    /// The budget was used up.
    Budget,
    /// Parked until a quota resets.
    Parked,
}

impl CommandExit {
    /// The exit code of the process.
    pub(crate) fn code(self) -> u8 {
        match self {
            CommandExit::Success => 0,
            CommandExit::Failed => 1,
            CommandExit::Usage => 2,
            CommandExit::Partial => 3,
            CommandExit::Limit => 4,
            CommandExit::Cancelled => 5,
            CommandExit::Budget => 6,
            CommandExit::Parked => 7,
        }
    }

    /// Returns the most severe of several exits.
    pub(crate) fn worst(all: impl IntoIterator<Item = CommandExit>) -> CommandExit {
        const ORDER: [CommandExit; 7] = [
            CommandExit::Cancelled,
            CommandExit::Budget,
            CommandExit::Limit,
            CommandExit::Failed,
            CommandExit::Parked,
            CommandExit::Partial,
            CommandExit::Success,
        ];
        let rank = |exit: &CommandExit| ORDER.iter().position(|other| other == exit).unwrap_or(0);
        all.into_iter().min_by_key(rank).unwrap_or(CommandExit::Success)
    }
}

impl From<CommandExit> for ExitCode {
    fn from(exit: CommandExit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_severe_exit_wins() {
        let all = [
            CommandExit::Partial,
            CommandExit::Parked,
            CommandExit::Failed,
            CommandExit::Limit,
            CommandExit::Budget,
            CommandExit::Cancelled,
        ];
        let codes: Vec<u8> = (0..all.len()).map(|n| CommandExit::worst(all[..=n].iter().copied()).code()).collect();
        assert_eq!(codes, [3, 7, 1, 4, 6, 5]);
        assert_eq!(CommandExit::worst([]), CommandExit::Success);
    }
}
