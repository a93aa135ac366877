//! Rules without a lint: one crate for each dangerous dependency, one list of environment variables, and what the runs
//! of agents may know.

use std::collections::BTreeSet;

use super::layers::Package;
use crate::sources::{ByteKind, SourceFile, only, words};

/// Dependencies that only one crate may use.
const HOMES: [(&str, &str); 6] = [
    ("rusqlite", "store"),
    ("nix", "host"),
    ("rustix", "host"),
    ("signal-hook", "host"),
    ("reqwest", "net"),
    ("rustls", "net"),
];

/// Unwanted dependencies: each needs more than Rust and a C compiler to build.
const UNWANTED: [&str; 3] = ["aws-lc-sys", "openssl-sys", "cmake"];

/// The file that declares all our environment variables.
const ENV: &str = "crates/config/src/env.rs";

/// The code of agents' runs, also of those in other processes.
const RUNS: [&str; 3] = [
    "crates/runtime/src/agent",
    "crates/runtime/src/remote_run/process.rs",
    "crates/runtime/src/remote_run/remote_session.rs",
];

/// What a run does not know: it asks its session with requests, so that it can be in another process.
const SESSION_ONLY: [&str; 7] =
    ["SessionContext", "SessionLog", "SessionReader", "LocalSession", "Supervisor", "KernelInput", "KernelTask"];

/// Every broken rule.
pub(super) fn faults(packages: &[Package], sources: &[SourceFile]) -> Vec<String> {
    [homes(packages), unsafe_code(sources), environment(sources), runs(sources)].concat()
}

/// Names of the session's own types in the code of runs.
fn runs(sources: &[SourceFile]) -> Vec<String> {
    let of_runs = sources.iter().filter(|source| RUNS.iter().any(|path| source.path.starts_with(path)));
    let found = of_runs.flat_map(|source| {
        let code = only(&source.text, &[ByteKind::Code]);
        let named: BTreeSet<&str> = words(&code).filter(|word| SESSION_ONLY.contains(word)).collect();
        let fault = |name: &str| {
            format!("runs: {} must not name {name}; add a request to runtime/src/run_requests", source.path.display())
        };
        named.into_iter().map(fault).collect::<Vec<_>>()
    });
    found.collect()
}

fn homes(packages: &[Package]) -> Vec<String> {
    let mut faults = Vec::new();
    // xtask measures processes, and is not shipped.
    for package in packages.iter().filter(|package| package.name != "xtask") {
        for (name, home) in HOMES {
            if package.name != home && package.dependencies.iter().any(|dependency| dependency.name == name) {
                faults.push(format!("home: {} must not name {name}: only {home} does", package.name));
            }
        }
    }
    faults
}

/// Reports unwanted dependencies in the lock file.
pub(super) fn locked(lock: &str) -> Vec<String> {
    let is_locked = |name: &&&str| lock.lines().any(|line| line == format!("name = \"{name}\""));
    UNWANTED.iter().filter(is_locked).map(|name| format!("lock: {name} must not be depended on")).collect()
}

fn unsafe_code(sources: &[SourceFile]) -> Vec<String> {
    let found = sources.iter().filter(|source| source.owner() != "host").filter_map(|source| {
        let code = only(&source.text, &[ByteKind::Code]);
        let line = code.lines().position(|line| words(line).any(|word| word == "unsafe"))?;
        Some(format!("unsafe: {}:{} is outside host", source.path.display(), line + 1))
    });
    found.collect()
}

/// Compares the variables that shipped sources name with the declared ones; tests are excluded.
fn environment(sources: &[SourceFile]) -> Vec<String> {
    let declared = sources.iter().find(|source| source.path == std::path::Path::new(ENV));
    if declared.is_none() && is_skeleton(sources) {
        return Vec::new();
    }
    let declared: BTreeSet<&str> = declared.map(|source| variables(&source.text)).unwrap_or_default();
    let mut faults = Vec::new();
    for source in sources.iter().filter(|source| is_shipped(source)) {
        let text = only(&source.text, &[ByteKind::Code, ByteKind::Literal]);
        for name in variables(&text).difference(&declared) {
            faults.push(format!("environment: {} names {name}, which {ENV} does not declare", source.path.display()));
        }
    }
    faults
}

