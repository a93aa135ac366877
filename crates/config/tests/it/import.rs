//! Import of other products' files: findings and written settings.

use std::fs;

use config::import::{ImportFinding, ImportLocations, ImportOutcome, Product, survey, write};
use config::{Project, TrustStatus};

use crate::Machine;

impl Machine {
    fn survey(&self, product: Product, standing: TrustStatus) -> Vec<ImportFinding> {
        self.survey_moved(product, standing, None)
    }

    /// The same with the product's own folder elsewhere.
    fn survey_moved(&self, product: Product, standing: TrustStatus, moved: Option<&str>) -> Vec<ImportFinding> {
        let (home, user, project) = (self.home(), self.path("user"), Project::find(&self.top()));
        let moved = moved.map(|below| self.path(below));
        let places = ImportLocations {
            home: &home,
            user_home: Some(&user),
            relocated: moved.as_deref(),
            project: &project,
            trust: standing,
            allow_all_forbidden_by: None,
        };
        survey(product, &places).unwrap()
    }

    /// Each finding as one line, without text that differs from run to run.
    fn table(&self, product: Product, standing: TrustStatus) -> Vec<String> {
        self.shown_all(&self.survey(product, standing))
    }

    fn shown_all(&self, findings: &[ImportFinding]) -> Vec<String> {
        let local = self.local().display().to_string();
        let line = |finding: &ImportFinding| {
            let ImportFinding { file, subject: found, outcome } = finding;
            let text = match outcome {
                ImportOutcome::Written(change) | ImportOutcome::AlreadyPresent(change) => {
                    format!("{}: {} in {}", outcome.as_str(), change.text(), change.into().display())
                }
                ImportOutcome::Conflicting { change, kept } => format!("kept: {kept} in {}", change.into().display()),
                ImportOutcome::InPlace(why) | ImportOutcome::NotImported(why) | ImportOutcome::Invalid(why) => {
                    format!("{}: {why}", outcome.as_str())
                }
            };
            self.shown(format!("{}: {found}: {text}", file.display()).replace(&local, "LOCAL"))
        };
        findings.iter().map(line).collect()
    }
}

const CLAUDE: &str = r#"{
  "model": "opus",
  "permissions": {
    "allow": ["Bash(npm run test:*)", "Edit(//tmp/x/**)", "Nonsense(x)", "Bash(", "Edit(/src/**)"],
    "ask": ["Bash(git push:*)"],
    "deny": ["Read(./.env)"],
    "defaultMode": "acceptEdits",
    "additionalDirectories": ["~/notes", "/nowhere"]
  },
  "env": {"NODE_ENV": "test", "NPM_TOKEN": "npm_0123456789", "ANTHROPIC_MODEL": "x"},
  "hooks": {},
  "statusLine": {"type": "command"}
}"#;

#[test]
fn claude_settings_are_imported_and_the_rest_is_reported() {
    let machine = Machine::new();
    machine.write("user/.claude/settings.json", CLAUDE).write("user/notes/a", "").write("user/.claude/agents/a.md", "");
    machine.write("home/config.toml", "model = \"ollama/qwen3:8b\"\n");
    let user = "/user/.claude/settings.json";
    assert_eq!(
        machine.table(Product::Claude, TrustStatus::Untrusted),
        [
            format!(
                "{user}: allow Bash(npm run test:*): becomes: permissions.allow shell(npm run test:*) in /home/config.toml"
            ),
            format!("{user}: allow Edit(//tmp/x/**): becomes: permissions.allow edit(//tmp/x/**) in /home/config.toml"),
            format!(
                "{user}: allow Nonsense(x): notImported: Bosun has no tool called `Nonsense`, so the rule would match nothing"
            ),
            format!(
                "{user}: allow Bash(: invalid: line 4: `Bash(` is not a rule: its parentheses do not match; write \\( or \\) to mean the character; a rule is a tool, alone or with a pattern, such as shell(git *) or edit(src/**); correct or remove it"
            ),
            format!(
                "{user}: allow Edit(/src/**): notImported: its path means a different folder in every project; add it with `bosun config allow RULE`"
            ),
            format!("{user}: ask Bash(git push:*): inPlace: "),
            format!("{user}: deny Read(./.env): inPlace: "),
            format!("{user}: defaultMode acceptEdits: becomes: permissions.mode = accept-edits in /home/config.toml"),
            format!("{user}: directory ~/notes: becomes: workspace.add-dirs ~/notes in /home/config.toml"),
            format!("{user}: directory /nowhere: notImported: there is no such folder"),
            format!("{user}: model opus: kept: model = ollama/qwen3:8b in /home/config.toml"),
            format!(
                "{user}: env ANTHROPIC_MODEL: notImported: it is for Claude Code itself; keys and addresses of providers are read from the environment"
            ),
            format!("{user}: env NODE_ENV = test: becomes: environment.set.NODE_ENV = test in /home/config.toml"),
            format!(
                "{user}: env NPM_TOKEN (name only: set it where you start bosun): becomes: environment.pass NPM_TOKEN in /home/config.toml"
            ),
            format!("{user}: hooks: inPlace: "),
            format!("{user}: statusLine: notImported: Bosun has no such setting"),
            "/user/.claude/agents: agents: 1 file: inPlace: ".into(),
        ]
    );
}

