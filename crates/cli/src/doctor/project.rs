//! The project: instructions that are read, and files that control an agent.

use std::path::{Path, PathBuf};

use runtime::Instructions;

use super::{Check, Scene};

/// A home for the reading of instructions where there is none.
const NO_HOME: &str = "/nonexistent";

/// Files that tell agents of this or other programs what they may do and what to run.
const CONTROLS: [&str; 5] =
    [".bosun", ".claude/settings.json", ".claude/settings.local.json", ".mcp.json", ".github/hooks"];

/// What other programs read in a project and Bosun does not yet.
const LATER: [(&str, &str); 7] = [
    (".mcp.json", "MCP servers"),
    (".github/hooks", "hooks"),
    (".claude/agents", "agents"),
    (".github/agents", "agents"),
    (".claude/commands", "commands"),
    (".claude/skills", "skills"),
    (".github/skills", "skills"),
];

pub(super) fn checks(scene: &Scene) -> Vec<Check> {
    let mut checks = instructions(scene);
    checks.extend(later(&scene.top));
    checks.push(trust(&scene.top));
    checks
}

fn instructions(scene: &Scene) -> Vec<Check> {
    let home = scene.home.as_deref().unwrap_or(Path::new(NO_HOME));
    let Instructions { files, notices } = Instructions::read(&scene.cwd, home);
    let names: Vec<String> = files.iter().map(|file| shown(&file.path, &scene.cwd)).collect();
    let found = if names.is_empty() {
        "no AGENTS.md, CLAUDE.md or copilot-instructions.md".to_owned()
    } else {
        names.join(", ")
    };
    let noticed = notices.into_iter().map(|notice| {
        let text = format!("{}: {}", shown(&notice.path, &scene.cwd), notice.text);
        Check::warn("instructions", text, "shorten the file, or make it readable")
    });
    std::iter::once(Check::ok("instructions", found)).chain(noticed).collect()
}

fn later(top: &Path) -> Option<Check> {
    let found = LATER.iter().filter(|(path, _)| top.join(path).exists());
    let found: Vec<String> = found.map(|(path, what)| format!("{path} ({what})")).collect();
    (!found.is_empty()).then(|| Check::ok("later", format!("{}: found, not used yet; comes later", found.join(", "))))
}

/// Which files of the project control an agent.
fn trust(top: &Path) -> Check {
    let found: Vec<&str> = CONTROLS.into_iter().filter(|path| top.join(path).exists()).collect();
    if found.is_empty() {
        return Check::ok("trust", format!("{} has no files that control an agent", top.display()));
    }
    Check::ok("trust", format!("{} has files that control an agent: {}", top.display(), found.join(", ")))
}

/// A path as short as it can be said.
fn shown(path: &Path, cwd: &Path) -> String {
    path.strip_prefix(cwd).map_or_else(|_elsewhere| PathBuf::from(path), Path::to_owned).display().to_string()
}
