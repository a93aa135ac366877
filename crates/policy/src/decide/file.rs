//! Deciding about files.

use std::path::Path;
use std::sync::LazyLock;

use protocol::{PermissionMode, RuleEffect};

use super::{Otherwise, controlled};
use crate::pattern::File;
use crate::request::Part;
use crate::{Ground, Policy, Rule, Source, Verdict};

/// What a file is used for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Use {
    Read,
    Edit,
}

impl Use {
    fn part<'a>(self, file: &'a File<'a>) -> Part<'a> {
        match self {
            Use::Read => Part::Read(file),
            Use::Edit => Part::Edit(file),
        }
    }
}

/// What is asked about in every mode but allow-all's: what git reads from its own folder, and where the hooks of projects
/// usually lie, it also runs, and the user's own skills are told to agents in every project.
const ASKED: [&str; 6] = [
    "edit(.git)",
    "edit(.husky)",
    "edit(.githooks)",
    "edit(~/.claude/skills)",
    "edit(~/.copilot/skills)",
    "edit(~/.agents/skills)",
];

/// Rules that always hold.
pub(super) fn built_in() -> &'static [Rule] {
    static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
        let rules = ASKED.iter().map(|text| Rule::parse(RuleEffect::Ask, text, Source::BuiltIn));
        rules.flatten().collect()
    });
    &RULES
}

impl Policy {
    /// A file that a tool opens, which keeps it inside the workspace.
    pub(super) fn file(&self, tool: &str, path: &Path, how: Use) -> Verdict {
        let file = File::new(path);
        self.opened_file(tool, path, how.part(&file), self.by_mode(&how.part(&file)))
    }

    /// A file that the shell itself opens, which nobody keeps inside the workspace.
    pub(super) fn redirect(&self, tool: &str, path: &Path, how: Use, cwd: &Path) -> Verdict {
        let file = File::new(path);
        let usual = self.by_mode(&how.part(&file));
        let outside = self.mode != PermissionMode::AllowAll && !self.is_inside(path, cwd);
        let otherwise = match usual.effect {
            RuleEffect::Allow | RuleEffect::Ask if outside => {
                Otherwise { effect: RuleEffect::Ask, ground: Ground::Outside }
            }
            RuleEffect::Allow | RuleEffect::Ask | RuleEffect::Deny => usual,
        };
        self.opened_file(tool, path, how.part(&file), otherwise)
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

    /// The path as people know it: from the project's top, if it lies there.
    fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.top) {
            Ok(below) if below.as_os_str().is_empty() => ".".into(),
            Ok(below) => below.display().to_string(),
            Err(_elsewhere) => path.display().to_string(),
        }
    }

    fn opened_file(&self, tool: &str, path: &Path, part: Part<'_>, otherwise: Otherwise) -> Verdict {
        let named = self.shown(path);
        if self.is_control(path) { controlled(named) } else { self.decide(tool, &part, named, otherwise) }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_rule_of_our_own_is_well_formed() {
        assert_eq!(super::built_in().len(), super::ASKED.len());
    }
}
