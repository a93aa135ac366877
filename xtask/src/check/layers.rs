//! Which crate may depend on which: the layers of ARCHITECTURE.md as data, compared with the manifests.

use anyhow::{Context, Result};
use serde_json::Value;

/// The crates by layer. A crate depends only on crates of a lower number.
const LAYERS: [&[&str]; 7] = [
    &["protocol"],
    &["host", "net", "rpc", "shell-parser"],
    &["kernel", "store", "client", "model", "tools", "policy", "hooks", "git"],
    &["runtime", "fleet", "mcp", "remote"],
    &["server", "config"],
    &["tui", "adapters", "dashboard"],
    &["cli", "sdk"],
];

/// Crates that may use less than their layer allows, and what they may use.
const NARROW: [(&str, &[&str]); 4] = [
    ("kernel", &["protocol"]),
    ("policy", &["protocol", "shell-parser"]),
    ("tui", &["protocol", "rpc", "host", "client"]),
    ("dashboard", &["protocol", "rpc"]),
];

/// Dependencies within a layer: clients read a session's file in the same way as its owner, and a fleet works in a session
/// of the runtime.
const SIDEWAYS: [(&str, &str); 2] = [("client", "store"), ("fleet", "runtime")];

/// The crates that use the store: every other crate reaches sessions through `client`. A fleet belongs to the process that
/// runs its session, reads its log, and keeps its results.
const STORE_USERS: [&str; 3] = ["client", "runtime", "fleet"];

/// Crates for development only; they may use anything, and are not shipped.
const DEV_ONLY: [&str; 2] = ["testkit", "xtask"];

/// A crate of the workspace and its dependencies.
pub(super) struct Package {
    pub(super) name: String,
    pub(super) dependencies: Vec<Dependency>,
}

/// A dependency. Our own crates have their short names.
pub(super) struct Dependency {
    pub(super) name: String,
    ours: bool,
    dev: bool,
}

/// Parses the output of `cargo metadata --no-deps`.
pub(super) fn read(metadata: &str) -> Result<Vec<Package>> {
    let metadata: Value = serde_json::from_str(metadata).context("cargo metadata is not JSON")?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    Ok(packages.iter().map(package).collect())
}

fn package(value: &Value) -> Package {
    let dependencies = value["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    let dependencies = dependencies.iter().map(|dependency| Dependency {
        name: short(&dependency["name"]),
        ours: dependency["path"].is_string(),
        dev: dependency["kind"] == "dev",
    });
    Package { name: short(&value["name"]), dependencies: dependencies.collect() }
}

fn short(name: &Value) -> String {
    let name = name.as_str().unwrap_or_default();
    name.strip_prefix("bosun-").unwrap_or(name).to_owned()
}

/// Every dependency that the layers do not allow.
pub(super) fn faults(packages: &[Package]) -> Vec<String> {
    packages.iter().flat_map(package_faults).collect()
}

fn package_faults(package: &Package) -> Vec<String> {
    let name = package.name.as_str();
    if DEV_ONLY.contains(&name) {
        return Vec::new();
    }
    let Some(from) = layer(name) else {
        return vec![format!(
            "layer: {name} is in no layer: add it to ARCHITECTURE.md and to xtask/src/check/layers.rs"
        )];
    };
    let ours = package.dependencies.iter().filter(|dependency| dependency.ours);
    ours.filter_map(|to| edge_fault(package, from, to)).collect()
}

