//! Programs written for the SDKs of other agents, which start the binary in place of those agents.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{BinaryFixture, BinaryInvocation};
use crate::installed::{InstalledPackages, on_path};

/// The SDKs.
const PACKAGES: InstalledPackages = InstalledPackages { variable: "BOSUN_SDKS", folder: "sdks" };

/// A Python program with access to the SDKs. `CLAUDE_ADAPTER` and `COPILOT_ADAPTER` are the paths of the adapters.
#[track_caller]
pub fn python(stage: &BinaryFixture, program: &Path) -> BinaryInvocation {
    let python = PACKAGES.path("python/bin/python");
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
        symlink(PACKAGES.path("node/node_modules"), copy.join("node_modules")).unwrap();
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
