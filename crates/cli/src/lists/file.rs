//! Lists as files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use protocol::ItemId;
use serde::Serialize;
use store::{Imported, from_jsonl, to_jsonl};

use super::place::Place;
use super::{explained, now};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;

/// One byte more than is read of a file, so that a larger one is noticed.
const MOST: u64 = 64 * 1024 * 1024 + 1;

pub(super) fn export(place: &Place, output: Option<&Path>) -> Result<Exit, Failure> {
    let items = place.list.export().map_err(explained)?;
    let text = to_jsonl(&items).map_err(explained)?;
    match output {
        None => print::document(text.as_bytes()),
        Some(path) => {
            std::fs::write(path, text)
                .map_err(|error| Failure::failed(format!("{} was not written: {error}", path.display())))?;
            print::note(format!("{} in {}", print::count(items.len(), "item"), path.display()));
        }
    }
    Ok(Exit::Success)
}

pub(super) fn import(place: &Place, file: &Path, json: bool) -> Result<Exit, Failure> {
    let text = read(file).map_err(|error| Failure::usage(format!("{} was not read: {error}", file.display())))?;
    let items = from_jsonl(&text).map_err(explained)?;
    let imported = place.list.import(items, now()).map_err(explained)?;
    show(&imported, json);
    Ok(if imported.conflicts.is_empty() { Exit::Success } else { Exit::Partial })
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    match file.to_str() {
        Some("-") => io::stdin().take(MOST).read_to_string(&mut text)?,
        Some(_) | None => File::open(file)?.take(MOST).read_to_string(&mut text)?,
    };
    Ok(text)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Taken<'a> {
    made: &'a [ItemId],
    changed: &'a [ItemId],
    kept: &'a [ItemId],
    conflicts: &'a [ItemId],
}

fn show(imported: &Imported, json: bool) {
    let Imported { made, changed, kept, conflicts } = imported;
    if json {
        return print::json(&Taken { made, changed, kept, conflicts });
    }
    print::answer(format!("{} new, {} changed, {} kept", made.len(), changed.len(), kept.len()));
    for id in conflicts {
        print::error(&format!("item {id} was changed here and in the file, and stays as it is here"));
    }
    if !conflicts.is_empty() {
        print::note(
            "hint: compare them with `bosun lists show ITEM`, and change what is wrong with `bosun lists update`",
        );
    }
}
