//! Exit codes that tell the truth.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandExit {
    /// Everything succeeded.
    Success,
    /// It failed.
    Failed,
    /// The arguments or the configuration are wrong.
    Usage,
    /// The answer is there, but a task failed.
    Partial,
    /// A limit of time or turns was reached.
    Limit,
    /// Somebody stopped it.
    Cancelled,
    /// The budget was used up.
    Budget,
    /// It waits for a quota.
    Parked,
}

impl CommandExit {
    /// The number the shell sees.
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

    /// The one that is told where several hold.
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
        let place = |exit: &CommandExit| ORDER.iter().position(|other| other == exit).unwrap_or(0);
        all.into_iter().min_by_key(place).unwrap_or(CommandExit::Success)
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
    fn where_several_hold_the_gravest_is_told() {
        let all = [
            CommandExit::Partial,
            CommandExit::Parked,
            CommandExit::Failed,
            CommandExit::Limit,
            CommandExit::Budget,
            CommandExit::Cancelled,
        ];
        let told: Vec<u8> = (0..all.len()).map(|n| CommandExit::worst(all[..=n].iter().copied()).code()).collect();
        assert_eq!(told, [3, 7, 1, 4, 6, 5]);
        assert_eq!(CommandExit::worst([]), CommandExit::Success);
    }
}
