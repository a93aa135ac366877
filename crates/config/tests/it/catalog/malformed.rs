//! Invalid definitions: each is reported with its file, its line and a remedy.

use std::fs;
use std::os::unix::fs::symlink;

use config::Severity;
use config::Severity::{Error, Warning};

use super::{Asked, Machine, agent};

/// A file, its content, and the expected report: severity, line, message and remedy.
type Row = (&'static str, &'static str, Severity, u64, &'static str, &'static str);

const AGENTS: [Row; 33] = [
    ("no-head.md", "Just words.\n", Error, 1, "has no frontmatter", "begin it with `---`"),
    ("empty.md", "", Error, 1, "has no frontmatter", "begin it with"),
    ("open-head.md", "---\ndescription: x\nDo it.\n", Error, 1, "frontmatter is not closed", "three dashes"),
    ("no-description.md", "---\nname: x\n---\nDo it.\n", Error, 2, "no description", "add `description`"),
    ("blank-description.md", "---\ndescription: ''\n---\nDo it.\n", Error, 2, "no description", "add `description`"),
    ("null-description.md", "---\nname: x\ndescription:\n---\nDo it.\n", Error, 3, "no description", "add"),
    (
        "no-body.md",
        "---\ndescription: x\n---\n\n  \n",
        Error,
        2,
        "no text below its frontmatter",
        "the agent's instructions",
    ),
    (
        "twice.md",
        "---\ndescription: x\ndescription: y\n---\nDo.\n",
        Error,
        3,
        "duplicate key `description`",
        "remove one",
    ),
    (
        "spelt-twice.md",
        "---\ndescription: x\nmaxTurns: 1\nmax-turns: 2\n---\nDo.\n",
        Error,
        4,
        "duplicate key",
        "remove one",
    ),
    ("tab.md", "---\ndescription: x\ntools:\n\t- Read\n---\nDo it.\n", Error, 4, "tab", "indent with spaces"),
    ("open-quote.md", "---\nname: y\ndescription: \"x\n---\nDo it.\n", Error, 4, "quoted", "correct the line"),
    (
        "open-list.md",
        "---\ndescription: x\ntools: [Read, Bash\n---\nDo it.\n",
        Error,
        3,
        "unclosed bracket",
        "correct the line",
    ),
    ("scalar.md", "---\njust words\n---\nDo it.\n", Error, 2, "keys and values, found a string", "`key: value`"),
    ("list.md", "---\n- description\n---\nDo it.\n", Error, 2, "keys and values, found a list", "`key: value`"),
    ("name-emoji.md", "---\nname: 🦀\ndescription: x\n---\nDo it.\n", Error, 2, "is not a name", "letters"),
    ("name-slash.md", "---\nname: a/b\ndescription: x\n---\nDo it.\n", Error, 2, "is not a name", "letters"),
    ("prüfer.md", "---\ndescription: x\n---\nDo it.\n", Error, 2, "is not a name", "letters, digits and dashes"),
    ("name-list.md", "---\nname: [a]\ndescription: x\n---\nDo it.\n", Error, 2, "`name` is a list", "write a string"),
    (
        "tools-table.md",
        "---\ndescription: x\ntools:\n  read: true\n---\nDo.\n",
        Error,
        3,
        "`tools` is a table",
        "list of strings",
    ),
    (
        "tool-unknown.md",
        "---\ndescription: x\ntools:\n  - Read\n  - Gerp\n---\nDo.\n",
        Warning,
        5,
        "no tool `Gerp`",
        "`grep`",
    ),
    (
        "tool-absent.md",
        "---\ndescription: x\ntools: [WebSearch]\n---\nDo.\n",
        Warning,
        3,
        "`WebSearch` is not supported in",
        "leave it out",
    ),
    (
        "tool-pattern.md",
        "---\ndescription: x\ntools: Bash(git:*)\n---\nDo.\n",
        Error,
        3,
        "has a pattern",
        "write `Bash`",
    ),
    (
        "denied-unknown.md",
        "---\ndescription: x\ndisallowedTools: Wirte\n---\nDo.\n",
        Error,
        3,
        "no tool `Wirte`",
        "`write`",
    ),
    (
        "key-unknown.md",
        "---\ndescription: x\ndisallowed-tool: Bash\n---\nDo.\n",
        Warning,
        3,
        "unknown",
        "`disallowed-tools`",
    ),
    ("turns-zero.md", "---\ndescription: x\nmaxTurns: 0\n---\nDo.\n", Error, 3, "`max-turns` is a number", "above 0"),
    (
        "turns-words.md",
        "---\ndescription: x\nmax-turns: few\n---\nDo.\n",
        Error,
        3,
        "`max-turns` is a string",
        "above 0",
    ),
    (
        "flag.md",
        "---\ndescription: x\nbackground: maybe\n---\nDo.\n",
        Error,
        3,
        "`background` is a string",
        "true or false",
    ),
    ("effort.md", "---\ndescription: x\neffort: heroic\n---\nDo.\n", Error, 3, "not an effort", "low, medium or high"),
    ("mode.md", "---\ndescription: x\npermissionMode: yolo\n---\nDo.\n", Error, 3, "`yolo` is not a mode", "plan"),
    (
        "isolation.md",
        "---\ndescription: x\nisolation: bubble\n---\nDo.\n",
        Error,
        3,
        "not a kind of isolation",
        "worktree",
    ),
    ("place.md", "---\ndescription: x\nplace: moon\n---\nDo.\n", Error, 3, "not a place", "process"),
    ("budget.md", "---\ndescription: x\nbudget:\n  usd: lots\n---\nDo.\n", Error, 4, "not a budget", "usd: 0.50"),
    ("budget-bare.md", "---\ndescription: x\nbudget: 5\n---\nDo.\n", Error, 3, "`budget` is a number", "one or both"),
];

