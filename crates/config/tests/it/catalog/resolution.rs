//! Which definition of a name is used, and which files are ignored.

use std::fs;
use std::os::unix::fs::symlink;

use config::{DescriptionOverflow, Severity};
use protocol::{DefinitionSource, SpawnPolicy};

use super::{Asked, Machine, agent};

#[test]
fn every_place_is_searched_and_the_strongest_of_a_name_counts() {
    let machine = Machine::new();
    let places = [
        "project/.bosun/agents/deep/er/Code Reviewer.md",
        "project/.github/agents/code-reviewer.agent.md",
        "project/.claude/agents/code_reviewer.md",
        "home/agents/code-reviewer.md",
        "user/.copilot/agents/code-reviewer.agent.md",
        "user/.claude/agents/code-reviewer.md",
        "home/plugins/p/agents/code-reviewer.md",
    ];
    for place in places {
        machine.write(place, &agent(place));
    }
    machine.write("home/plugins/p/plugin.json", r#"{"name": "p"}"#);
    let given = r#"{"CODE REVIEWER": {"description": "flag", "prompt": "x"}}"#;
    let catalog = machine.asked(Asked { given: Some(given), ..Asked::default() }).unwrap();
    assert_eq!(catalog.problems, []);
    let order: Vec<&str> = catalog
        .agents
        .iter()
        .filter(|agent| agent.spec.name == "code-reviewer")
        .map(|agent| agent.spec.description.as_str())
        .collect();
    assert_eq!(order, [&["flag"], &places[..]].concat());
    assert_eq!(catalog.agent("Code_Reviewer").unwrap().spec.source, DefinitionSource::Flag);
    let shadowed: Vec<_> = catalog.agents.iter().filter_map(|agent| agent.shadowed_by.clone()).collect();
    assert_eq!(shadowed, vec![DefinitionSource::Flag; places.len()]);
}

#[test]
fn file_can_replace_a_built_in_agent() {
    let machine = Machine::new();
    machine.write("user/.claude/agents/explore.md", &agent("mine"));
    let catalog = machine.catalog();
    assert_eq!(catalog.agent("explore").unwrap().spec.description, "mine");
    let built_in = catalog.agents.iter().find(|agent| agent.spec.source == DefinitionSource::BuiltIn).unwrap();
    assert!(matches!(built_in.shadowed_by, Some(DefinitionSource::User { .. })));
    assert_eq!(catalog.effective().count(), 8);
}

#[test]
fn role_defines_which_agents_it_may_start() {
    let machine = Machine::new();
    let written = [
        ("all", "", SpawnPolicy::Any),
        ("listed", "tools: [Read, Task]", SpawnPolicy::Any),
        ("without", "tools: [Read, Bash]", SpawnPolicy::None),
        ("nothing", "tools: []", SpawnPolicy::None),
        (
            "some",
            "tools: Read, Agent(Explore, code_review)",
            SpawnPolicy::Only(vec!["explore".into(), "code-review".into()]),
        ),
        ("forbidden", "disallowedTools: Task", SpawnPolicy::None),
        ("plan", "permissionMode: plan", SpawnPolicy::None),
        ("stated", "spawns: [explore]", SpawnPolicy::Only(vec!["explore".into()])),
    ];
    for (name, line, _) in &written {
        let text = format!("---\ndescription: x\n{line}\n---\nDo it.\n");
        machine.write(&format!("project/.bosun/agents/{name}.md"), &text);
    }
    let catalog = machine.catalog();
    assert_eq!(catalog.problems, []);
    for (name, line, spawns) in written {
        assert_eq!(catalog.agent(name).unwrap().spec.spawns, spawns, "{line}");
    }
}

#[test]
fn definition_says_where_its_runs_take_place() {
    let machine = Machine::new();
    for (name, line) in [("own", "place: process"), ("shared", "place: session"), ("silent", "color: red")] {
        let text = format!("---\ndescription: x\n{line}\n---\nDo it.\n");
        machine.write(&format!("project/.bosun/agents/{name}.md"), &text);
    }
    let catalog = machine.catalog();
    let place = |name: &str| catalog.agent(name).unwrap().spec.place.clone();
    assert_eq!(
        (place("own"), place("shared"), place("silent")),
        (Some(protocol::PlaceName::own_process()), None, None)
    );
}

#[test]
fn unsupported_tools_are_left_out_of_an_agent() {
    let machine = Machine::new();
    let text = "---\ndescription: x\nmcp-servers:\n  db:\n    command: db\nisolation: remote\ngithub:\n  permissions: read\ntools: [read, 'github/*', search/codebase, mcp__db__query]\n\
                ---\nDo it.\n";
    machine.write("project/.github/agents/wants.agent.md", text);
    let catalog = machine.catalog();
    let spec = &catalog.agent("wants").unwrap().spec;
    let tools = ["view", "mcp__github__*", "grep", "glob", "mcp__db__query"];
    assert_eq!(spec.tools.as_deref().unwrap(), tools, "a session may have these MCP servers");
    assert_eq!(spec.unsupported.len(), 1, "{:?}", spec.unsupported);
    assert!(spec.unsupported[0].contains("isolation: remote"), "{:?}", spec.unsupported);
    let warned: Vec<&str> = catalog.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert!(warned.len() == 1 && catalog.problems[0].severity == Severity::Warning, "{warned:?}");
    assert!(warned[0].contains("`github` is not used"), "{warned:?}");
}

#[test]
fn definition_from_a_client_keeps_its_mcp_tools() {
    let given = r#"{"counter": {"description": "x", "prompt": "x", "tools": ["Read", "mcp__calc__add"]}}"#;
    let catalog = Machine::new().asked(Asked { given: Some(given), ..Asked::default() }).unwrap();
    let spec = &catalog.agent("counter").unwrap().spec;
    assert_eq!(
        (spec.tools.as_deref(), spec.unsupported.len()),
        (Some(&["view".into(), "mcp__calc__add".into()][..]), 0)
    );
}

#[test]
fn files_of_an_untrusted_project_are_reported_and_ignored() {
    let machine = Machine::new();
    machine.write("project/.github/agents/evil.agent.md", &agent("x"));
    machine.write("project/.claude/skills/evil/SKILL.md", &agent("x"));
    machine.write("project/.github/hooks/evil.json", r#"{"hooks": {}}"#);
    machine.write("project/.claude/settings.json", r#"{"hooks": {"Stop": []}}"#);
    machine.write("home/agents/mine.md", &agent("x"));
    let catalog = machine.asked(Asked { untrusted: true, ..Asked::default() }).unwrap();
    assert!(catalog.agent("evil").is_none() && catalog.agent("mine").is_some());
    assert!(catalog.skills.is_empty() && catalog.hooks.is_empty());
    assert_eq!(catalog.problems.len(), 4);
    for problem in &catalog.problems {
        assert_eq!(problem.severity, Severity::Untrusted);
        assert!(problem.remedy.contains("bosun trust"), "{problem}");
    }
    assert_eq!(machine.catalog().hooks.len(), 2);
}

#[test]
fn hooks_forbidden_by_managed_settings_are_ignored() {
    let machine = Machine::new();
    machine.write("home/hooks/mine.json", r#"{"hooks": {}}"#);
    let no_hooks = Some("/etc/bosun/managed.toml".into());
    let catalog = machine.asked(Asked { no_hooks, ..Asked::default() }).unwrap();
    assert!(catalog.hooks.is_empty());
    assert!(catalog.problems[0].message.contains("/etc/bosun/managed.toml"), "{:?}", catalog.problems);
}

#[test]
fn forbidding_hooks_includes_hooks_of_agents() {
    let machine = Machine::new();
    let hooked = "---\nname: mine\ndescription: x\nhooks:\n  Stop:\n    - hooks:\n        - type: command\n          \
                  command: evil\n---\nWork.\n";
    machine.write("home/agents/mine.md", hooked);
    assert!(machine.catalog().agent("mine").unwrap().hooks.is_some());
    let no_hooks = Some("/etc/bosun/managed.toml".into());
    let catalog = machine.asked(Asked { no_hooks, ..Asked::default() }).unwrap();
    assert_eq!(catalog.agent("mine").unwrap().hooks, None);
    assert!(catalog.problems[0].message.contains("/etc/bosun/managed.toml"), "{:?}", catalog.problems);
}

#[test]
fn file_that_only_disables_hooks_is_read() {
    let machine = Machine::new();
    machine.write("user/.claude/settings.json", r#"{"disableAllHooks": true}"#);
    assert_eq!(machine.catalog().hooks.len(), 1);
}

#[test]
fn only_links_of_the_user_are_followed() {
    let machine = Machine::new();
    machine.write("elsewhere/linked.md", &agent("x"));
    machine.write("project/.claude/agents/real.md", &agent("x")).write("user/.claude/agents/real.md", &agent("y"));
    symlink(machine.path("elsewhere/linked.md"), machine.path("project/.claude/agents/stolen.md")).unwrap();
    symlink(machine.path("elsewhere"), machine.path("user/.claude/agents/more")).unwrap();
    // A loop of links in the user's folder does not hang.
    symlink(machine.path("user/.claude/agents"), machine.path("elsewhere/loop")).unwrap();
    symlink("loop2", machine.path("elsewhere/loop2")).unwrap();
    let catalog = machine.catalog();
    assert!(catalog.agent("linked").is_some() && catalog.agent("stolen").is_none());
    let told: Vec<String> =
        catalog.problems.iter().map(|it| format!("{}: {}", it.file.display(), it.message)).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("stolen.md: it is a link"), "{told:?}");
    assert!(told[1].contains("loop2: it cannot be read"), "{told:?}");
}

#[test]
fn too_large_folder_is_reported() {
    let machine = Machine::new();
    let folder = machine.path("project/.claude/agents");
    fs::create_dir_all(&folder).unwrap();
    for n in 0..1_001 {
        fs::write(folder.join(format!("{n}.txt")), "").unwrap();
    }
    machine.write("project/.github/agents/1/2/3/4/5/6/7/8/9/deep.md", &agent("x"));
    let told: Vec<String> = machine.catalog().problems.iter().map(|it| it.message.clone()).collect();
    assert!(told.iter().any(|words| words.contains("more than 1000 files")), "{told:?}");
    assert!(told.iter().any(|words| words.contains("nested too deep")), "{told:?}");
}

#[test]
fn missing_referenced_agent_or_skill_is_reported() {
    let machine = Machine::new();
    let text = "---\ndescription: x\nskills: [gone]\ntools: Agent(explore, nobody)\n---\nDo it.\n";
    machine.write("home/agents/lead.md", text);
    let told: Vec<String> = machine.catalog().problems.iter().map(|it| it.message.clone()).collect();
    let (skill, agent) = ("agent `lead` names the skill `gone`", "agent `lead` names the agent `nobody`");
    assert_eq!(told, [format!("{skill}, which does not exist"), format!("{agent}, which does not exist")]);
}

#[test]
fn total_length_of_descriptions_is_checked() {
    let machine = Machine::new();
    machine.write("home/agents/long.md", &agent(&"word ".repeat(4_000)));
    let catalog = machine.catalog();
    let specs = || catalog.effective().map(|agent| &agent.spec);
    let pressure = DescriptionOverflow::measure(specs(), 15_000).unwrap();
    assert_eq!((pressure.largest[0].0.as_str(), pressure.threshold), ("long", 15_000));
    assert_eq!(DescriptionOverflow::measure(specs(), 30_000), None);
}

#[test]
fn skills_of_named_folders_come_before_all_others() {
    let machine = Machine::new();
    machine.write("project/.claude/skills/pdf/SKILL.md", &agent("of the project"));
    machine.write("named/pdf/SKILL.md", &agent("of a named folder"));
    let missing = machine.path("missing");
    let catalog =
        machine.asked(Asked { skill_dirs: vec![missing, machine.path("named")], ..Asked::default() }).unwrap();
    let skills: Vec<_> = catalog.effective_skills().map(|skill| skill.spec.description.as_str()).collect();
    assert_eq!(skills, ["of a named folder"]);
}
