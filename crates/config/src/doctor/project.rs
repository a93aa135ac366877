//! Checks of the project: instruction files, and files that control an agent.

use std::path::{Path, PathBuf};

use crate::{TrustStatus, TrustedContents};
use runtime::{InstructionPlaces, Instructions};

use super::{DoctorCheck, DoctorContext};

/// Stands for the home folder if there is none.
const NO_HOME: &str = "/nonexistent";

pub(super) fn checks(context: &DoctorContext) -> Vec<DoctorCheck> {
    let mut checks = instructions(context);
    checks.push(trust(context));
    checks
}

fn instructions(context: &DoctorContext) -> Vec<DoctorCheck> {
    let home = context.home.as_deref().unwrap_or(Path::new(NO_HOME));
    let Instructions { files, notices, .. } = Instructions::read(&InstructionPlaces {
        cwd: &context.cwd,
        project_dir: &context.project_dir,
        home,
        user_home: context.env.user_home.as_deref(),
        may_read: &|_file| true,
    });
    let names: Vec<String> = files.iter().map(|file| relative_path(&file.path, &context.cwd)).collect();
    let summary = if names.is_empty() {
        DoctorCheck::note("instructions", "no AGENTS.md, CLAUDE.md or copilot-instructions.md")
    } else {
        DoctorCheck::ok("instructions", names.join(", "))
    };
    let warnings = notices.into_iter().map(|notice| {
        let text = format!("{}: {}", relative_path(&notice.path, &context.cwd), notice.text);
        DoctorCheck::warn("instructions", text, "shorten the file, or make it readable")
    });
    std::iter::once(summary).chain(warnings).collect()
}

/// Checks whether the project is trusted, and lists its settings that are ignored.
fn trust(context: &DoctorContext) -> DoctorCheck {
    let top = context.project_dir.display();
    let home = context.home.as_deref().unwrap_or(Path::new(NO_HOME));
    let files = match TrustedContents::read(&context.project_dir, home) {
        Ok(TrustedContents { files, .. }) if files.is_empty() => {
            return DoctorCheck::ok("trust", format!("{top} has no files that control Bosun"));
        }
        Ok(TrustedContents { files, .. }) => list_files(&files),
        Err(error) => {
            return DoctorCheck::warn(
                "trust",
                error.to_string(),
                "make the project's files readable; until then Bosun ignores them",
            );
        }
    };
    let Some(layers) = &context.layers else {
        return DoctorCheck::warn(
            "trust",
            format!("{top} has files that control Bosun ({files}), but the settings are invalid"),
            "correct the settings",
        );
    };
    let ignored = if layers.ignored.is_empty() {
        "none of its settings is ignored".to_owned()
    } else {
        format!("ignored: {}", layers.ignored.join(", "))
    };
    match layers.trust {
        TrustStatus::Trusted => DoctorCheck::ok("trust", format!("you trust {top} with its current files: {files}")),
        TrustStatus::Changed => {
            let text = format!("{top} has changed since you trusted it; {ignored}");
            DoctorCheck::warn("trust", text, "review its files, then `bosun trust`")
        }
        TrustStatus::Untrusted if layers.ignored.is_empty() => {
            let text =
                format!("you have not trusted {top}, which has {files}; its agents, skills and hooks are ignored");
            DoctorCheck::note("trust", text)
        }
        TrustStatus::Untrusted => {
            let text = format!("you have not trusted {top}, so its files can only restrict what is allowed; {ignored}");
            DoctorCheck::warn("trust", text, "review its files, then `bosun trust`")
        }
    }
}

/// Names the first of these files, and counts the rest.
fn list_files(files: &[PathBuf]) -> String {
    const MAX_NAMES: usize = 5;
    let mut names: Vec<String> = files.iter().take(MAX_NAMES).map(|file| file.display().to_string()).collect();
    if files.len() > MAX_NAMES {
        names.push(format!("{} more", files.len() - MAX_NAMES));
    }
    names.join(", ")
}

/// A path relative to the working folder, if it is below it.
fn relative_path(path: &Path, cwd: &Path) -> String {
    path.strip_prefix(cwd).map_or_else(|_elsewhere| PathBuf::from(path), Path::to_owned).display().to_string()
}
