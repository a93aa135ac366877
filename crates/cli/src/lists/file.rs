//! Export and import of lists as files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use client::lists;
use host::Home;
use protocol::api::{ImportItemsParams, ImportItemsResult, ListExport};
use tui::print;

use super::list_error;
use super::selected_list::SelectedList;
use crate::error::CliError;
use crate::exit::CommandExit;

/// How many bytes of a file are read at most: one more than an import accepts, so that it refuses a larger file.
const IMPORT_READ_BYTES: u64 = 64 * 1024 * 1024 + 1;

pub(super) fn export(home: &Home, list: &SelectedList, output: Option<&Path>) -> Result<CommandExit, CliError> {
    let ListExport { text, count } = lists::export(home, &list.address).map_err(list_error)?;
    match output {
        None => print::document(text.as_bytes()),
        Some(path) => {
            std::fs::write(path, text)
                .map_err(|error| CliError::failed(format!("cannot write {}: {error}", path.display())))?;
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            print::note(format!("{} in {}", print::pluralize(count, "item"), path.display()));
        }
    }
    Ok(CommandExit::Success)
}

pub(super) fn import(home: &Home, list: SelectedList, file: &Path, json: bool) -> Result<CommandExit, CliError> {
    let text = read(file).map_err(|error| CliError::usage(format!("cannot read {}: {error}", file.display())))?;
    let imported = lists::import(home, &ImportItemsParams { list: list.address, text }).map_err(list_error)?;
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

fn print_import(imported: &ImportItemsResult, json: bool) {
    let ImportItemsResult { created, changed, unchanged, conflicts } = imported;
    if json {
        return print::json(imported);
    }
    print::output(format!("{} new, {} changed, {} unchanged", created.len(), changed.len(), unchanged.len()));
    for id in conflicts {
        print::error(&format!("item {id} was changed in the list and in the file; the list's version is kept"));
    }
    if !conflicts.is_empty() {
        print::note("hint: compare them with `bosun lists show ITEM`, and correct them with `bosun lists update`");
    }
}