#[test]
fn import_keeps_existing_settings_and_is_idempotent() {
    let machine = Machine::new();
    let before = "# mine\nmodel = \"ollama/qwen3:8b\" # small\n\n[permissions]\ndeny = [\"fetch\"]\n";
    machine.write("user/.claude/settings.json", CLAUDE).write("user/notes/a", "").write("home/config.toml", before);
    assert_eq!(write(&machine.survey(Product::Claude, TrustStatus::Untrusted)).len(), 0);
    let after = fs::read_to_string(machine.path("home/config.toml")).unwrap();
    assert!(after.starts_with("# mine\nmodel = \"ollama/qwen3:8b\" # small\n"), "{after}");
    assert!(!after.contains("npm_0123456789"), "{after}");
    let config = machine.layers(TrustStatus::Untrusted).unwrap().config();
    assert_eq!((config.model.as_deref(), config.mode.as_str()), (Some("ollama/qwen3:8b"), "accept-edits"));
    let allowed: Vec<_> = machine.layers(TrustStatus::Untrusted).unwrap().rules().unwrap();
    assert!(allowed.iter().any(|rule| rule.text == "shell(npm run test:*)"), "{allowed:?}");
    let again = machine.survey(Product::Claude, TrustStatus::Untrusted);
    assert!(!again.iter().any(|finding| matches!(finding.outcome, ImportOutcome::Written(_))), "{again:?}");
    assert_eq!(write(&again).len(), 0);
    assert_eq!(fs::read_to_string(machine.path("home/config.toml")).unwrap(), after);
}

#[test]
fn project_files_are_imported_only_if_trusted_and_never_changed() {
    let machine = Machine::new();
    let settings = r#"{"permissions": {"allow": ["Edit(/src/**)"], "defaultMode": "bypassPermissions"}}"#;
    machine.write("project/.claude/settings.json", settings).write(
        "project/.codex/rules/a.rules",
        "prefix_rule(pattern=['ls'])\nprefix_rule(pattern=['rm'], decision='forbidden')",
    );
    let file = "/project/.claude/settings.json";
    let why = "notImported: you have not trusted the project; run `bosun trust`, then import again";
    assert_eq!(
        machine.table(Product::Claude, TrustStatus::Untrusted),
        [format!("{file}: allow Edit(/src/**): {why}"), format!("{file}: defaultMode bypassPermissions: {why}")]
    );
    assert_eq!(
        machine.table(Product::Claude, TrustStatus::Trusted),
        [
            format!("{file}: allow Edit(/src/**): becomes: permissions.allow edit(./src/**) in LOCAL"),
            format!("{file}: defaultMode bypassPermissions: becomes: permissions.mode = allow-all in LOCAL"),
        ]
    );
    let rules = "/project/.codex/rules/a.rules";
    assert_eq!(
        machine.table(Product::Codex, TrustStatus::Trusted),
        [
            format!(
                "{rules}: allow ls: notImported: a project's file may not set this; add it to your own settings if you want it"
            ),
            format!("{rules}: deny rm: becomes: permissions.deny shell(rm) in LOCAL"),
        ]
    );
}

