//! Slash commands as files of projects, users and plugins.

use std::os::unix::fs::symlink;

use config::{CatalogListing, Severity};
use protocol::DefinitionSource;

use super::{Asked, Machine};

fn names(catalog: &CatalogListing) -> Vec<&str> {
    catalog.effective_slash_commands().map(|slash| slash.spec.name.as_str()).collect()
}

#[test]
fn every_place_is_searched_and_the_strongest_of_a_name_counts() {
    let machine = Machine::new();
    let places = [
        "project/.bosun/commands/ship.md",
        "project/.github/prompts/ship.prompt.md",
        "project/.claude/commands/Ship.md",
        "home/commands/ship.md",
        "user/.claude/commands/ship.md",
    ];
    for place in places {
        machine.write(place, &format!("---\ndescription: {place}\n---\nShip $ARGUMENTS.\n"));
    }
    machine.write("project/.claude/commands/git/tidy_up.md", "# Tidy up\n\nDo it.\n");
    machine.write("project/.claude/commands/README.md", "Notes.\n");
    machine.write("project/.github/prompts/notes.md", "No prompt.\n");
    machine.write("home/plugins/p/plugin.json", r#"{"name": "My Tools"}"#);
    machine.write("home/plugins/p/commands/ship.md", "Ship it.\n");
    machine.write("home/plugins/p/commands/deep/er.md", "Go deeper.\n");
    let catalog = machine.catalog();
    assert_eq!(catalog.problems, []);
    assert_eq!(names(&catalog), ["ship", "git:tidy-up", "my-tools:deep:er", "my-tools:ship"]);
    let order: Vec<&str> = catalog
        .slash_commands
        .iter()
        .filter(|slash| slash.spec.name == "ship")
        .map(|slash| slash.spec.description.as_str())
        .collect();
    assert_eq!(order, places);
    let tidy = catalog.slash_commands.iter().find(|slash| slash.spec.name == "git:tidy-up").unwrap();
    assert_eq!((tidy.spec.description.as_str(), &tidy.spec.hint), ("Tidy up", &None));
    assert!(matches!(tidy.spec.source, DefinitionSource::Project { .. }));
}

#[test]
fn frontmatter_of_a_command_is_read() {
    let machine = Machine::new();
    let head =
        "---\ndescription: Fixes\nargument-hint: [issue]\nallowed-tools: Bash(git add:*), Read\nagent: Explore\n---\n";
    machine.write("project/.claude/commands/fix.md", &format!("{head}Fix $1.\n"));
    machine.write("project/.github/prompts/do.prompt.md", "---\nmode: agent\nname: Do It\n---\nDo it.\n");
    let catalog = machine.catalog();
    assert_eq!(catalog.problems, []);
    let of = |name: &str| &catalog.slash_commands.iter().find(|slash| slash.spec.name == name).unwrap().spec;
    assert_eq!((of("fix").hint.as_deref(), of("fix").agent.as_deref()), (Some("[issue]"), Some("explore")));
    assert_eq!(of("fix").allowed_tools, ["Bash(git add:*)", "Read"]);
    assert_eq!((&of("do-it").agent, of("do-it").description.as_str()), (&None, "Do it."));
}

#[test]
fn errors_in_a_command_are_reported_with_their_line() {
    let machine = Machine::new();
    machine.write("project/.claude/commands/open.md", "---\ndescription: x\n");
    machine.write("project/.claude/commands/empty.md", "---\ndescription: x\n---\n");
    machine.write("project/.claude/commands/größe.md", "Measure it.\n");
    machine.write("project/.claude/commands/bin.md", "a\0b");
    let warned = "---\nmodel: opus\nagent: nobody\ndisable-model-invocation: false\nmodle: x\n---\nDo it.\n";
    machine.write("project/.claude/commands/warned.md", warned);
    symlink("/etc/passwd", machine.path("project/.claude/commands/link.md")).unwrap();
    let catalog = machine.catalog();
    assert_eq!(names(&catalog), ["warned"]);
    let told: Vec<String> = catalog
        .problems
        .iter()
        .map(|problem| {
            let file = problem.file.file_name().unwrap().to_string_lossy().into_owned();
            format!("{file}:{}: {}: {}", problem.at.map_or(0, |at| at.line), problem.severity.as_str(), problem.message)
        })
        .collect();
    let expected = [
        "link.md:0: error: it is a link, which is ignored here",
        "bin.md:0: error: it is not UTF-8 text",
        "empty.md:0: error: it has no text",
        "größe.md:0: error: its name is not valid: it has characters other than letters, digits and dashes",
        "open.md:1: error: its frontmatter is not closed",
        "warned.md:4: warning: models cannot call slash commands",
        "warned.md:2: warning: `model` is not supported in this version",
        "warned.md:5: warning: unknown key `modle`",
        "warned.md:0: warning: /warned names the agent `nobody`, which does not exist",
    ];
    assert_eq!(told, expected);
}

#[test]
fn only_names_of_untrusted_project_commands_are_read() {
    let machine = Machine::new();
    machine.write("project/.claude/commands/git/evil.md", "---\ndescription: looks kind\n---\n!`id`\n");
    machine.write("home/commands/mine.md", "Mine.\n");
    let catalog = machine.asked(Asked { untrusted: true, ..Asked::default() }).unwrap();
    assert_eq!(names(&catalog), ["mine"]);
    let [evil] = &catalog.untrusted[..] else { panic!("{:?}", catalog.untrusted) };
    assert_eq!((evil.name.as_str(), evil.description.as_str()), ("git:evil", ""));
    let [problem] = &catalog.problems[..] else { panic!("{:?}", catalog.problems) };
    assert_eq!(problem.severity, Severity::Untrusted);
    assert!(problem.to_string().contains("slash command is ignored"), "{problem}");
    assert!(problem.remedy.contains("`bosun trust`"));
}
