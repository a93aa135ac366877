//! Every setting that counts, and what does not.

use std::path::PathBuf;

use config::Value;
use serde::Serialize;

use crate::args::ShowArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;
use crate::setup::{Setup, folder};

/// What counts in a folder.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    /// The project's topmost folder.
    top: PathBuf,
    /// How the project stands.
    trust: &'static str,
    settings: Vec<Setting>,
    /// Keys of the project's file that do not count.
    ignored: Vec<String>,
    /// What no tool may reach, whatever is allowed.
    out_of_reach: Vec<PathBuf>,
    notices: Vec<Remark>,
}

#[derive(Serialize)]
struct Setting {
    key: String,
    value: serde_json::Value,
    origin: String,
    file: Option<PathBuf>,
}

#[derive(Serialize)]
struct Remark {
    path: PathBuf,
    text: String,
}

pub(super) fn show(setup: &Setup, args: &ShowArgs) -> Result<Exit, Failure> {
    let cwd = folder(None)?;
    let layers = setup.layers(&args.permit, args.permit.file()?, None, &cwd)?;
    let notices = layers.notices.iter().map(|notice| Remark { path: notice.path.clone(), text: notice.text.clone() });
    let shown = Shown {
        top: layers.project.top.clone(),
        trust: layers.standing.word(),
        settings: layers.values().into_iter().map(Setting::from).collect(),
        ignored: layers.ignored.clone(),
        out_of_reach: setup.policy(&args.permit, None, &cwd)?.controls,
        notices: notices.collect(),
    };
    if args.json {
        print::json(&shown);
        return Ok(Exit::Success);
    }
    for Setting { key, value, origin, .. } in &shown.settings {
        let origin = if args.origin { format!("  # {origin}") } else { String::new() };
        print::answer(print::plain(&format!("{key} = {value}{origin}")));
    }
    for Remark { path, text } in &shown.notices {
        print::note(print::plain(&format!("{}: {text}", path.display())));
    }
    Ok(Exit::Success)
}

impl From<Value> for Setting {
    fn from(Value { key, value, origin }: Value) -> Setting {
        Setting { key, value, file: origin.file().map(Into::into), origin: origin.to_string() }
    }
}