#[test]
fn malformed_file_is_reported_and_the_others_are_imported() {
    let machine = Machine::new();
    machine
        .write("user/.codex/config.toml", "model = 'gpt-5'\nmodel = 3\n")
        .write("user/.codex/prompts/fix.md", "Fix $ARGUMENTS")
        .write("user/.codex/AGENTS.md", "Be brief.")
        .write("user/.codex/skills/tidy/SKILL.md", "---\nname: tidy\n---\nTidy.")
        .write("user/.codex/skills/tidy/run.sh", "#!/bin/sh")
        .write(
            "user/.codex/rules/default.rules",
            "prefix_rule(pattern=[\"git\", \"status\"], decision=\"allow\")\nprefix_rule(pattern=X)",
        )
        .write("home/commands/other.md", "mine")
        .write("user/.codex/prompts/other.md", "theirs");
    let table = machine.table(Product::Codex, TrustStatus::Untrusted);
    assert_eq!(
        table,
        [
            "/user/.codex/config.toml: the file: invalid: line 2: is not valid TOML; correct it and import again",
            "/user/.codex/rules/default.rules: allow git status: becomes: permissions.allow shell(git status *) in /home/config.toml",
            "/user/.codex/rules/default.rules: a rule: invalid: line 2: it is not a prefix_rule with a plain pattern and decision; add it with `bosun config allow`, `ask` or `deny`",
            "/user/.codex/AGENTS.md: instructions: becomes: a copy in /home/AGENTS.md",
            "/user/.codex/prompts/fix.md: slash command: becomes: a copy in /home/commands/fix.md",
            "/user/.codex/prompts/other.md: slash command: kept: one with that name in /home/commands/other.md",
            "/user/.codex/skills/tidy: skill: becomes: a copy of the folder in /home/skills/tidy",
        ]
    );
    assert_eq!(write(&machine.survey(Product::Codex, TrustStatus::Untrusted)).len(), 0);
    let read = |below: &str| fs::read_to_string(machine.path(below)).unwrap();
    assert_eq!((read("home/AGENTS.md").as_str(), read("home/commands/other.md").as_str()), ("Be brief.", "mine"));
    assert_eq!(
        (read("home/commands/fix.md").as_str(), read("home/skills/tidy/run.sh").as_str()),
        ("Fix $ARGUMENTS", "#!/bin/sh")
    );
    assert!(machine.table(Product::Codex, TrustStatus::Untrusted).iter().all(|line| !line.contains("becomes")));
}

#[test]
fn codex_settings_are_imported() {
    let machine = Machine::new();
    machine.write(
        "user/.codex/config.toml",
        "model = 'gpt-5.4'\nmodel_reasoning_effort = 'xhigh'\napproval_policy = 'on-request'\nsandbox_mode = 'workspace-write'\n\
         [sandbox_workspace_write]\nnetwork_access = true\n[shell_environment_policy]\nexclude = ['AWS_*']\nset = { CI = '1' }\n\
         [mcp_servers.docs]\ncommand = 'x'\n[projects.'/a']\ntrust_level = 'trusted'\n",
    );
    let file = "/user/.codex/config.toml";
    assert_eq!(
        machine.table(Product::Codex, TrustStatus::Untrusted),
        [
            format!("{file}: model gpt-5.4: becomes: model = openai/gpt-5.4 in /home/config.toml"),
            format!(
                "{file}: sandbox_mode workspace-write, approval_policy on-request: becomes: permissions.mode = accept-edits in /home/config.toml"
            ),
            format!("{file}: MCP servers: docs: notImported: add those that you want with `bosun mcp add`"),
            format!("{file}: model_reasoning_effort xhigh: becomes: effort = high in /home/config.toml"),
            format!(
                "{file}: projects: notImported: Bosun trusts a project's files as they are, not its folder; run `bosun trust` in each"
            ),
            format!("{file}: sandbox_workspace_write.network_access: notImported: Bosun has no sandbox"),
            format!("{file}: env exclude AWS_*: becomes: environment.hide AWS_* in /home/config.toml"),
            format!("{file}: env CI = 1: becomes: environment.set.CI = 1 in /home/config.toml"),
        ]
    );
    assert_eq!(write(&machine.survey(Product::Codex, TrustStatus::Untrusted)).len(), 0);
    assert_eq!(machine.layers(TrustStatus::Untrusted).unwrap().config().model.as_deref(), Some("openai/gpt-5.4"));
}

