//! Packages of others that `cargo xtask` installs for tests.

#![expect(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a test fails here")]

use std::path::PathBuf;

/// Packages for node and Python, installed together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InstalledPackages {
    /// The variable in which `cargo xtask test` passes their folder.
    pub(crate) variable: &'static str,
    /// The name of that folder in the target folder, and of the command of xtask that installs them.
    pub(crate) folder: &'static str,
}

impl InstalledPackages {
    /// The path of an installed file or folder.
    #[track_caller]
    pub(crate) fn path(self, what: &str) -> PathBuf {
        let InstalledPackages { variable, folder } = self;
        let path = std::env::var_os(variable).map_or_else(|| usual_folder(folder), PathBuf::from).join(what);
        assert!(path.exists(), "{} does not exist; run `cargo xtask {folder}`, which installs it", path.display());
        path
    }
}

/// The default folder, next to the build: tests are in `target/debug/deps`.
fn usual_folder(name: &str) -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join(name)
}

/// A program of this machine, found on the test's own path.
#[track_caller]
pub(crate) fn on_path(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.exists());
    found.unwrap_or_else(|| panic!("no {name} on the path; install it (Debian: apt install nodejs npm)"))
}
