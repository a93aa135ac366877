//! Keeps git from running programs that only a repository's settings name.
//!
//! A repository may come with settings from an untrusted author, and git runs filters, merge drivers and more in a
//! folder of files by other authors, where `./clean` or `python -m clean` is theirs. Settings of the user or the
//! machine apply; settings of only the repository do not.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::{Git, GitError};

/// Filter programs that run nothing they find beside the files.
const SAFE_FILTERS: [&str; 2] = ["git-lfs", "git-crypt"];

/// Merges files whose own driver is not run: git's default merge, with the names of the sides.
const DEFAULT_MERGE_COMMAND: &str = "git merge-file --diff3 --marker-size=%L -L %X -L %S -L %Y %A %O %B || exit 1";

/// How to treat a file whose filter is not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingFilter {
    /// As an error if the repository requires the filter.
    Refused,
    /// Use the file as it is.
    Plain,
}

/// A git that runs no program that only its repository names.
#[derive(Debug)]
pub(crate) struct ConfinedGit {
    pub(crate) git: Git,
    /// Filters that change files on checkout and are not run.
    pub(crate) filters: BTreeSet<OsString>,
}

/// Overrides the settings of `git` that only its repository makes and that name programs.
pub(crate) async fn confine(git: Git, missing_filter: MissingFilter) -> Result<ConfinedGit, GitError> {
    let output = git.run_checked(&["config", "--list", "--includes", "--show-scope", "-z"], &[]).await?;
    let own: Vec<RepositorySetting> = parse_settings(&output.stdout).collect();
    let has_transport = own.iter().any(RepositorySetting::names_transport);
    let mut filters = BTreeSet::new();
    let mut confined = git;
    for setting in &own {
        match setting.kind() {
            SettingKind::Filter { name, .. } if has_transport || !is_safe_filter(&setting.value) => {
                for key in ["clean", "smudge", "process"] {
                    confined = confined.with_setting(setting_key("filter", name, key), "");
                }
                if missing_filter == MissingFilter::Plain {
                    confined = confined.with_setting(setting_key("filter", name, "required"), "false");
                }
            }
            SettingKind::Driver { .. } if setting.value == b"true" => {}
            SettingKind::Driver { name } => {
                confined = confined.with_setting(setting_key("merge", name, "driver"), DEFAULT_MERGE_COMMAND)
            }
            SettingKind::Conversion { name } => {
                confined = confined.with_setting(setting_key("diff", name, "textconv"), "cat")
            }
            SettingKind::Filter { .. } | SettingKind::Other => {}
        }
        if let SettingKind::Filter { name, smudges: true } = setting.kind()
            && (has_transport || !is_safe_filter(&setting.value))
            && setting.value != b"cat"
        {
            filters.insert(OsStr::from_bytes(name).to_owned());
        }
    }
    // Those programs would fetch missing objects.
    let git = if has_transport { confined.without_fetching() } else { confined };
    Ok(ConfinedGit { git, filters })
}

/// A setting of the repository itself.
#[derive(Debug, PartialEq, Eq)]
struct RepositorySetting {
    key: Vec<u8>,
    value: Vec<u8>,
}

