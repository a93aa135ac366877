//! The files that settings are read from.

use std::path::{Path, PathBuf};

use config::{File, MANAGED_FILE, Project, local_file};
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;
use crate::setup::{Setup, folder, refused};

/// A file that settings are read from.
#[derive(Debug, Serialize)]
struct Candidate {
    layer: &'static str,
    path: PathBuf,
    exists: bool,
}

/// Lists the files of this folder, strongest first.
pub(super) fn list(setup: &Setup, json: bool) -> Result<Exit, Failure> {
    let files = candidates(setup)?;
    if json {
        print::json(&files);
        return Ok(Exit::Success);
    }
    for Candidate { layer, path, exists } in files {
        let missing = if exists { "" } else { "  (missing)" };
        print::answer(print::plain(&format!("{layer:8} {}{missing}", path.display())));
    }
    Ok(Exit::Success)
}

/// Says of each file what is wrong with it.
pub(super) fn check(setup: &Setup, named: &[PathBuf]) -> Result<Exit, Failure> {
    let mut exit = Exit::Success;
    let mut tell = |path: &Path, read: Result<(), Failure>| match read {
        Ok(()) => print::answer(print::plain(&format!("{}: ok", path.display()))),
        Err(failure) => {
            failure.show();
            exit = Exit::Usage;
        }
    };
    for path in named {
        let missing = || Failure::usage(format!("{} does not exist", path.display()));
        tell(path, File::read_present(path).map_err(refused).and_then(|file| file.map(|_file| ()).ok_or_else(missing)));
    }
    if named.is_empty() {
        let project = Project::find(&folder(None)?);
        for Candidate { layer, path, .. } in candidates(setup)?.iter().filter(|file| file.exists) {
            let read = match *layer {
                "project" => project.settings().map(|_settings| ()),
                _users => File::read(path).map(|_file| ()),
            };
            tell(path, read.map_err(refused));
        }
        if exit == Exit::Success {
            // Each may be well formed, and say what has no place in it.
            setup.here()?;
        }
    }
    Ok(exit)
}

fn candidates(setup: &Setup) -> Result<Vec<Candidate>, Failure> {
    let (home, project) = (setup.home.root(), Project::find(&folder(None)?));
    let managed = [Some(PathBuf::from(MANAGED_FILE)), setup.env.managed.clone()].into_iter().flatten();
    let others = [
        ("local", local_file(home, &project.top)),
        ("project", project.config_file()),
        ("user", home.join("config.toml")),
    ];
    let all = managed.map(|path| ("managed", path)).chain(others);
    Ok(all.map(|(layer, path)| Candidate { layer, exists: path.symlink_metadata().is_ok(), path }).collect())
}
