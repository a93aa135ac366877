//! The text of a skill as shown to an agent.

use std::path::Path;

use host::PlainError;
use protocol::{DefinitionSource, FrontMatter, SkillSpec};

/// Maximum size of a skill's file.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// Why the file of a skill or of a slash command cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TextFileError {
    /// It does not exist any more.
    #[error("it is gone")]
    Gone,
    /// It is not text.
    #[error("it is not UTF-8 text")]
    NotText,
    /// It may not or cannot be read.
    #[error(transparent)]
    Unreadable(#[from] PlainError),
}

/// Reads a skill's file. In a project or a plugin no link is followed: an agent
/// could have created it to read a forbidden file.
pub fn read(skill: &SkillSpec) -> Result<String, TextFileError> {
    read_file(Path::new(&skill.file), &skill.source)
}

/// Reads the file of a skill or of a slash command, as its source permits.
pub(crate) fn read_file(path: &Path, source: &DefinitionSource) -> Result<String, TextFileError> {
    let read = match source {
        DefinitionSource::Project { .. } | DefinitionSource::Plugin { .. } => {
            host::read_without_links(path, MAX_FILE_BYTES)
        }
        DefinitionSource::User { .. }
        | DefinitionSource::Flag
        | DefinitionSource::Remote { .. }
        | DefinitionSource::BuiltIn => host::read_plain(path, MAX_FILE_BYTES),
    };
    String::from_utf8(read?.ok_or(TextFileError::Gone)?).map_err(|_binary| TextFileError::NotText)
}

/// The text of a skill's file below its frontmatter. Commands in it, which other products would run, are not run but
/// replaced with a note.
pub fn skill_text(file: &str) -> String {
    // Unterminated frontmatter is not frontmatter.
    let body = FrontMatter::parse(file).body().unwrap_or(file);
    without_commands(body.trim())
}

/// The text with each `` !`command` `` replaced by a note that names it.
fn without_commands(text: &str) -> String {
    let (mut output, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(position) = rest.find("!`") {
        let (before, from) = rest.split_at(position);
        output.push_str(before);
        // An exclamation mark after a word only ends a sentence before some code.
        let is_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '`');
        let command = from[2..].split_once('`').filter(|(command, _)| !is_word && !command.contains('\n'));
        match command {
            Some((command, after)) => {
                output.push_str(&format!("[not run here: {command}]"));
                rest = after;
            }
            None => {
                output.push_str("!`");
                rest = &from[2..];
            }
        }
    }
    output.push_str(rest);
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_of_a_project_is_not_read_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        std::fs::write(top.join("secret"), "words").unwrap();
        std::os::unix::fs::symlink(top.join("secret"), top.join("SKILL.md")).unwrap();
        let path = top.join("SKILL.md").display().to_string();
        let skill = |source| SkillSpec { file: path.clone(), source, ..SkillSpec::default() };
        assert!(
            read(&skill(DefinitionSource::Project { path: path.clone() })).unwrap_err().to_string().contains("link")
        );
        assert_eq!(read(&skill(DefinitionSource::User { path: path.clone() })).unwrap(), "words");
        std::fs::remove_file(&path).unwrap();
        let gone = read(&skill(DefinitionSource::Project { path: path.clone() })).unwrap_err();
        assert_eq!(gone.to_string(), "it is gone");
    }

    #[test]
    fn skill_text_has_no_frontmatter_and_its_commands_are_not_run() {
        let file = "---\nname: x\ndescription: y\n---\n\nThe branch is !`git branch --show-current`.\nDo it.\n";
        assert_eq!(skill_text(file), "The branch is [not run here: git branch --show-current].\nDo it.");
        assert_eq!(skill_text("No head, wow!`code` and !`open\nline`"), "No head, wow!`code` and !`open\nline`");
        assert_eq!(skill_text("---\nname: x\n"), "---\nname: x");
        assert_eq!(skill_text("!`a``!`b`"), "[not run here: a]`!`b`");
    }
}
