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
    form: Form,
}

/// Whose form a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Form {
    /// Bosun's own.
    Toml,
    /// Claude Code's, of which rules are taken.
    Claude,
}

/// Lists the files of this folder, strongest first.
pub(super) fn list(setup: &Setup, json: bool) -> Result<Exit, Failure> {
    let files = candidates(setup)?;
    if json {
        print::json(&files);
        return Ok(Exit::Success);
    }
    for Candidate { layer, path, exists, form: _ } in files {
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
        let present = |file: &&Candidate| file.exists && file.form == Form::Toml;
        for Candidate { layer, path, .. } in candidates(setup)?.iter().filter(present) {
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
    let claude = |name: &str| project.top.join(".claude").join(name);
    let own = |layer, path| (layer, path, Form::Toml);
    let mut all: Vec<_> = managed.map(|path| own("managed", path)).collect();
    all.extend([
        own("local", local_file(home, &project.top)),
        own("project", project.config_file()),
        ("project", claude("settings.local.json"), Form::Claude),
        ("project", claude("settings.json"), Form::Claude),
        own("user", home.join("config.toml")),
    ]);
    let users = setup.env.user.iter().map(|user| ("user", user.join(".claude/settings.json"), Form::Claude));
    all.extend(users);
    let candidate = |(layer, path, form): (_, PathBuf, _)| {
        let exists = path.symlink_metadata().is_ok();
        Candidate { layer, path, exists, form }
    };
    Ok(all.into_iter().map(candidate).collect())
}