fn edge_fault(package: &Package, from: usize, to: &Dependency) -> Option<String> {
    let name = &package.name;
    if to.name == "store" && !STORE_USERS.contains(&name.as_str()) {
        return Some(format!("layer: {name} ({from}) must not depend on store: it reaches sessions through client"));
    }
    if to.dev {
        let shipped = package.dependencies.iter().any(|other| !other.dev && other.name == to.name);
        let allowed = to.name == "testkit" || shipped;
        return (!allowed).then(|| {
            format!("layer: {name} ({from}) must not dev-depend on {}: only testkit is added for tests", to.name)
        });
    }
    let Some(layer) = layer(&to.name) else {
        return Some(format!("layer: {name} ({from}) must not depend on {} (dev-only)", to.name));
    };
    let narrow = NARROW.iter().find(|(narrow, _)| narrow == name);
    let is_below = layer < from || SIDEWAYS.contains(&(name, &to.name));
    let allowed = is_below && narrow.is_none_or(|(_, allowed)| allowed.contains(&to.name.as_str()));
    (!allowed).then(|| format!("layer: {name} ({from}) must not depend on {} ({layer})", to.name))
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The faults of a workspace with one crate, whose edges are `(name, kind)`.
    fn faults_of(name: &str, edges: &[(&str, Option<&str>)]) -> Vec<String> {
        let path = |name: &str| name.starts_with("bosun-").then(|| format!("/repo/{name}"));
        let edges: Vec<_> =
            edges.iter().map(|(name, kind)| json!({ "name": name, "kind": kind, "path": path(name) })).collect();
        let metadata = json!({ "packages": [{ "name": name, "dependencies": edges }] });
        faults(&read(&metadata.to_string()).unwrap())
    }

    #[test]
    fn an_edge_the_wrong_way_is_named() {
        let kernel = faults_of("bosun-kernel", &[("bosun-protocol", None), ("bosun-git", None), ("thiserror", None)]);
        assert_eq!(kernel, ["layer: kernel (2) must not depend on git (2)"]);
        let host = faults_of("bosun-host", &[("bosun-runtime", None)]);
        assert_eq!(host, ["layer: host (1) must not depend on runtime (3)"]);
        let protocol = faults_of("bosun-protocol", &[("bosun-rpc", Some("build"))]);
        assert_eq!(protocol, ["layer: protocol (0) must not depend on rpc (1)"]);
    }

    #[test]
    fn the_client_uses_the_store_and_no_other_crate_of_its_layer() {
        assert!(faults_of("bosun-client", &[("bosun-store", None), ("bosun-rpc", None)]).is_empty());
        let model = faults_of("bosun-client", &[("bosun-model", None)]);
        assert_eq!(model, ["layer: client (2) must not depend on model (2)"]);
        let store = faults_of("bosun-store", &[("bosun-client", None)]);
        assert_eq!(store, ["layer: store (2) must not depend on client (2)"]);
    }

    #[test]
    fn a_fleet_uses_the_runtime_and_the_runtime_does_not_know_it() {
        assert!(faults_of("bosun-fleet", &[("bosun-runtime", None), ("bosun-store", None)]).is_empty());
        let runtime = faults_of("bosun-runtime", &[("bosun-fleet", None)]);
        assert_eq!(runtime, ["layer: runtime (3) must not depend on fleet (3)"]);
        let mcp = faults_of("bosun-mcp", &[("bosun-fleet", None)]);
        assert_eq!(mcp, ["layer: mcp (3) must not depend on fleet (3)"]);
    }

    #[test]
    fn only_the_owner_of_a_session_and_the_client_open_its_file() {
        for name in ["cli", "adapters", "sdk", "server", "config", "tui"] {
            for kind in [None, Some("dev")] {
                let faults = faults_of(&format!("bosun-{name}"), &[("bosun-store", kind)]);
                assert_eq!(faults.len(), 1, "{name} {kind:?}: {faults:?}");
                assert!(faults[0].ends_with("must not depend on store: it reaches sessions through client"));
            }
        }
        assert!(faults_of("bosun-runtime", &[("bosun-store", None), ("bosun-client", None)]).is_empty());
    }

    #[test]
    fn narrow_crates_use_less_than_their_layer_allows() {
        assert_eq!(
            faults_of("bosun-kernel", &[("bosun-host", None)]),
            ["layer: kernel (2) must not depend on host (1)"]
        );
        assert_eq!(faults_of("bosun-tui", &[("bosun-git", None)]), ["layer: tui (5) must not depend on git (2)"]);
        assert!(faults_of("bosun-tui", &[("bosun-client", None), ("bosun-host", None)]).is_empty());
        assert_eq!(
            faults_of("bosun-tui", &[("bosun-runtime", None), ("bosun-config", None)]),
            ["layer: tui (5) must not depend on runtime (3)", "layer: tui (5) must not depend on config (4)"]
        );
        assert!(faults_of("bosun-dashboard", &[("bosun-protocol", None), ("bosun-rpc", None)]).is_empty());
    }

    #[test]
    fn tests_add_the_test_kit_and_nothing_else_of_ours() {
        assert!(faults_of("bosun-tools", &[("bosun-testkit", Some("dev")), ("insta", Some("dev"))]).is_empty());
        assert!(faults_of("bosun-tools", &[("bosun-host", None), ("bosun-host", Some("dev"))]).is_empty());
        assert_eq!(
            faults_of("bosun-tools", &[("bosun-testkit", None)]),
            ["layer: tools (2) must not depend on testkit (dev-only)"]
        );
        assert_eq!(
            faults_of("bosun-tools", &[("bosun-runtime", Some("dev"))]),
            ["layer: tools (2) must not dev-depend on runtime: only testkit is added for tests"]
        );
    }

    #[test]
    fn a_crate_without_a_layer_is_named() {
        assert!(faults_of("bosun-nowhere", &[])[0].starts_with("layer: nowhere is in no layer"));
        assert!(faults_of("bosun-testkit", &[("bosun-runtime", None)]).is_empty());
    }
}
