//! Versions, the environment and the terminal.

use std::fs;
use std::path::Path;

use super::sandbox::release;
use super::{DoctorCheck, DoctorContext};
use crate::print;

/// Variables that say where providers are and how other machines are reached.
const NETWORK_VARIABLES: [&str; 11] = [
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "ANTHROPIC_BASE_URL",
    "OPENAI_BASE_URL",
    "OLLAMA_HOST",
];

/// The variable that makes Bosun fail on order.
const FAULT: &str = config::FAULT;

pub(super) fn checks(scene: &DoctorContext) -> Vec<DoctorCheck> {
    let mut checks = vec![versions(), environment(scene)];
    checks.extend(certificates(scene));
    checks.extend(fault(scene));
    checks.push(terminal(scene));
    checks
}

fn versions() -> DoctorCheck {
    let (form, sqlite) = store::sqlite_version();
    let text = format!(
        "bosun {}, sessions of form {form}, SQLite {sqlite}, {}, kernel {}",
        env!("CARGO_PKG_VERSION"),
        system(),
        release()
    );
    DoctorCheck::ok("versions", text)
}

fn system() -> String {
    let file = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = file.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.map_or_else(|| "an unknown system".to_owned(), |name| print::one_line(name.trim_matches('"'), 60))
}

/// Which variables are set; a proxy's value may hold a password and is not shown.
fn environment(scene: &DoctorContext) -> DoctorCheck {
    let set = |name: &&str| scene.env.text(name).is_some();
    let mut names: Vec<&str> = scene.env.names("BOSUN_");
    names.sort_unstable();
    names.extend(NETWORK_VARIABLES.iter().filter(|name| set(name)));
    names.extend(["SSL_CERT_FILE", "SSL_CERT_DIR", "NO_COLOR"].iter().filter(|name| set(name)));
    let names = if names.is_empty() { "nothing that Bosun heeds".to_owned() } else { names.join(", ") };
    DoctorCheck::ok("environment", format!("set: {names}"))
}

fn certificates(scene: &DoctorContext) -> Vec<DoctorCheck> {
    let gone = |name: &&str| scene.env.text(name).is_some_and(|path| !Path::new(&path).exists());
    let told = |name| {
        DoctorCheck::fail(
            "environment",
            format!("{name} names what does not exist"),
            format!("correct {name}, or unset it"),
        )
    };
    ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter(gone).map(told).collect()
}

fn fault(scene: &DoctorContext) -> Option<DoctorCheck> {
    let text = format!("{FAULT} is set: Bosun fails on order, as its tests need it");
    scene.env.fault.as_ref().map(|_| DoctorCheck::warn("environment", text, format!("unset {FAULT}")))
}

fn terminal(scene: &DoctorContext) -> DoctorCheck {
    let term = scene.env.text("TERM");
    let within = if scene.env.text("TMUX").is_some() { " in tmux" } else { "" };
    match (print::width(), term.as_deref()) {
        (None, _) => DoctorCheck::ok("terminal", "stdout is not a terminal"),
        (Some(_), None | Some("dumb")) => {
            DoctorCheck::warn("terminal", "TERM is unset or dumb", "set TERM, for instance to xterm-256color")
        }
        (Some(width), Some(_)) if width < 60 => {
            DoctorCheck::warn("terminal", format!("{width} columns{within}"), "widen it to 80 columns or more")
        }
        (Some(width), Some(term)) => {
            DoctorCheck::ok("terminal", format!("{width} columns{within}, {}", print::one_line(term, 40)))
        }
    }
}
