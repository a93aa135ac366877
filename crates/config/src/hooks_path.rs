//! The folder inside a project from which git runs hooks, if the repository's config names one.

use std::fs;
use std::path::{Component, Path, PathBuf};

use policy::gitconfig::parse_settings;
use policy::{Rule, RuleSource};
use protocol::RuleEffect;

/// Maximum size of a repository's config file, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Rules that ask before an agent changes hooks that git runs from a folder of the project.
pub(crate) fn hook_folder_rules(top: &Path) -> Vec<Rule> {
    let below = config_files(top).iter().flat_map(|file| hook_folders(file, top)).collect::<Vec<_>>();
    let rule = |folder: &PathBuf| {
        let special = |c: char| r"*?[]{}!\()".contains(c);
        let written: String =
            folder.to_str()?.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect();
        Rule::parse(RuleEffect::Ask, &format!("edit(./{written})"), RuleSource::BuiltIn).ok()
    };
    below.iter().filter_map(rule).collect()
}

/// The config files of a project's repository; a linked worktree uses those of its main repository.
fn config_files(top: &Path) -> Vec<PathBuf> {
    let git = top.join(".git");
    if git.is_dir() {
        return vec![git.join("config")];
    }
    let linked = read(&git).and_then(|text| Some(top.join(text.strip_prefix("gitdir:")?.trim())));
    let Some(own) = linked else { return Vec::new() };
    let common = read(&own.join("commondir")).map(|text| own.join(text.trim()));
    vec![own.join("config.worktree"), common.unwrap_or_else(|| own.clone()).join("config")]
}

fn read(file: &Path) -> Option<String> {
    let small = fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_FILE_BYTES);
    small.then(|| fs::read_to_string(file).ok()).flatten()
}

/// The folders that a file names, relative to the top of the project. Husky's `_` folder stands for its parent, which
/// has the scripts.
fn hook_folders(file: &Path, top: &Path) -> Vec<PathBuf> {
    let all = read(file).and_then(|text| parse_settings(&text)).unwrap_or_default();
    let named = all.iter().filter(|setting| setting.section == "core" && setting.key == "hookspath");
    let below = named.filter_map(|setting| relative_path(top, Path::new(&setting.value)));
    let scripts_folder = |folder: PathBuf| match folder.parent() {
        Some(parent) if folder.ends_with("_") && !parent.as_os_str().is_empty() => parent.to_owned(),
        Some(_) | None => folder,
    };
    below.map(scripts_folder).filter(|folder| !folder.as_os_str().is_empty()).collect()
}

/// The path relative to the top, if it is below it.
fn relative_path(top: &Path, path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in top.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal.strip_prefix(top).ok().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hook_folders_come_from_the_repository_config() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        fs::create_dir(top.join(".git")).unwrap();
        let rules_with = |text: &str| {
            fs::write(top.join(".git/config"), text).unwrap();
            hook_folder_rules(top).iter().map(|rule| rule.text.clone()).collect::<Vec<_>>()
        };
        assert_eq!(rules_with("[core]\n bare = false\n"), [""; 0]);
        assert_eq!(rules_with("[core]\n hooksPath = tools/hooks\n"), ["edit(./tools/hooks)"]);
        assert_eq!(rules_with("[core]\n hooksPath = .husky/_\n"), ["edit(./.husky)"]);
        assert_eq!(rules_with(&format!("[core]\n hooksPath = {}/x\n", top.display())), ["edit(./x)"]);
        assert_eq!(rules_with("[core]\n hooksPath = /etc/hooks\n"), [""; 0]);
    }
}
