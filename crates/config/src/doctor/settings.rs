//! Checks of settings files and ignored settings.

use std::path::{Path, PathBuf};

use crate::{MANAGED, MANAGED_FILE, NoticeLevel, SettingOrigin, SettingsNotice};

use super::{DoctorCheck, DoctorContext};

pub(super) fn checks(context: &DoctorContext) -> Vec<DoctorCheck> {
    let Some(layers) = &context.layers else { return Vec::new() };
    let mut checks = Vec::new();
    for path in layers.files() {
        checks.push(DoctorCheck::ok("config", format!("{} is read", path.display())));
    }
    let managed = context.env.managed.iter().map(PathBuf::as_path).chain([Path::new(MANAGED_FILE)]);
    if !managed.into_iter().any(Path::exists) {
        let text = format!("no settings of an administrator: no {MANAGED_FILE}, no {MANAGED}");
        checks.push(DoctorCheck::note("managed", text));
    }
    checks.extend(layers.notices.iter().map(notice));
    checks.extend(layers.added_folders(context.env.user_home.as_deref()).iter().filter_map(missing_folder));
    checks
}

/// Reports a missing workspace folder, without which no run starts.
fn missing_folder((path, origin): &(PathBuf, SettingOrigin)) -> Option<DoctorCheck> {
    let error = path.canonicalize().err()?;
    let text = format!("cannot use the folder {} from {origin}: {error}", path.display());
    Some(DoctorCheck::fail("folder", text, "create the folder, or remove it from workspace.add-dirs"))
}

fn notice(notice: &SettingsNotice) -> DoctorCheck {
    let text = format!("{}: {}", notice.path.display(), notice.text);
    match notice.level {
        NoticeLevel::Warning => {
            DoctorCheck::warn("config", text, "`bosun config show --origin` shows the settings in effect")
        }
        NoticeLevel::Info => DoctorCheck::note("config", text),
    }
}
