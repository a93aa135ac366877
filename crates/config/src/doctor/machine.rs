//! Checks of versions and the environment.

use std::fs;
use std::path::Path;

use protocol::text::one_line;

use super::sandbox::kernel_release;
use super::{DoctorCheck, DoctorContext};

/// Variables that configure provider addresses and proxies.
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

/// The variable that injects faults.
const FAULT: &str = crate::FAULT;

pub(super) fn checks(context: &DoctorContext) -> Vec<DoctorCheck> {
    let mut checks = vec![versions(), environment(context)];
    checks.extend(certificates(context));
    checks.extend(fault(context));
    checks
}

fn versions() -> DoctorCheck {
    let (format_version, sqlite) = client::sqlite_version();
    let text = format!(
        "bosun {}, session format {format_version}, SQLite {sqlite}, {}, kernel {}",
        env!("CARGO_PKG_VERSION"),
        system_name(),
        kernel_release()
    );
    DoctorCheck::ok("versions", text)
}

fn system_name() -> String {
    let file = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = file.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.map_or_else(|| "an unknown system".to_owned(), |name| one_line(name.trim_matches('"'), 60))
}

/// Lists the variables that are set, without values: a proxy may contain a password.
fn environment(context: &DoctorContext) -> DoctorCheck {
    let is_set = |name: &&str| context.env.text(name).is_some();
    let mut names: Vec<&str> = context.env.names_with_prefix("BOSUN_");
    names.sort_unstable();
    names.extend(NETWORK_VARIABLES.iter().filter(|name| is_set(name)));
    names.extend(["SSL_CERT_FILE", "SSL_CERT_DIR", "NO_COLOR"].iter().filter(|name| is_set(name)));
    if names.is_empty() {
        return DoctorCheck::note("environment", "no variable is set that Bosun uses");
    }
    DoctorCheck::ok("environment", format!("set: {}", names.join(", ")))
}

fn certificates(context: &DoctorContext) -> Vec<DoctorCheck> {
    let is_missing = |name: &&str| context.env.text(name).is_some_and(|path| !Path::new(&path).exists());
    let failure = |name| {
        DoctorCheck::fail(
            "environment",
            format!("{name} names a path that does not exist"),
            format!("correct {name}, or unset it"),
        )
    };
    ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter(is_missing).map(failure).collect()
}

fn fault(context: &DoctorContext) -> Option<DoctorCheck> {
    let text = format!("{FAULT} is set: Bosun injects a fault, which only its tests need");
    context.env.fault.as_ref().map(|_| DoctorCheck::warn("environment", text, format!("unset {FAULT}")))
}
