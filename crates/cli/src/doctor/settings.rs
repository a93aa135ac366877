//! Files of settings: which are read, and what of them does not count.

use std::path::{Path, PathBuf};

use config::{MANAGED, MANAGED_FILE, Notice, Origin, Weight};

use super::{Check, Scene};

pub(super) fn checks(scene: &Scene) -> Vec<Check> {
    let Some(layers) = &scene.layers else { return Vec::new() };
    let mut checks = Vec::new();
    for path in layers.files() {
        checks.push(Check::ok("config", format!("{} is read", path.display())));
    }
    let managed = scene.env.managed.iter().map(PathBuf::as_path).chain([Path::new(MANAGED_FILE)]);
    if !managed.into_iter().any(Path::exists) {
        checks.push(Check::ok("managed", format!("nobody manages this machine: no {MANAGED_FILE}, no {MANAGED}")));
    }
    checks.extend(layers.notices.iter().map(notice));
    checks.extend(layers.roots(scene.env.user.as_deref()).iter().filter_map(missing));
    checks
}

/// A folder of the workspace without which no run begins.
fn missing((path, origin): &(PathBuf, Origin)) -> Option<Check> {
    let error = path.canonicalize().err()?;
    let text = format!("cannot work in {}, named by {origin}: {error}", path.display());
    Some(Check::fail("folder", text, "make the folder, or take it out of workspace.add-dirs"))
}

fn notice(notice: &Notice) -> Check {
    let text = format!("{}: {}", notice.path.display(), notice.text);
    match notice.weight {
        Weight::Warning => Check::warn("config", text, "`bosun config show --origin` tells what counts"),
        Weight::Remark => Check::ok("config", text),
    }
}
