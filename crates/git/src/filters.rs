//! The filters of the user's repository, where its settings are used on files that others wrote. Git runs a filter in the
//! folder of those files, where `./clean` or `python -m clean` is theirs.

use std::collections::BTreeSet;

use crate::{Git, GitError};

/// Programs that run nothing they find beside the files.
const KNOWN: [&str; 2] = ["git-lfs", "git-crypt"];

/// What a filter whose program does not run means for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfiltered {
    /// It is an error if the repository requires the filter.
    Refused,
    /// The file is taken as it is.
    Plain,
}

/// The same git, which runs no filter that only its repository names, well-known ones apart.
pub(crate) async fn without(mut git: Git, unfiltered: Unfiltered) -> Result<Git, GitError> {
    let said = git.run(&["config", "--includes", "--show-scope", "-z", "--get-regexp", r"^filter\."], &[]).await?;
    for name in own(&String::from_utf8_lossy(&said.out)) {
        for key in ["clean", "smudge", "process"] {
            git = git.set(format!("filter.{name}.{key}="));
        }
        if unfiltered == Unfiltered::Plain {
            git = git.set(format!("filter.{name}.required=false"));
        }
    }
    Ok(git)
}

/// The filters for which a program stands in the settings of a repository.
fn own(text: &str) -> BTreeSet<&str> {
    let mut fields = text.split('\0');
    let mut own = BTreeSet::new();
    while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, ""));
        let named = key.strip_prefix("filter.").and_then(|key| key.rsplit_once('.'));
        if let (Some((name, "clean" | "smudge" | "process")), "local" | "worktree") = (named, scope)
            && !is_known(value)
        {
            own.insert(name);
        }
    }
    own
}

fn is_known(command: &str) -> bool {
    let word = command.split(' ').next().unwrap_or_default();
    let is_plain = command.chars().all(|c| c.is_ascii_alphanumeric() || " -_%\"".contains(c));
    is_plain && KNOWN.contains(&word.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::own;

    #[test]
    fn only_the_repositorys_own_filters_are_kept_from_running() {
        let text = [
            ("global", "filter.a.clean\n./a"),
            ("local", "filter.b.c.smudge\npython -m b"),
            ("local", "filter.lfs.clean\ngit-lfs clean -- %f"),
            ("local", "filter.crypt.clean\n\"git-crypt\" clean"),
            ("worktree", "filter.d.process\ngit-lfs; ./d"),
            ("local", "filter.e.required\ntrue"),
            ("local", "filter.f.clean"),
        ];
        let text: String = text.iter().map(|(scope, entry)| format!("{scope}\0{entry}\0")).collect();
        assert_eq!(own(&text).into_iter().collect::<Vec<_>>(), ["b.c", "d", "f"]);
    }
}
