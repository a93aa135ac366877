//! Files of settings: which are read, and what of them does not count.

use std::path::{Path, PathBuf};

use config::{MANAGED, MANAGED_FILE, NoticeLevel, SettingOrigin, SettingsNotice};

use super::{DoctorCheck, DoctorContext};

pub(super) fn checks(scene: &DoctorContext) -> Vec<DoctorCheck> {
    let Some(layers) = &scene.layers else { return Vec::new() };
    let mut checks = Vec::new();
    for path in layers.files() {
        checks.push(DoctorCheck::ok("config", format!("{} is read", path.display())));
    }
    let managed = scene.env.managed.iter().map(PathBuf::as_path).chain([Path::new(MANAGED_FILE)]);
    if !managed.into_iter().any(Path::exists) {
        checks
            .push(DoctorCheck::ok("managed", format!("nobody manages this machine: no {MANAGED_FILE}, no {MANAGED}")));
    }
    checks.extend(layers.notices.iter().map(notice));
    checks.extend(layers.roots(scene.env.user.as_deref()).iter().filter_map(missing));
    checks
}

/// A folder of the workspace without which no run begins.
fn missing((path, origin): &(PathBuf, SettingOrigin)) -> Option<DoctorCheck> {
    let error = path.canonicalize().err()?;
    let text = format!("cannot work in {}, named by {origin}: {error}", path.display());
    Some(DoctorCheck::fail("folder", text, "make the folder, or take it out of workspace.add-dirs"))
}

fn notice(notice: &SettingsNotice) -> DoctorCheck {
    let text = format!("{}: {}", notice.path.display(), notice.text);
    match notice.level {
        NoticeLevel::Warning => DoctorCheck::warn("config", text, "`bosun config show --origin` tells what counts"),
        NoticeLevel::Info => DoctorCheck::ok("config", text),
    }
}
