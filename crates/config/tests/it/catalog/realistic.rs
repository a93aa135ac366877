//! Realistic definitions, for Claude, for Copilot and for Bosun.

use std::path::{Path, PathBuf};

use config::{CatalogListing, CatalogLocations, HookHolder, RemoteDefinitions, Severity, TrustStatus, gather_catalog};
use protocol::{
    DefinitionSource, Isolation, ModelPreference, PermissionMode, ReasoningEffort, SettingsFileScope, SpawnPolicy,
};

fn wild() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wild")
}

fn catalog() -> CatalogListing {
    let wild = wild();
    gather_catalog(&CatalogLocations {
        home: &wild.join("home"),
        user_home: Some(&wild.join("user")),
        project_dir: &wild.join("project"),
        trust: TrustStatus::Trusted,
        scopes: &SettingsFileScope::ALL,
        plugins: &[wild.join("plugins/quality"), wild.join("plugins/flat")],
        skill_dirs: &[],
        inline: &[],
        remote: RemoteDefinitions::default(),
        hooks_forbidden_by: None,
    })
    .unwrap()
}

#[test]
fn realistic_files_of_both_products_load() {
    let catalog = catalog();
    let custom = catalog.agents.iter().filter(|agent| agent.spec.source != DefinitionSource::BuiltIn);
    assert_eq!(
        custom.clone().map(|agent| agent.spec.name.as_str()).collect::<Vec<_>>().join(" "),
        "cheap gatekeeper accessibility docs-writer implementer planner second-opinion api-designer code-reviewer coordinator db-admin debugger refactorer release-notes test-runner nightly mentor sql-helper writing-coach qa linter"
    );
    let skills: Vec<&str> = catalog.skills.iter().map(|skill| skill.spec.name.as_str()).collect();
    assert_eq!(skills.join(" "), "triage changelog pdf deploy own standup commit notes fuzz lint");
    let slashes: Vec<&str> = catalog.slash_commands.iter().map(|slash| slash.spec.name.as_str()).collect();
    assert_eq!(slashes, ["toolbox:fix"]);
    let plugins: Vec<&str> = catalog.plugins.iter().map(|plugin| plugin.name.as_str()).collect();
    assert_eq!(plugins, ["quality", "flat", "toolbox"]);
    assert!(custom.clone().all(|agent| agent.shadowed_by.is_none()));
    assert!(custom.count() + skills.len() + plugins.len() >= 30);
    // Every ignored part is reported with its line, and no definition is dropped.
    let told: Vec<String> = catalog
        .problems
        .iter()
        .map(|problem| {
            assert_eq!(problem.severity, Severity::Warning, "{problem}");
            let name = problem.file.file_name().unwrap().to_string_lossy().into_owned();
            format!("{name}:{}: {}", problem.at.map_or(0, |at| at.line), problem.message)
        })
        .collect();
    assert_eq!(
        told,
        [
            "accessibility.md:9: `github` is not used by this version",
            "api-designer.md:6: `memory` is not supported in this version",
            "test-runner.md:3: this is not YAML, so each line is read as a key and its text",
            "sql-helper.md:9: the effort `xhigh` is taken as high",
        ]
    );
}

#[test]
fn agents_have_the_values_of_their_files() {
    let catalog = catalog();
    let of = |name: &str| &catalog.agent(name).unwrap().spec;
    let tools = |name: &str| of(name).tools.as_ref().map(|tools| tools.join(" "));
    assert_eq!(tools("code-reviewer").as_deref(), Some("view grep glob shell"));
    assert_eq!(of("code-reviewer").models, ["sonnet"]);
    assert_eq!(tools("planner").as_deref(), Some("view grep glob web_fetch sql task"));
    assert_eq!(of("planner").models, ["Claude Sonnet 4.5", "GPT-5 (copilot)"]);
    assert_eq!((tools("docs-writer"), of("docs-writer").model_invocable), (None, false));
    assert_eq!(tools("mentor").as_deref(), Some(""));
    assert_eq!(of("coordinator").spawns, SpawnPolicy::Only(vec!["code-reviewer".into(), "explore".into()]));
    assert_eq!(tools("coordinator").as_deref(), Some("task sql"));
    assert!(of("test-runner").description.contains("user: \"does it still work?\""));
    assert_eq!(of("debugger").description.lines().count(), 1);
    assert_eq!((of("release-notes").permission, of("release-notes").max_turns), (Some(PermissionMode::Plan), Some(12)));
    assert_eq!((of("api-designer").effort, &of("api-designer").models), (Some(ReasoningEffort::High), &vec![]));
    assert_eq!(
        (of("second-opinion").user_invocable, of("second-opinion").effort),
        (false, Some(ReasoningEffort::High))
    );
    assert_eq!(of("gatekeeper").denied, ["edit", "create", "apply_patch", "task"]);
    assert_eq!((of("gatekeeper").model_invocable, &of("gatekeeper").spawns), (false, &SpawnPolicy::None));
    assert_eq!((of("cheap").budget.micros, of("cheap").budget.tokens), (Some(50_000), Some(40_000)));
    assert_eq!(
        (of("cheap").model_preference, &of("cheap").spawns),
        (ModelPreference::Small, &SpawnPolicy::Only(vec!["explore".into()]))
    );
    assert_eq!(of("writing-coach").prompt, "Be kind and exact.");
    assert_eq!((of("nightly").background, of("nightly").models.len()), (true, 2));
    assert!(["db-admin", "accessibility", "refactorer"].iter().all(|name| of(name).unsupported.is_empty()));
    assert_eq!(of("refactorer").isolation, Some(Isolation::Worktree { base: None, dirty: false }));
    assert_eq!(of("refactorer").skills, ["changelog"]);
    assert!(matches!(&of("linter").source, DefinitionSource::Plugin { plugin, .. } if plugin == "toolbox"));
}

#[test]
fn skills_and_hooks_are_found_with_their_content() {
    let catalog = catalog();
    let of = |name: &str| &catalog.skills.iter().find(|skill| skill.spec.name == name).unwrap().spec;
    assert_eq!(of("commit").allowed_tools, ["Bash(git add:*)", "Bash(git commit:*)"]);
    assert_eq!((of("deploy").model_invocable, of("notes").user_invocable), (false, false));
    let fix = &catalog.slash_commands[0].spec;
    assert_eq!((fix.hint.as_deref(), fix.allowed_tools.len()), (Some("[file]"), 1));
    assert!(of("pdf").file.ends_with("skills/pdf/SKILL.md"));
    let hooks: Vec<(String, bool)> = catalog
        .hooks
        .iter()
        .map(|text| (text.file.file_name().unwrap().to_string_lossy().into_owned(), text.plugin.is_some()))
        .collect();
    let expected = [("audit.json", false), ("settings.json", false), ("plugin.json", true), ("hooks.json", true)];
    assert_eq!(hooks, expected.map(|(name, plugin)| (name.to_owned(), plugin)));
    assert_eq!(catalog.hooks[1].holder, HookHolder::Settings);
    let own = catalog.agent("refactorer").unwrap().hooks.as_ref().unwrap();
    assert!(own.text.contains("./scripts/guard.sh") && own.holder == HookHolder::Agent("refactorer".into()));
}