#[test]
fn copilot_approvals_and_settings_are_imported_for_this_project() {
    let machine = Machine::new();
    let top = machine.top().display().to_string();
    let approvals = serde_json::json!({"locations": {
        top: {"tool_approvals": [
            {"kind": "commands", "commandIdentifiers": ["git status", "npm:*"]},
            {"kind": "write"}, {"kind": "mcp", "serverName": "docs", "toolName": null}, {"kind": "memory"},
        ]},
        "/elsewhere": {"tool_approvals": [{"kind": "write"}]},
    }});
    machine
        .write("user/.copilot/permissions-config.json", &approvals.to_string())
        .write("user/.copilot/config.json", "// made by the program\n{\"model\": \"claude-sonnet-4.5\", \"trusted_folders\": [\"/a\"], \"denied_urls\": [\"https://example.com/x\"]}")
        .write("user/.copilot/mcp-config.json", "{\"mcpServers\": {\"docs\": {}}}")
        .write("project/.github/agents/a.agent.md", "x");
    let (config, file) = ("/user/.copilot/config.json", "/user/.copilot/permissions-config.json");
    assert_eq!(
        machine.table(Product::Copilot, TrustStatus::Untrusted),
        [
            format!("{config}: deny url https://example.com/x: becomes: permissions.deny fetch(example.com) in /home/config.toml"),
            format!("{config}: model claude-sonnet-4.5: becomes: model = anthropic/claude-sonnet-4-5 in /home/config.toml"),
            format!("{config}: trusted_folders: notImported: Bosun trusts a project's files as they are, not its folder; run `bosun trust` in each"),
            format!("{file}: approval git status: becomes: permissions.allow shell(git status *) in LOCAL"),
            format!("{file}: approval npm: becomes: permissions.allow shell(npm *) in LOCAL"),
            format!("{file}: approval write: becomes: permissions.allow edit in LOCAL"),
            format!("{file}: approval mcp docs: becomes: permissions.allow mcp__docs__* in LOCAL"),
            format!("{file}: approval memory: notImported: Bosun does not ask about this"),
            "/user/.copilot/mcp-config.json: MCP servers: docs: notImported: add those that you want with `bosun mcp add`".into(),
            "/project/.github/agents: agents: 1 file: inPlace: once you trust the project: `bosun trust`".into(),
        ]
    );
}

/// Bosun does not read a folder that a variable moved, so everything must be written or copied, above all `deny` rules.
#[test]
fn import_uses_the_folder_from_the_variable() {
    let machine = Machine::new();
    let settings = r#"{"permissions": {"deny": ["Read(./.env)", "Bash(rm:*)"], "allow": ["Bash(ls)"]}, "hooks": {}}"#;
    machine.write("user/.claude/settings.json", CLAUDE).write("moved/settings.json", settings);
    machine.write("moved/agents/a.md", "").write("moved/skills/s/SKILL.md", "").write("moved/CLAUDE.md", "x");
    machine.write("moved/.claude.json", r#"{"mcpServers": {"docs": {}}}"#);
    let findings = machine.survey_moved(Product::Claude, TrustStatus::Untrusted, Some("moved"));
    assert_eq!(
        machine.shown_all(&findings),
        [
            "/moved/settings.json: allow Bash(ls): becomes: permissions.allow shell(ls) in /home/config.toml",
            "/moved/settings.json: deny Read(./.env): becomes: permissions.deny read(./.env) in /home/config.toml",
            "/moved/settings.json: deny Bash(rm:*): becomes: permissions.deny shell(rm:*) in /home/config.toml",
            "/moved/settings.json: hooks: notImported: Bosun reads hooks from ~/.claude/settings.json, not from a relocated folder; put them there, or into `hooks` of Bosun's home",
            "/moved/.claude.json: MCP servers: docs: notImported: add those that you want with `bosun mcp add`",
            "/moved/CLAUDE.md: instructions: becomes: a copy in /home/AGENTS.md",
            "/moved/agents/a.md: agent: becomes: a copy in /home/agents/a.md",
            "/moved/skills/s: skill: becomes: a copy of the folder in /home/skills/s",
        ]
    );
    assert_eq!(write(&findings).len(), 0);
    let denied = machine.layers(TrustStatus::Untrusted).unwrap().rules().unwrap();
    assert!(denied.iter().any(|rule| rule.text == "shell(rm:*)"), "{denied:?}");
    // Another path of the default folder counts as the default folder.
    let usual = machine.survey_moved(Product::Claude, TrustStatus::Untrusted, Some("user/../user/.claude"));
    assert!(usual.iter().any(|finding| matches!(finding.outcome, ImportOutcome::InPlace(_))), "{usual:?}");
}

#[test]
fn import_uses_the_variables_of_copilot_and_codex() {
    let machine = Machine::new();
    machine.write("moved/config.json", r#"{"model": "gpt-5.4"}"#).write("moved/hooks/a.json", "{}");
    machine.write("moved/config.toml", "model = 'gpt-5.4'").write("moved/prompts/p.md", "");
    let shown =
        |product| machine.shown_all(&machine.survey_moved(product, TrustStatus::Untrusted, Some("moved"))).join("\n");
    let copilot = "/moved/config.json: model gpt-5.4: becomes: model = openai/gpt-5.4 in /home/config.toml\n\
                   /moved/hooks/a.json: hooks: becomes: a copy in /home/hooks/a.json";
    assert_eq!(shown(Product::Copilot), copilot);
    let codex = "/moved/config.toml: model gpt-5.4: becomes: model = openai/gpt-5.4 in /home/config.toml\n\
                 /moved/prompts/p.md: slash command: becomes: a copy in /home/commands/p.md";
    assert_eq!(shown(Product::Codex), codex);
}
