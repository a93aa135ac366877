//! Files of settings besides the user's own: those of whoever manages the machine, and those of the project.

use std::fs;
use std::path::Path;

use config::{File, MANAGED, MANAGED_FILE};

use super::{Check, Scene};

/// Most bytes of a file of settings.
const LARGEST: u64 = 1 << 20;

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
    let remedy = format!("correct {}", path.display());
    // A project may come from anybody: what never ends is not read.
    match fs::metadata(path) {
        Ok(file) if file.is_file() && file.len() <= LARGEST => {}
        Ok(_) => return Check::fail(topic, format!("{} is no file, or too large", path.display()), remedy),
        Err(error) => return Check::fail(topic, format!("cannot read {}: {error}", path.display()), remedy),
    }
    match File::read(path) {
        Ok(_) => Check::ok(topic, format!("{} is well formed", path.display())),
        Err(error) => Check::fail(topic, error.to_string(), remedy),
    }
}
