//! The demo's folder: `project` is the sample, `plan.yaml` the plan, `fix.yaml` the scripted model, and `home` a
//! `BOSUN_HOME` of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use host::{Home, HomeError};

use crate::error::CliError;

/// The scripted model and the plan of the fleet.
const SCRIPT: &str = include_str!("fix.yaml");
const PLAN: &str = include_str!("plan.yaml");

/// The sample in its initial state.
const SAMPLE: [(&str, &str); 5] = [
    ("README.md", include_str!("sample/README.md")),
    ("lib/dates.sh", include_str!("sample/lib/dates.sh")),
    ("lib/words.sh", include_str!("sample/lib/words.sh")),
    ("lib/sums.sh", include_str!("sample/lib/sums.sh")),
    ("tests/run.sh", include_str!("sample/tests/run.sh")),
];

/// The folder with all files of the demo.
#[derive(Debug)]
pub(super) struct DemoFolder {
    root: PathBuf,
}

impl DemoFolder {
    /// Creates the folder: `given`, which must be new or empty, or a temporary one that is kept.
    pub(super) fn make(given: Option<&Path>) -> Result<DemoFolder, CliError> {
        require_shell()?;
        let root = match given {
            Some(path) => make_empty(path)?,
            None => make_temporary()?,
        };
        let folder = DemoFolder { root };
        folder.make_home()?;
        folder.write_sample().map_err(|error| unusable(&folder.root, &error))?;
        Ok(folder)
    }

    /// The folder itself.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of the sample.
    pub(super) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// Bosun's home while the demo runs.
    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    fn make_home(&self) -> Result<(), CliError> {
        fs::create_dir(self.home()).map_err(|error| unusable(&self.root, &error))?;
        match Home::open(self.home()) {
            Ok(_) => Ok(()),
            Err(HomeError::TooLong { path, most }) => Err(CliError::usage(format!(
                "{} is longer than {most} bytes, which is too long for a socket path",
                path.display()
            ))
            .with_hint("choose a shorter path with --dir DIR")),
            Err(error) => Err(unusable(&self.root, &error)),
        }
    }

    fn write_sample(&self) -> io::Result<()> {
        fs::write(self.root.join("fix.yaml"), SCRIPT)?;
        fs::write(self.root.join("plan.yaml"), PLAN)?;
        for (name, text) in SAMPLE {
            let path = self.project().join(name);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, text)?;
        }
        Ok(())
    }
}

fn require_shell() -> Result<(), CliError> {
    if Path::new("/bin/sh").exists() {
        return Ok(());
    }
    Err(CliError::usage("the sample needs /bin/sh, which does not exist").with_hint("install a POSIX shell"))
}

fn make_empty(path: &Path) -> Result<PathBuf, CliError> {
    let failed = |error: io::Error| unusable(path, &error);
    fs::create_dir_all(path).map_err(failed)?;
    if fs::read_dir(path).map_err(failed)?.next().is_some() {
        return Err(CliError::usage(format!("{} is not empty", path.display()))
            .with_hint("give --dir a new or empty folder; without it, the demo creates a temporary one"));
    }
    path.canonicalize().map_err(failed)
}

fn make_temporary() -> Result<PathBuf, CliError> {
    let folder = tempfile::Builder::new().prefix("bosun-demo-").tempdir();
    let folder = folder.and_then(|folder| folder.keep().canonicalize());
    folder.map_err(|error| unusable(&std::env::temp_dir(), &error))
}

fn unusable(path: &Path, error: &dyn std::error::Error) -> CliError {
    CliError::usage(format!("cannot create the sample in {}: {error}", path.display()))
        .with_hint("choose a folder that you can write to with --dir DIR")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_with_files_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mine"), "").unwrap();
        assert!(DemoFolder::make(Some(folder.path())).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_sample_fails_in_each_of_its_parts() {
        let dir = tempfile::tempdir().unwrap();
        let folder = DemoFolder::make(Some(&dir.path().join("new"))).unwrap();
        for part in ["dates", "words", "sums"] {
            let (passes, output) = run_tests(&folder, part);
            assert!(!passes && output.contains("1 failed"), "{output}");
        }
    }

    #[test]
    fn the_script_and_the_plan_are_well_formed() {
        model::ScriptModel::parse(SCRIPT, "fix.yaml").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let folder = DemoFolder::make(Some(&dir.path().join("new"))).unwrap();
        assert_eq!(config::FleetPlan::read(&folder.root.join("plan.yaml")).unwrap().todos.len(), 4);
    }

    #[expect(clippy::disallowed_methods, reason = "the sample is tested without Bosun")]
    fn run_tests(folder: &DemoFolder, part: &str) -> (bool, String) {
        let tests = folder.project().join("tests/run.sh");
        let result = std::process::Command::new("/bin/sh").arg(tests).arg(part).output().unwrap();
        (result.status.success(), String::from_utf8(result.stdout).unwrap())
    }
}
