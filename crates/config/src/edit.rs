//! Adds a rule to a file of settings as a person would: comments and order stay.

use std::fs::{DirBuilder, File as Disk};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use protocol::RuleEffect;
use toml_edit::{Array, DocumentMut, Item, Table, Value};

use crate::file::File;
use crate::permissions::RuleLine;
use crate::read::{ConfigError, MOST};

/// What became of a rule that was to be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It was written.
    Written,
    /// It stood there.
    Known,
}

/// Adds a rule to a file, which is made with its folder if it is missing. Whoever calls this keeps other writers away.
pub fn add_rule(path: &Path, effect: RuleEffect, rule: &RuleLine) -> Result<Added, ConfigError> {
    let before = text(path)?;
    // A file that cannot be read as settings is not made worse.
    let file = File::parse(&before, path)?;
    let permissions = file.permissions;
    let list = match effect {
        RuleEffect::Allow => permissions.allow,
        RuleEffect::Ask => permissions.ask,
        RuleEffect::Deny => permissions.deny,
    };
    if list.contains(rule) {
        return Ok(Added::Known);
    }
    let after = with_rule(&before, effect, rule).ok_or_else(|| {
        invalid(path, format!("no rule can be added to it; write it by hand: permissions.{}", effect.word()))
    })?;
    File::parse(&after, path)?;
    write(path, &after).map_err(|source| ConfigError::Write { path: path.to_owned(), source })?;
    Ok(Added::Written)
}

fn text(path: &Path) -> Result<String, ConfigError> {
    let bytes = host::read_plain(path, MOST).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    String::from_utf8(bytes.unwrap_or_default()).map_err(|_binary| invalid(path, "it is not UTF-8 text".into()))
}

/// The text with the rule; none where a list has no place.
fn with_rule(before: &str, effect: RuleEffect, rule: &RuleLine) -> Option<String> {
    let mut document: DocumentMut = before.parse().ok()?;
    let permissions = document.entry("permissions").or_insert_with(|| Item::Table(Table::new())).as_table_like_mut()?;
    let list = permissions.entry(effect.word()).or_insert_with(|| Item::Value(Value::Array(Array::new())));
    push(list.as_array_mut()?, rule.text());
    let after = document.to_string();
    // Whatever ends a line in the file is read as a line feed.
    let lines = before.matches('\n').count();
    let returns = lines > 0 && before.matches("\r\n").count() == lines;
    Some(if returns { after.replace("\r\n", "\n").replace('\n', "\r\n") } else { after })
}

/// Adds an entry in the way the others stand: each on a line of its own, or all on one.
fn push(list: &mut Array, text: &str) {
    let before = list.iter().last().and_then(|last| last.decor().prefix()?.as_str()).unwrap_or_default().to_owned();
    match before.rsplit_once('\n') {
        Some((_, indent)) => list.push_formatted(Value::from(text).decorated(format!("\n{indent}"), "")),
        None => list.push(text),
    }
}

/// Writes all of it or nothing.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let path = behind_links(path)?;
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = tempfile::Builder::new().prefix(".config-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(before) = path.metadata() {
        file.as_file().set_permissions(before.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Disk::open(folder)?.sync_all()
}

/// What a link leads to, whether it is there or not: the link itself stays.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    match (path.canonicalize(), path.read_link()) {
        (Ok(real), _) => Ok(real),
        (Err(_missing), Ok(target)) => Ok(path.parent().unwrap_or(path).join(target)),
        (Err(error), Err(_no_link)) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_owned()),
        (Err(error), Err(_no_link)) => Err(error),
    }
}

fn invalid(path: &Path, message: String) -> ConfigError {
    ConfigError::Invalid { path: path.to_owned(), message }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn rule(text: &str) -> RuleLine {
        RuleLine::parse(text).unwrap()
    }

    fn add(before: &str, text: &str) -> String {
        with_rule(before, RuleEffect::Allow, &rule(text)).unwrap()
    }

    #[test]
    fn comments_and_order_stay() {
        assert_eq!(add("", "shell(ls)"), "[permissions]\nallow = [\"shell(ls)\"]\n");
        let before = "# mine\nmodel = 'x' # this\n\n[permissions] # rules\nallow = ['a'] # few\ndeny = []\n\n[limits]\nlive = 3\n";
        let after = add(before, "b");
        assert_eq!(after, before.replace("['a']", "['a', \"b\"]"));
        let lines = "[permissions]\nallow = [\n  \"a\", # why\n  \"b\",\n]\n";
        assert_eq!(add(lines, "c"), "[permissions]\nallow = [\n  \"a\", # why\n  \"b\",\n  \"c\",\n]\n");
        assert_eq!(add("permissions = { ask = [] }\n", "a"), "permissions = { ask = [] , allow = [\"a\"] }\n");
    }

    #[test]
    fn a_file_is_made_for_its_user_alone_and_a_rule_is_added_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("projects/x/config.toml");
        assert_eq!(add_rule(&path, RuleEffect::Deny, &rule("shell(rm *)")).unwrap(), Added::Written);
        assert_eq!(add_rule(&path, RuleEffect::Deny, &rule("shell(rm *)")).unwrap(), Added::Known);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(fs::read_to_string(&path).unwrap(), "[permissions]\ndeny = [\"shell(rm *)\"]\n");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn who_may_read_a_file_does_not_change_and_a_link_to_nothing_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("dots/real.toml"), folder.path().join("config.toml"));
        symlink("dots/real.toml", &link).unwrap();
        add_rule(&link, RuleEffect::Ask, &rule("fetch")).unwrap();
        assert!(link.is_symlink() && fs::read_to_string(&real).unwrap().contains("fetch"));
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        add_rule(&link, RuleEffect::Deny, &rule("shell")).unwrap();
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn odd_files_keep_their_form() {
        let lines = "[permissions]\r\nallow = [\r\n  \"a\",\r\n]\r\n";
        let cases = [
            (lines, "[permissions]\r\nallow = [\r\n  \"a\",\r\n  \"b\",\r\n]\r\n"),
            (
                "permissions.deny = ['x']\nmodel = 'm'\n",
                "permissions.deny = ['x']\npermissions.allow = [\"b\"]\nmodel = 'm'\n",
            ),
            ("permissions = { allow = ['a'] } # one\n", "permissions = { allow = ['a', \"b\"] } # one\n"),
            ("permissions.allow = []\n[limits]\nlive = 3\n", "permissions.allow = [\"b\"]\n[limits]\nlive = 3\n"),
        ];
        for (before, after) in cases {
            assert_eq!(add(before, "b"), after);
        }
    }

    #[test]
    fn a_link_stays_one_and_a_broken_file_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.toml"), folder.path().join("config.toml"));
        fs::write(&real, "").unwrap();
        symlink(&real, &link).unwrap();
        add_rule(&link, RuleEffect::Ask, &rule("fetch")).unwrap();
        assert!(link.is_symlink() && fs::read_to_string(&real).unwrap().contains("fetch"));
        fs::write(&real, "model = 3\n").unwrap();
        let error = add_rule(&link, RuleEffect::Ask, &rule("fetch")).unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
        assert_eq!(fs::read_to_string(&real).unwrap(), "model = 3\n");
    }
}
