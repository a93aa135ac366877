//! Adds rules and other entries to a settings file, keeping its comments and order.

use std::fs::{DirBuilder, File as Disk};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use protocol::{McpServerSpec, RuleEffect};
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use crate::file::SettingsFile;
use crate::permissions::RuleLine;
use crate::read::{ConfigError, MAX_SETTINGS_BYTES};
use crate::values::{flatten, key_of};

/// The result of adding a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleAddition {
    /// It was written.
    Written,
    /// The file already has it.
    AlreadyPresent,
}

/// A value to add to a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingsEntry {
    /// A string appended to a list.
    Listed(String),
    /// The string value of a key; an existing value is not replaced.
    Text(String),
}

/// Where an entry goes, such as `permissions` and `allow`.
pub(crate) type KeyPath = Vec<String>;

/// Adds a rule to a file, creating the file and its folder if missing. The caller must exclude other writers.
pub(crate) fn add_rule(path: &Path, effect: RuleEffect, rule: &RuleLine) -> Result<RuleAddition, ConfigError> {
    // Do not edit a file that is not valid settings.
    let permissions = SettingsFile::parse(&read_text(path)?, path)?.permissions;
    let list = match effect {
        RuleEffect::Allow => permissions.allow,
        RuleEffect::Ask => permissions.ask,
        RuleEffect::Deny => permissions.deny,
    };
    if list.contains(rule) {
        return Ok(RuleAddition::AlreadyPresent);
    }
    let keys = vec!["permissions".into(), effect.as_str().into()];
    add_entries(path, &[(keys, SettingsEntry::Listed(rule.text().into()))])?;
    Ok(RuleAddition::Written)
}

/// Adds the default model to a file in the same way. Fails if the file sets a model.
pub fn add_model(path: &Path, spec: &str) -> Result<(), ConfigError> {
    add_entries(path, &[(vec!["model".into()], SettingsEntry::Text(spec.into()))])
}

/// Adds an MCP server to a file in the same way. Fails if the file has one of this name.
pub(crate) fn add_mcp_server(path: &Path, name: &str, server: &McpServerSpec) -> Result<(), ConfigError> {
    if SettingsFile::parse(&read_text(path)?, path)?.mcp.servers.contains_key(name) {
        return Err(invalid(path, format!("it already has an MCP server `{name}`")));
    }
    let key = |end: &[&str]| ["mcp", "servers", name].iter().chain(end).map(|&key| key.to_owned()).collect::<KeyPath>();
    let texts = [("command", &server.command), ("url", &server.url)].into_iter();
    let texts = texts.filter_map(|(field, text)| Some((key(&[field]), SettingsEntry::Text(text.clone()?))));
    let args = server.args.iter().map(|arg| (key(&["args"]), SettingsEntry::Listed(arg.clone())));
    let tables = [("env", &server.env), ("headers", &server.headers)].into_iter();
    let values = tables.flat_map(|(field, table)| table.iter().map(move |(name, value)| (field, name, value)));
    let values = values.map(|(field, name, value)| (key(&[field, name]), SettingsEntry::Text(value.clone())));
    add_entries(path, &texts.chain(args).chain(values).collect::<Vec<_>>())
}

/// Removes an MCP server from a file; returns whether the file had it.
pub(crate) fn remove_mcp_server(path: &Path, name: &str) -> Result<bool, ConfigError> {
    let before = read_text(path)?;
    if !SettingsFile::parse(&before, path)?.mcp.servers.contains_key(name) {
        return Ok(false);
    }
    let by_hand = || invalid(path, format!("cannot be edited; remove by hand: mcp.servers.{name}"));
    let mut document: DocumentMut = before.parse().map_err(|_| by_hand())?;
    let servers = document.get_mut("mcp").and_then(|mcp| mcp.get_mut("servers")).and_then(Item::as_table_like_mut);
    servers.and_then(|servers| servers.remove(name)).ok_or_else(by_hand)?;
    let after = document.to_string();
    SettingsFile::parse(&after, path)?;
    replace_file(path, &after).map_err(|source| ConfigError::Write { path: path.to_owned(), source })?;
    Ok(true)
}

/// Adds entries to a file in the same way, either all or none.
pub(crate) fn add_entries(path: &Path, entries: &[(KeyPath, SettingsEntry)]) -> Result<(), ConfigError> {
    let before = read_text(path)?;
    SettingsFile::parse(&before, path)?;
    let by_hand = |keys: &KeyPath| invalid(path, format!("cannot be edited; add by hand: {}", keys.join(".")));
    let after = with_entries(&before, entries).map_err(by_hand)?;
    let read = flatten(&SettingsFile::parse(&after, path)?);
    // Some ways to write a table cannot take a new entry, and it would be lost silently.
    let is_lost = |(keys, _): &&(KeyPath, SettingsEntry)| !read.iter().any(|(key, _)| *key == key_of(keys));
    if let Some((keys, _)) = entries.iter().find(is_lost) {
        return Err(by_hand(keys));
    }
    replace_file(path, &after).map_err(|source| ConfigError::Write { path: path.to_owned(), source })
}

pub(crate) fn read_text(path: &Path) -> Result<String, ConfigError> {
    let bytes = host::read_plain(path, MAX_SETTINGS_BYTES)
        .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    String::from_utf8(bytes.unwrap_or_default()).map_err(|_binary| invalid(path, "it is not UTF-8 text".into()))
}

