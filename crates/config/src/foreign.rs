//! Rules that the project and the user wrote for another program. They may forbid and ask; what they allow was not
//! allowed to Bosun.

use std::path::{Path, PathBuf};

use host::PlainError;
use serde::Deserialize;

use crate::file::{File, Permissions};
use crate::layers::Layer;
use crate::notice::Notice;
use crate::origin::Origin;
use crate::permissions::RuleLine;

/// Most bytes of such a file.
const MOST: u64 = 1 << 20;

/// The part of such a file that is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Settings {
    permissions: Lists,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Lists {
    allow: Vec<serde_json::Value>,
    ask: Vec<serde_json::Value>,
    deny: Vec<serde_json::Value>,
}

/// What such a file gives.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    pub(crate) layer: Option<Layer>,
    pub(crate) notices: Vec<Notice>,
}

/// Reads the file of a project.
pub(crate) fn of_project(top: &Path, below: &str) -> Foreign {
    let path = top.join(below);
    read(host::read_below(top, Path::new(below), MOST), path.clone(), Origin::Project(path))
}

/// Reads the file of the user.
pub(crate) fn of_user(user: &Path) -> Foreign {
    let path = user.join(".claude/settings.json");
    read(host::read_plain(&path, MOST), path.clone(), Origin::User(path))
}

/// A file that cannot be used is told of and changes nothing else: it was not written for Bosun.
fn read(bytes: Result<Option<Vec<u8>>, PlainError>, path: PathBuf, origin: Origin) -> Foreign {
    let warning = |text: String| Notice::warning(&path, text);
    let settings: Settings = match bytes {
        Ok(None) => return Foreign::default(),
        Ok(Some(bytes)) => match serde_json::from_slice(&bytes) {
            Ok(settings) => settings,
            Err(error) => {
                let text = format!("line {}: its rules are not used, since it is not as expected", error.line());
                return Foreign { layer: None, notices: vec![warning(text)] };
            }
        },
        Err(error) => {
            return Foreign { layer: None, notices: vec![warning(format!("its rules are not used: {error}"))] };
        }
    };
    let Lists { allow, ask, deny } = settings.permissions;
    let mut notices = Vec::new();
    let mut rules = |name: &str, texts: Vec<serde_json::Value>| -> Vec<RuleLine> {
        let (rules, wrong) = read_all(texts);
        // A stranger may have written any number of them.
        notices.extend(wrong.first().map(|problem| match wrong.len() - 1 {
            0 => warning(format!("permissions.{name}: {problem}")),
            more => warning(format!("permissions.{name}: {problem} (and {more} more)")),
        }));
        rules
    };
    let permissions = Permissions { ask: rules("ask", ask), deny: rules("deny", deny), ..Permissions::default() };
    if !allow.is_empty() {
        let (count, verb) = (allow.len(), if allow.len() == 1 { "rule is" } else { "rules are" });
        let text = format!("{count} allow {verb} not used; copy what you want with `bosun config allow RULE`");
        notices.push(Notice::remark(&path, text));
    }
    Foreign { layer: Some(Layer { origin, file: File { permissions, ..File::default() } }), notices }
}

/// The rules among the entries of a list, and what is wrong with the others.
fn read_all(entries: Vec<serde_json::Value>) -> (Vec<RuleLine>, Vec<String>) {
    let (mut rules, mut wrong) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry.as_str().map(RuleLine::parse) {
            Some(Ok(rule)) => rules.push(rule),
            Some(Err(error)) => wrong.push(error.to_string()),
            None => wrong.push("an entry that is no text is not used".into()),
        }
    }
    (rules, wrong)
}