#[test]
fn malformed_agents_are_reported_with_line_and_remedy() {
    let mut wrong = Vec::new();
    for (name, text, severity, line, words, remedy) in AGENTS {
        let machine = Machine::new();
        machine.write(&format!("project/.claude/agents/{name}"), text);
        let catalog = machine.catalog();
        let told: Vec<String> = catalog.problems.iter().map(ToString::to_string).collect();
        let found = catalog.problems.iter().any(|problem| {
            problem.file == machine.path(&format!("project/.claude/agents/{name}"))
                && problem.severity == severity
                && problem.at.is_some_and(|at| at.line == line)
                && problem.message.contains(words)
                && problem.remedy.contains(remedy)
        });
        let loaded = catalog.effective().count() == 9;
        if !found || loaded != (severity == Warning) {
            wrong.push(format!("{name}: expected {severity:?} in line {line}: {words}; {remedy}, found {told:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same for other files, where the position is not always a line.
const OTHERS: [(&str, &str, &str, &str); 14] = [
    ("project/.claude/skills/a/SKILL.md", "---\nname: a\n---\nDo.\n", "no description", "add `description`"),
    (
        "project/.claude/skills/a/SKILL.md",
        "---\ndescription: x\n---\n",
        "no text below its frontmatter",
        "write the instructions",
    ),
    ("project/.claude/skills/a/SKILL.md", "Do it.\n", "has no frontmatter", "begin it with"),
    ("project/.claude/skills/a/skill.md", "---\ndescription: x\n---\nDo.\n", "not named SKILL.md", "name it SKILL.md"),
    (
        "project/.claude/skills/loose.md",
        "---\ndescription: x\n---\nDo.\n",
        "not in a folder of its own",
        "a folder of its own",
    ),
    ("project/.claude/skills/ü/SKILL.md", "---\ndescription: x\n---\nDo.\n", "name is not valid", "letters, digits"),
    ("home/plugins/p/README.md", "", "no plugin.json", "add plugin.json"),
    ("home/plugins/p/plugin.json", "{\"name\": \"p\",}", "it is not JSON", "correct the line"),
    ("home/plugins/p/plugin.json", "{}", "it has no name", "add `name`"),
    ("home/plugins/p/plugin.json", "[]", "keys and values, found a list", "`key: value`"),
    ("home/plugins/p/plugin.json", r#"{"name": "p", "agents": "../x"}"#, "outside the plugin's folder", "inside its"),
    ("home/plugins/p/plugin.json", r#"{"name": "p", "agents": "/etc"}"#, "outside the plugin's folder", "inside its"),
    ("home/plugins/p/plugin.json", r#"{"name": "p", "skills": ["gone"]}"#, "which does not exist", "correct the path"),
    ("home/plugins/p/plugin.json", r#"{"name": "p", "agent": "x"}"#, "unknown key `agent`", "did you mean `agents`?"),
];

#[test]
fn malformed_skills_and_plugins_are_reported_with_a_remedy() {
    for (path, text, words, remedy) in OTHERS {
        let machine = Machine::new();
        machine.write(path, text);
        let problems = machine.catalog().problems;
        let found = problems.iter().any(|problem| problem.message.contains(words) && problem.remedy.contains(remedy));
        assert!(found, "{path}: {words}; {remedy}\n{problems:#?}");
    }
}

#[test]
fn invalid_utf8_and_too_large_files_are_reported() {
    let machine = Machine::new();
    machine.write("home/agents/large.md", &format!("{}{}", agent("x"), "x".repeat(5 << 20)));
    fs::write(machine.path("home/agents/binary.md"), b"---\ndescription: \xff\xfe\n---\nDo.\n").unwrap();
    fs::write(machine.path("home/agents/nul.md"), b"---\ndescription: \0\n---\nDo.\n").unwrap();
    symlink("circle.md", machine.path("home/agents/circle.md")).unwrap();
    let problems = machine.catalog().problems;
    let told = |name: &str| {
        let path = machine.path("home/agents").join(name);
        problems.iter().find(|problem| problem.file == path).map(|problem| problem.message.clone()).unwrap()
    };
    assert!(told("large.md").contains("larger than 262144 bytes"), "{problems:?}");
    assert!(told("binary.md").contains("not UTF-8 text") && told("nul.md").contains("not UTF-8 text"), "{problems:?}");
    assert!(told("circle.md").contains("cannot be read"), "{problems:?}");
    assert_eq!(problems.len(), 4);
}

#[test]
fn yaml_aliases_cannot_expand_without_limit() {
    let machine = Machine::new();
    let mut bomb = String::from("---\ndescription: x\na: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (one, other) in ["ab", "bc", "cd", "de", "ef", "fg"].map(|pair| pair.split_at(1)) {
        bomb.push_str(&format!("{other}: &{other} [{}]\n", vec![format!("*{one}"); 10].join(", ")));
    }
    bomb.push_str("---\nDo it.\n");
    machine.write("home/agents/bomb.md", &bomb);
    let problems = machine.catalog().problems;
    assert!(problems[0].message.contains("too many aliases"), "{problems:?}");
}

#[test]
fn invalid_definitions_on_the_command_line_are_errors() {
    let cases = [
        ("{bad", "not JSON"),
        ("", "not JSON"),
        ("3", "expected definitions, found a number"),
        (r#"{"a": {"prompt": "x"}}"#, "agent `a`: it has no description"),
        (r#"{"a": {"description": "x"}}"#, "agent `a`: it has no prompt"),
        (r#"[{"description": "x", "prompt": "y"}]"#, "it has no name"),
        (r#"{"a": "x"}"#, "keys and values, found a string"),
        (r#"{"a": {"description": "x", "prompt": "y", "description": "z"}}"#, "duplicate key"),
        (
            r#"[{"name": "a", "description": "x", "prompt": "y"}, {"name": "A", "description": "x", "prompt": "y"}]"#,
            "`a` is defined twice",
        ),
    ];
    for (given, words) in cases {
        let machine = Machine::new();
        let problems = machine.asked(Asked { given: Some(given), ..Asked::default() }).unwrap_err();
        assert!(problems.iter().any(|problem| problem.message.contains(words)), "{given}: {problems:?}");
    }
    let machine = Machine::new();
    let smile = r#"{"a": {"description": "\ud83d\ude00", "prompt": "y", "maxTurns": 3, "model": "inherit"}}"#;
    let catalog = machine.asked(Asked { given: Some(smile), ..Asked::default() }).unwrap();
    assert_eq!(catalog.agent("a").unwrap().spec.description, "😀");
}
