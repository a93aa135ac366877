//! Programs written for the SDKs of other agents, which start the binary in place of those agents.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{BinaryFixture, BinaryInvocation};

/// The variable in which `cargo xtask test` passes the folder of the SDKs.
const VARIABLE: &str = "BOSUN_SDKS";

/// A Python program with access to the SDKs. `CLAUDE_ADAPTER` and `COPILOT_ADAPTER` are the paths of the adapters.
#[track_caller]
pub fn python(stage: &BinaryFixture, program: &Path) -> BinaryInvocation {
    let python = installed("python/bin/python");
    with_adapters(stage, stage.invocation(&python).args([Path::new("-B"), program]))
}

/// A node program with access to the SDKs. `CLAUDE_ADAPTER` and `COPILOT_ADAPTER` are the paths of the adapters.
///
/// Node searches for packages next to the program, so it runs a copy of the program's whole folder.
#[track_caller]
pub fn node(stage: &BinaryFixture, program: &Path) -> BinaryInvocation {
    let copy = stage.base().join("node");
    if !copy.exists() {
        fs::create_dir(&copy).unwrap();
        symlink(installed("node/node_modules"), copy.join("node_modules")).unwrap();
    }
    for entry in fs::read_dir(program.parent().unwrap()).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    let program = copy.join(program.file_name().unwrap());
    with_adapters(stage, stage.invocation(&on_path("node")).args([program]))
}

/// The folder with the adapters, as created by `bosun sdk install`.
#[track_caller]
pub fn adapters(stage: &BinaryFixture) -> PathBuf {
    let adapters = stage.base().join("adapters");
    if !adapters.exists() {
        stage.bosun(["sdk", "install"]).args([&adapters]).run().expect(0);
    }
    adapters
}

#[track_caller]
fn with_adapters(stage: &BinaryFixture, invocation: BinaryInvocation) -> BinaryInvocation {
    let adapters = adapters(stage);
    invocation
        .env("CLAUDE_ADAPTER", adapters.join("bosun-claude"))
        .env("COPILOT_ADAPTER", adapters.join("bosun-copilot"))
}

#[track_caller]
fn installed(what: &str) -> PathBuf {
    let place = std::env::var_os(VARIABLE).map_or_else(usual_place, PathBuf::from);
    let path = place.join(what);
    assert!(path.exists(), "{} does not exist; run `cargo xtask sdks`, which installs it", path.display());
    path
}

/// The default folder, next to the build: tests are in `target/debug/deps`.
fn usual_place() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("sdks")
}

/// A program of this machine, found on the test's own path.
#[track_caller]
fn on_path(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.exists());
    found.unwrap_or_else(|| panic!("no {name} on the path; install it (Debian: apt install nodejs npm)"))
}