/// The kind of a setting.
#[derive(Debug, PartialEq, Eq)]
enum SettingKind<'a> {
    Filter { name: &'a [u8], smudges: bool },
    Driver { name: &'a [u8] },
    Conversion { name: &'a [u8] },
    Other,
}

impl RepositorySetting {
    /// The section, the subsection and the name; git has lower-cased the section and the name.
    fn parts(&self) -> (&[u8], &[u8], &[u8]) {
        let first = self.key.iter().position(|byte| *byte == b'.').unwrap_or(self.key.len());
        let last = self.key.iter().rposition(|byte| *byte == b'.').unwrap_or(first);
        let between = if first < last { &self.key[first + 1..last] } else { &[][..] };
        (&self.key[..first], between, self.key.get(last + 1..).unwrap_or_default())
    }

    fn kind(&self) -> SettingKind<'_> {
        match self.parts() {
            (b"filter", name, b"clean") => SettingKind::Filter { name, smudges: false },
            (b"filter", name, b"smudge" | b"process") => SettingKind::Filter { name, smudges: true },
            (b"merge", name, b"driver") => SettingKind::Driver { name },
            (b"diff", name, b"textconv") => SettingKind::Conversion { name },
            _ => SettingKind::Other,
        }
    }

    /// Whether it names a program used for fetching.
    fn names_transport(&self) -> bool {
        match self.parts() {
            (b"core", _, b"sshcommand" | b"gitproxy" | b"askpass")
            | (b"remote", _, b"uploadpack" | b"receivepack" | b"vcs")
            | (b"credential", _, b"helper")
            | (b"protocol" | b"ssh", ..)
            | (b"lfs", _, b"standalonetransferagent") => true,
            (b"lfs", between, _) => {
                [&b"customtransfer."[..], b"extension."].iter().any(|prefix| between.starts_with(prefix))
            }
            _ => false,
        }
    }
}

/// Parses the settings of the repository: a scope, then a key with its value.
fn parse_settings(out: &[u8]) -> impl Iterator<Item = RepositorySetting> {
    let mut fields = out.split(|byte| *byte == 0);
    let entries = std::iter::from_fn(move || Some((fields.next()?, fields.next()?)));
    entries.filter(|(scope, _)| !matches!(*scope, b"system" | b"global" | b"command")).map(|(_, entry)| {
        let end = entry.iter().position(|byte| *byte == b'\n');
        let (key, value) = end.map_or((entry, &[][..]), |end| (&entry[..end], &entry[end + 1..]));
        RepositorySetting { key: key.to_vec(), value: value.to_vec() }
    })
}

fn setting_key(section: &str, name: &[u8], key: &str) -> OsString {
    OsString::from_vec([section.as_bytes(), b".", name, b".", key.as_bytes()].concat())
}

fn is_safe_filter(command: &[u8]) -> bool {
    let Ok(command) = str::from_utf8(command) else { return false };
    let word = command.split(' ').next().unwrap_or_default();
    let is_plain = command.chars().all(|c| c.is_ascii_alphanumeric() || " -_%\"".contains(c));
    is_plain && SAFE_FILTERS.contains(&word.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(entries: &[(&str, &str)]) -> Vec<RepositorySetting> {
        let text: String = entries.iter().map(|(scope, entry)| format!("{scope}\0{entry}\0")).collect();
        parse_settings(text.as_bytes()).collect()
    }

    #[test]
    fn only_the_repositorys_own_settings_are_read() {
        let all = settings(&[
            ("global", "filter.a.clean\n./a"),
            ("system", "merge.a.driver\n./a"),
            ("local", "filter.b.c=d.smudge\npython -m b"),
            ("worktree", "filter.d.process\ngit-lfs; ./d"),
            ("local", "filter.f.clean"),
        ]);
        let kinds: Vec<SettingKind<'_>> = all.iter().map(RepositorySetting::kind).collect();
        let expected = [
            SettingKind::Filter { name: b"b.c=d", smudges: true },
            SettingKind::Filter { name: b"d", smudges: true },
            SettingKind::Filter { name: b"f", smudges: false },
        ];
        assert_eq!(kinds, expected);
        assert!(is_safe_filter(b"git-lfs clean -- %f") && is_safe_filter(b"\"git-crypt\" clean"));
        assert!(!is_safe_filter(b"git-lfs; ./d") && !is_safe_filter(b"") && !is_safe_filter(b"./git-lfs"));
    }

    #[test]
    fn settings_that_name_transport_programs_are_recognised() {
        let names_transport = |entry: &str| settings(&[("local", entry)])[0].names_transport();
        for entry in [
            "core.sshcommand\n./x",
            "remote.a.b.uploadpack\n./x",
            "credential.https://x.y.helper\n!x",
            "credential.helper\nx",
            "protocol.ext.allow\nalways",
            "lfs.customtransfer.x.path\n./x",
            "lfs.https://x.standalonetransferagent\nx",
            "lfs.extension.a.clean\nx",
        ] {
            assert!(names_transport(entry), "{entry}");
        }
        for entry in ["remote.origin.url\nx", "core.bare\nfalse", "lfs.repositoryformatversion\n0", "user.name\nx"] {
            assert!(!names_transport(entry), "{entry}");
        }
    }
}