fn is_shipped(source: &SourceFile) -> bool {
    source.path.starts_with("crates") && !source.path.iter().any(|part| part == "tests")
}

/// Whether the crate that declares variables is still empty.
fn is_skeleton(sources: &[SourceFile]) -> bool {
    let config = sources.iter().filter(|source| source.owner() == "config");
    config.map(|source| source.text.lines().count()).sum::<usize>() < 10
}

fn variables(text: &str) -> BTreeSet<&str> {
    words(text).filter(|word| word.strip_prefix("BOSUN_").is_some_and(|rest| !rest.is_empty())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::layers;

    fn source(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.into(), text: text.into() }
    }

    #[test]
    fn a_dependency_outside_its_home_is_named() {
        let metadata = r#"{ "packages": [
            { "name": "bosun-runtime", "dependencies": [{ "name": "rusqlite", "kind": null }] },
            { "name": "bosun-store", "dependencies": [{ "name": "rusqlite", "kind": null }] },
            { "name": "bosun-tools", "dependencies": [{ "name": "nix", "kind": "dev" }] },
            { "name": "xtask", "dependencies": [{ "name": "nix", "kind": null }] }
        ] }"#;
        assert_eq!(
            homes(&layers::read(metadata).unwrap()),
            ["home: runtime must not name rusqlite: only store does", "home: tools must not name nix: only host does"]
        );
    }

    #[test]
    fn a_dependency_that_is_hard_to_build_is_named() {
        let lock = "[[package]]\nname = \"cmake\"\n[[package]]\nname = \"ring\"\ndependencies = [\n \"aws-lc-sys\",\n]";
        assert_eq!(locked(lock), ["lock: cmake must not be depended on"]);
    }

    #[test]
    fn a_run_that_names_its_session_is_found() {
        let quiet = source("crates/runtime/src/agent/a.rs", "// a Supervisor\nuse crate::supervisor::InputRejection;");
        let loud = source("crates/runtime/src/agent/b.rs", "fn f(supervisor: &Supervisor) {}");
        let remote = source("crates/runtime/src/remote_run/process.rs", "fn f(log: &SessionReader) {}");
        let session = source("crates/runtime/src/session/c.rs", "use crate::supervisor::Supervisor;");
        assert_eq!(
            runs(&[quiet, loud, remote, session]),
            [
                "runs: crates/runtime/src/agent/b.rs must not name Supervisor; \
                 add a request to runtime/src/run_requests",
                "runs: crates/runtime/src/remote_run/process.rs must not name SessionReader; \
                 add a request to runtime/src/run_requests"
            ]
        );
    }

    #[test]
    fn unsafe_is_found_in_code_and_not_in_words() {
        let quiet = source("crates/tools/src/a.rs", "// unsafe\n#![deny(unsafe_code)]\nlet a = \"unsafe\";");
        let loud = source("crates/tools/src/b.rs", "\nfn f() { unsafe { g() } }");
        let home = source("crates/host/src/c.rs", "unsafe { g() }");
        assert_eq!(unsafe_code(&[quiet, loud, home]), ["unsafe: crates/tools/src/b.rs:2 is outside host"]);
    }

    #[test]
    fn a_variable_that_is_not_declared_is_named() {
        let list = source(ENV, "pub const HOME: &str = \"BOSUN_HOME\";\n");
        let used = source("crates/cli/src/main.rs", "f(\"BOSUN_HOME\"); g(\"BOSUN_SECRET\") // BOSUN_COMMENT");
        assert_eq!(
            environment(&[list, used]),
            ["environment: crates/cli/src/main.rs names BOSUN_SECRET, which crates/config/src/env.rs does not declare"]
        );
    }

    #[test]
    fn the_list_may_be_missing_only_while_its_crate_is_empty() {
        let used = || source("crates/cli/src/main.rs", "f(\"BOSUN_HOME\")");
        assert!(environment(&[source("crates/config/src/lib.rs", "//! Settings.\n"), used()]).is_empty());
        assert_eq!(environment(&[source("crates/config/src/lib.rs", &"\n".repeat(50)), used()]).len(), 1);
    }
}
