//! The project: instructions that are read, and files that control an agent.

use std::path::{Path, PathBuf};

use config::{TrustStatus, TrustedContents};
use runtime::{InstructionPlaces, Instructions};

use super::{DoctorCheck, DoctorContext};

/// A home for the reading of instructions where there is none.
const NO_HOME: &str = "/nonexistent";

/// What other programs read in a project and Bosun does not yet.
const UNSUPPORTED_FILES: [(&str, &str); 1] = [(".mcp.json", "MCP servers")];

pub(super) fn checks(scene: &DoctorContext) -> Vec<DoctorCheck> {
    let mut checks = instructions(scene);
    checks.extend(unsupported_files(&scene.top));
    checks.push(trust(scene));
    checks
}

fn instructions(scene: &DoctorContext) -> Vec<DoctorCheck> {
    let home = scene.home.as_deref().unwrap_or(Path::new(NO_HOME));
    let Instructions { files, notices, .. } = Instructions::read(&InstructionPlaces {
        cwd: &scene.cwd,
        top: &scene.top,
        home,
        user: scene.env.user.as_deref(),
        may_read: &|_file| true,
    });
    let names: Vec<String> = files.iter().map(|file| relative_path(&file.path, &scene.cwd)).collect();
    let found = if names.is_empty() {
        "no AGENTS.md, CLAUDE.md or copilot-instructions.md".to_owned()
    } else {
        names.join(", ")
    };
    let noticed = notices.into_iter().map(|notice| {
        let text = format!("{}: {}", relative_path(&notice.path, &scene.cwd), notice.text);
        DoctorCheck::warn("instructions", text, "shorten the file, or make it readable")
    });
    std::iter::once(DoctorCheck::ok("instructions", found)).chain(noticed).collect()
}

fn unsupported_files(top: &Path) -> Option<DoctorCheck> {
    let found = UNSUPPORTED_FILES.iter().filter(|(path, _)| top.join(path).exists());
    let found: Vec<String> = found.map(|(path, what)| format!("{path} ({what})")).collect();
    (!found.is_empty())
        .then(|| DoctorCheck::ok("later", format!("{}: found, not used yet; comes later", found.join(", "))))
}

/// Whether the project's files may do more than narrow, and which do not.
fn trust(scene: &DoctorContext) -> DoctorCheck {
    let top = scene.top.display();
    let home = scene.home.as_deref().unwrap_or(Path::new(NO_HOME));
    let files = match TrustedContents::read(&scene.top, home) {
        Ok(TrustedContents { files, .. }) if files.is_empty() => {
            return DoctorCheck::ok("trust", format!("{top} has no files that control Bosun"));
        }
        Ok(TrustedContents { files, .. }) => names(&files),
        Err(error) => {
            return DoctorCheck::warn("trust", error.to_string(), "nothing of it counts until it can be looked at");
        }
    };
    let Some(layers) = &scene.layers else {
        return DoctorCheck::warn("trust", format!("{top} has {files}"), "correct the settings first");
    };
    let ignored = if layers.ignored.is_empty() {
        "of its settings nothing is ignored".to_owned()
    } else {
        format!("ignored: {}", layers.ignored.join(", "))
    };
    match layers.trust {
        TrustStatus::Trusted => DoctorCheck::ok("trust", format!("you trust {top} as it is, with {files}")),
        TrustStatus::Changed => {
            let text = format!("{top} has changed since you trusted it; {ignored}");
            DoctorCheck::warn("trust", text, "look at its files, then `bosun trust`")
        }
        TrustStatus::Untrusted if layers.ignored.is_empty() => {
            let text =
                format!("you have not trusted {top}, which has {files}; its agents, skills and hooks are ignored");
            DoctorCheck::ok("trust", text)
        }
        TrustStatus::Untrusted => {
            let text = format!("you have not trusted {top}; its files may only narrow: {ignored}");
            DoctorCheck::warn("trust", text, "look at its files, then `bosun trust`")
        }
    }
}

/// The first of these files, and how many more there are.
fn names(files: &[PathBuf]) -> String {
    const SHOWN: usize = 5;
    let mut names: Vec<String> = files.iter().take(SHOWN).map(|file| file.display().to_string()).collect();
    if files.len() > SHOWN {
        names.push(format!("{} more", files.len() - SHOWN));
    }
    names.join(", ")
}

/// A path as short as it can be said.
fn relative_path(path: &Path, cwd: &Path) -> String {
    path.strip_prefix(cwd).map_or_else(|_elsewhere| PathBuf::from(path), Path::to_owned).display().to_string()
}
