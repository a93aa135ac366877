//! Export and import of lists as files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use client::{ItemImportReport, from_jsonl, to_jsonl};
use protocol::ItemId;
use serde::Serialize;

use super::open_list::OpenList;
use super::{list_error, now};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::print;

/// How many bytes of a file are read at most: one more than `from_jsonl` accepts, so that it refuses a larger file.
const IMPORT_READ_BYTES: u64 = 64 * 1024 * 1024 + 1;

pub(super) fn export(open_list: &OpenList, output: Option<&Path>) -> Result<CommandExit, CliError> {
    let items = open_list.list.export().map_err(list_error)?;
    let text = to_jsonl(&items).map_err(list_error)?;
    match output {
        None => print::document(text.as_bytes()),
        Some(path) => {
            std::fs::write(path, text)
                .map_err(|error| CliError::failed(format!("cannot write {}: {error}", path.display())))?;
            print::note(format!("{} in {}", print::pluralize(items.len(), "item"), path.display()));
        }
    }
    Ok(CommandExit::Success)
}

pub(super) fn import(open_list: &OpenList, file: &Path, json: bool) -> Result<CommandExit, CliError> {
    let text = read(file).map_err(|error| CliError::usage(format!("cannot read {}: {error}", file.display())))?;
    let items = from_jsonl(&text).map_err(list_error)?;
    let imported = open_list.list.import(items, now()).map_err(list_error)?;
    print_import(&imported, json);
    Ok(if imported.conflicts.is_empty() { CommandExit::Success } else { CommandExit::Partial })
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    match file.to_str() {
        Some("-") => io::stdin().take(IMPORT_READ_BYTES).read_to_string(&mut text)?,
        Some(_) | None => File::open(file)?.take(IMPORT_READ_BYTES).read_to_string(&mut text)?,
    };
    Ok(text)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListImportOutput<'a> {
    created: &'a [ItemId],
    changed: &'a [ItemId],
    unchanged: &'a [ItemId],
    conflicts: &'a [ItemId],
}

fn print_import(imported: &ItemImportReport, json: bool) {
    let ItemImportReport { created, changed, unchanged, conflicts } = imported;
    if json {
        return print::json(&ListImportOutput { created, changed, unchanged, conflicts });
    }
    print::output(format!("{} new, {} changed, {} unchanged", created.len(), changed.len(), unchanged.len()));
    for id in conflicts {
        print::error(&format!("item {id} was changed in the list and in the file; the list's version is kept"));
    }
    if !conflicts.is_empty() {
        print::note("hint: compare them with `bosun lists show ITEM`, and correct them with `bosun lists update`");
    }
}