/// Returns the text with the entries, or the keys of the first entry that cannot be added.
fn with_entries<'a>(before: &str, entries: &'a [(KeyPath, SettingsEntry)]) -> Result<String, &'a KeyPath> {
    let first = entries.first().map(|(keys, _)| keys);
    let parsed: Result<DocumentMut, _> = before.parse();
    let mut document = match (parsed, first) {
        (Ok(document), _) => document,
        (Err(_not_toml), Some(keys)) => return Err(keys),
        (Err(_not_toml), None) => return Ok(before.to_owned()),
    };
    for (keys, entry) in entries {
        insert_entry(document.as_table_mut(), keys, entry).ok_or(keys)?;
    }
    let after = document.to_string();
    // `toml_edit` reads every line ending as a line feed.
    let lines = before.matches('\n').count();
    let has_crlf = lines > 0 && before.matches("\r\n").count() == lines;
    Ok(if has_crlf { after.replace("\r\n", "\n").replace('\n', "\r\n") } else { after })
}

fn insert_entry(root: &mut dyn TableLike, keys: &[String], entry: &SettingsEntry) -> Option<()> {
    let (last, above) = keys.split_last()?;
    let mut table = root;
    for key in above {
        table = table.entry(key).or_insert_with(new_table).as_table_like_mut()?;
    }
    match entry {
        SettingsEntry::Listed(text) => {
            let list = table.entry(last).or_insert_with(|| Item::Value(Value::Array(Array::new())));
            append_to_list(list.as_array_mut()?, text);
        }
        SettingsEntry::Text(_) if table.contains_key(last) => return None,
        SettingsEntry::Text(text) => drop(table.insert(last, Item::Value(Value::from(text.as_str())))),
    }
    Some(())
}

/// A table without a header of its own while it contains only tables.
fn new_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

/// Appends an entry in the layout of the others: one per line, or all on one line.
fn append_to_list(list: &mut Array, text: &str) {
    let before = list.iter().last().and_then(|last| last.decor().prefix()?.as_str()).unwrap_or_default().to_owned();
    match before.rsplit_once('\n') {
        Some((_, indent)) => list.push_formatted(Value::from(text).decorated(format!("\n{indent}"), "")),
        None => list.push(text),
    }
}

/// Replaces the file atomically.
fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let path = link_target(path)?;
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = tempfile::Builder::new().prefix(".config-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(metadata) = path.metadata() {
        file.as_file().set_permissions(metadata.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Disk::open(folder)?.sync_all()
}

/// The target of a link, whether it exists or not, so that the link itself is kept.
fn link_target(path: &Path) -> io::Result<PathBuf> {
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
        let keys = vec!["permissions".into(), "allow".into()];
        with_entries(before, &[(keys, SettingsEntry::Listed(rule(text).text().into()))]).unwrap()
    }

    #[test]
    fn comments_and_order_are_kept() {
        assert_eq!(add("", "shell(ls)"), "[permissions]\nallow = [\"shell(ls)\"]\n");
        let before = "# mine\nmodel = 'x' # this\n\n[permissions] # rules\nallow = ['a'] # few\ndeny = []\n\n[limits]\nlive = 3\n";
        let after = add(before, "b");
        assert_eq!(after, before.replace("['a']", "['a', \"b\"]"));
        let lines = "[permissions]\nallow = [\n  \"a\", # why\n  \"b\",\n]\n";
        assert_eq!(add(lines, "c"), "[permissions]\nallow = [\n  \"a\", # why\n  \"b\",\n  \"c\",\n]\n");
        assert_eq!(add("permissions = { ask = [] }\n", "a"), "permissions = { ask = [] , allow = [\"a\"] }\n");
    }

    #[test]
    fn a_default_model_is_added_above_tables_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "# mine\n[limits]\nlive = 3\n").unwrap();
        add_model(&path, "ollama/qwen3:8b").unwrap();
        assert_eq!(SettingsFile::read(&path).unwrap().model.as_deref(), Some("ollama/qwen3:8b"));
        assert!(fs::read_to_string(&path).unwrap().contains("# mine"));
        assert!(add_model(&path, "other/one").is_err());
        assert_eq!(SettingsFile::read(&path).unwrap().model.as_deref(), Some("ollama/qwen3:8b"));
    }

    #[test]
    fn a_new_file_is_private_and_a_rule_is_added_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("projects/x/config.toml");
        assert_eq!(add_rule(&path, RuleEffect::Deny, &rule("shell(rm *)")).unwrap(), RuleAddition::Written);
        assert_eq!(add_rule(&path, RuleEffect::Deny, &rule("shell(rm *)")).unwrap(), RuleAddition::AlreadyPresent);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(fs::read_to_string(&path).unwrap(), "[permissions]\ndeny = [\"shell(rm *)\"]\n");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn mcp_servers_are_added_once_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "# mine\n[limits]\nlive = 3\n").unwrap();
        let server = McpServerSpec {
            command: Some("npx".into()),
            args: vec!["-y".into(), "db".into(), "-y".into()],
            env: [("TOKEN".to_owned(), "${DB_TOKEN}".to_owned())].into(),
            ..McpServerSpec::default()
        };
        add_mcp_server(&path, "my db", &server).unwrap();
        assert_eq!(SettingsFile::read(&path).unwrap().mcp.servers["my db"], server);
        assert!(add_mcp_server(&path, "my db", &server).is_err());
        assert!(remove_mcp_server(&path, "my db").unwrap());
        assert!(!remove_mcp_server(&path, "my db").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "# mine\n[limits]\nlive = 3\n");
    }

    #[test]
    fn permissions_and_dangling_links_are_kept() {
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
    fn unusual_layouts_are_kept() {
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
    fn links_are_kept_and_invalid_files_are_not_edited() {
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
