//! Files of settings besides the user's own: those of whoever manages the machine, and those of the project.

use std::path::Path;

use config::{File, MANAGED};

use super::{Check, Scene};

/// What manages every user of a machine.
const MANAGED_FILE: &str = "/etc/bosun/managed.toml";

pub(super) fn checks(scene: &Scene) -> Vec<Check> {
    let mut checks = Vec::new();
    let managed = Path::new(MANAGED_FILE);
    if managed.exists() {
        checks.push(file("managed", managed));
    }
    if let Some(more) = scene.env.text(MANAGED) {
        let path = Path::new(&more);
        checks.push(if path.exists() {
            file("managed", path)
        } else {
            let text = format!("{MANAGED} names {more}, which does not exist");
            Check::fail("managed", text, format!("correct {MANAGED}, or unset it"))
        });
    }
    if checks.is_empty() {
        checks.push(Check::ok("managed", "nobody manages this machine"));
    }
    let project = scene.top.join(".bosun/config.toml");
    if project.exists() {
        checks.push(file("config", &project));
    }
    checks
}

fn file(topic: &'static str, path: &Path) -> Check {
    match File::read(path) {
        Ok(_) => Check::ok(topic, format!("{} can be used", path.display())),
        Err(error) => Check::fail(topic, error.to_string(), format!("correct {}", path.display())),
    }
}
