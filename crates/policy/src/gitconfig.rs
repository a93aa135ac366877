//! Settings of a git repository that determine which programs git runs.

/// One setting: section, subsection and key, all in lower case except the subsection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSetting {
    /// The section, such as `core`.
    pub section: String,
    /// The subsection, such as the name of a remote.
    pub subsection: Option<String>,
    /// The key.
    pub key: String,
    /// The value, without quotes; `true` if there is none.
    pub value: String,
}

/// Parses the text of a config file; returns `None` if its form is unusual.
pub fn parse_settings(text: &str) -> Option<Vec<GitSetting>> {
    let mut settings = Vec::new();
    let mut current_section: Option<(String, Option<String>)> = None;
    for line in text.trim_start_matches('\u{feff}').lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let (header, after) = rest.split_once(']')?;
            current_section = Some(parse_section_header(header)?);
            line = after.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        // A value that continues on the next line could hide a section.
        if line.ends_with('\\') {
            return None;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let (key, value) = (key.trim().to_ascii_lowercase(), plain_value(value.trim()));
        let is_valid_key = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let (section, sub) = current_section.clone().filter(|_| is_valid_key)?;
        settings.push(GitSetting { section, subsection: sub, key, value });
    }
    Some(settings)
}

fn parse_section_header(header: &str) -> Option<(String, Option<String>)> {
    match header.split_once(' ') {
        Some((name, sub)) => {
            let sub = sub.trim().strip_prefix('"')?.strip_suffix('"')?;
            Some((name.to_ascii_lowercase(), Some(sub.to_owned())))
        }
        // In the old form, the subsection follows a dot.
        None => match header.split_once('.') {
            Some((name, sub)) => Some((name.to_ascii_lowercase(), Some(sub.to_owned()))),
            None => Some((header.to_ascii_lowercase(), None)),
        },
    }
}

fn plain_value(value: &str) -> String {
    let value = value.split(['#', ';']).next().unwrap_or(value).trim();
    value.replace('"', "")
}

impl GitSetting {
    /// Whether this setting never makes git start another program while git only reads the repository.
    pub fn is_harmless(&self) -> bool {
        let key = self.key.as_str();
        match (self.section.as_str(), &self.subsection) {
            ("core", None) => match key {
                // A boolean selects git's own watcher; any other value is a program.
                "fsmonitor" => ["true", "false", "yes", "no", "on", "off", "1", "0", ""].contains(&self.value.as_str()),
                key => HARMLESS_CORE_KEYS.contains(&key),
            },
            ("remote", Some(_)) => {
                ["url", "pushurl", "fetch", "push", "tagopt", "prune", "prunetags", "mirror", "gh-resolved"]
                    .contains(&key)
            }
            ("branch", _)
            | (
                "user" | "init" | "push" | "pull" | "fetch" | "color" | "advice" | "gc" | "rebase" | "commit"
                | "status" | "rerere" | "alias" | "pack" | "index" | "feature" | "help" | "column" | "stash"
                | "checkout" | "receive" | "transfer" | "http" | "credential" | "url" | "github" | "gui"
                | "maintenance",
                _,
            ) => true,
            ("log" | "tag" | "format", None) => !key.contains("sign") && key != "pretty",
            ("merge", None) => {
                ["conflictstyle", "ff", "log", "stat", "renames", "renamelimit", "autostash"].contains(&key)
            }
            ("diff", None) => [
                "algorithm",
                "renames",
                "renamelimit",
                "colormoved",
                "context",
                "mnemonicprefix",
                "noprefix",
                "indentheuristic",
                "wserrorhighlight",
                "relative",
            ]
            .contains(&key),
            ("extensions", None) => key == "worktreeconfig",
            ("lfs", _) => ["repositoryformatversion", "access"].contains(&key),
            (_, _) => false,
        }
    }
}

/// Keys of `core` that name no program.
#[rustfmt::skip]
const HARMLESS_CORE_KEYS: [&str; 30] = [
    "abbrev", "autocrlf", "bare", "checkstat", "commentchar", "commitgraph", "compression", "deltabasecachelimit",
    "editor", "eol", "excludesfile", "filemode", "fscache", "ignorecase", "ignorestat", "logallrefupdates", "longpaths",
    "multipackindex", "pager", "precomposeunicode", "preloadindex", "protecthfs", "protectntfs", "quotepath",
    "repositoryformatversion", "safecrlf", "sparsecheckout", "sparsecheckoutcone", "symlinks", "trustctime",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_name_programs_are_not_harmless() {
        let plain =
            "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = x\n\tfetch = +a:b\n";
        assert!(parse_settings(plain).unwrap().iter().all(GitSetting::is_harmless));
        for odd in [
            "[core]\n fsmonitor = ./x",
            "[CORE]\n FsMonitor = \"./x\"",
            "[core] fsmonitor = ./x",
            "[core]\n hooksPath = .husky",
            "[core]\n worktree = /",
            "[diff]\n external = ./x",
            "[diff \"a\"]\n textconv = ./x",
            "[diff.a]\n command = ./x",
            "[filter \"a\"]\n clean = ./x",
            "[include]\n path = x",
            "[includeIf \"gitdir:/\"]\n path = x",
            "[log]\n showSignature = true",
            "[gpg]\n program = ./x",
            "[remote \"o\"]\n promisor = true",
            "[remote \"o\"]\n uploadpack = ./x",
            "[submodule \"a\"]\n active = true",
            "[extensions]\n partialClone = o",
        ] {
            assert!(!parse_settings(odd).is_some_and(|all| all.iter().all(GitSetting::is_harmless)), "{odd}");
        }
        for unread in ["[core]\n bare = a\\\n[core]\n", "fsmonitor = x", "[core\nx = y"] {
            assert_eq!(parse_settings(unread), None, "{unread}");
        }
    }
}
