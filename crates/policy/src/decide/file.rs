//! Deciding about files.

use std::path::Path;
use std::sync::LazyLock;

use protocol::{PermissionMode, RuleEffect};

use super::{Otherwise, controlled, own};
use crate::request::Part;
use crate::{Ground, Policy, Rule, Verdict};

/// What a file is used for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Use {
    Read,
    Edit,
}

/// Rules that always hold. What git reads from its own folder it also runs.
pub(super) fn built_in() -> &'static [Rule] {
    static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| own(RuleEffect::Ask, "edit(.git)").into_iter().collect());
    &RULES
}

impl Policy {
    pub(super) fn read(&self, tool: &str, path: &Path) -> Verdict {
        self.file(tool, path, Use::Read, self.by_mode(&Part::Read(path)))
    }

    pub(super) fn edit(&self, tool: &str, path: &Path) -> Verdict {
        self.file(tool, path, Use::Edit, self.by_mode(&Part::Edit(path)))
    }

    /// A file that the shell itself opens, which nobody keeps inside the workspace.
    pub(super) fn redirect(&self, tool: &str, path: &Path, how: Use, cwd: &Path) -> Verdict {
        let part = match how {
            Use::Read => Part::Read(path),
            Use::Edit => Part::Edit(path),
        };
        let usual = self.by_mode(&part);
        let outside = self.mode != PermissionMode::AllowAll && !self.is_inside(path, cwd);
        let otherwise = match usual.effect {
            RuleEffect::Allow | RuleEffect::Ask if outside => {
                Otherwise { effect: RuleEffect::Ask, ground: Ground::Outside }
            }
            RuleEffect::Allow | RuleEffect::Ask | RuleEffect::Deny => usual,
        };
        self.file(tool, path, how, otherwise)
    }

    /// A file that only the shell knows.
    pub(super) fn unknown_file(&self, tool: &str, written: &str, how: Use) -> Verdict {
        let part = match how {
            Use::Read => Part::ReadUnknown,
            Use::Edit => Part::EditUnknown,
        };
        let otherwise = match self.by_mode(&part) {
            usual if self.mode == PermissionMode::AllowAll || usual.effect == RuleEffect::Deny => usual,
            _usual => Otherwise {
                effect: RuleEffect::Ask,
                ground: Ground::Unclear("which file it is only shows when it runs".into()),
            },
        };
        self.decide(tool, &part, written.to_owned(), otherwise)
    }

    fn file(&self, tool: &str, path: &Path, how: Use, otherwise: Otherwise) -> Verdict {
        let named = path.display().to_string();
        if self.is_control(path) {
            return controlled(named);
        }
        let part = match how {
            Use::Read => Part::Read(path),
            Use::Edit => Part::Edit(path),
        };
        self.decide(tool, &part, named, otherwise)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_rule_of_our_own_is_well_formed() {
        assert_eq!(super::built_in().len(), 1);
    }
}
