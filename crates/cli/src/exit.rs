//! Exit codes that tell the truth.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
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

impl Exit {
    /// The number the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Partial => 3,
            Exit::Limit => 4,
            Exit::Cancelled => 5,
            Exit::Budget => 6,
            Exit::Parked => 7,
        }
    }

    /// The one that is told where several hold.
    pub(crate) fn worst(all: impl IntoIterator<Item = Exit>) -> Exit {
        const ORDER: [Exit; 7] =
            [Exit::Cancelled, Exit::Budget, Exit::Limit, Exit::Failed, Exit::Parked, Exit::Partial, Exit::Success];
        let place = |exit: &Exit| ORDER.iter().position(|other| other == exit).unwrap_or(0);
        all.into_iter().min_by_key(place).unwrap_or(Exit::Success)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_several_hold_the_gravest_is_told() {
        let all = [Exit::Partial, Exit::Parked, Exit::Failed, Exit::Limit, Exit::Budget, Exit::Cancelled];
        let told: Vec<u8> = (0..all.len()).map(|n| Exit::worst(all[..=n].iter().copied()).code()).collect();
        assert_eq!(told, [3, 7, 1, 4, 6, 5]);
        assert_eq!(Exit::worst([]), Exit::Success);
    }
}
