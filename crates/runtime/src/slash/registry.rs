//! The registry of slash commands. Of commands with the same name, the first of these wins: built-in commands, files of
//! the project, files of the user, files of plugins, skills.

use protocol::TerminalCommand;
use protocol::api::{SlashKind, SlashView};
use protocol::{DefinitionSource, Hinted, MCP_TOOL_PREFIX, Refusal, SkillSpec, SlashSpec};

use super::built_in::{ALIASES, BUILT_IN_COMMANDS, CommandTarget, RESERVED_NAMES, RuntimeCommand};
use super::error::SlashError;
use super::outcome::{SlashOutcome, unknown_command};
use super::parse::{normalize_name, parse};
use crate::Catalog;
use crate::session_context::AgentCatalog;

/// A slash command as shown to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its arguments.
    pub hint: Option<String>,
    /// Its kind.
    pub kind: SlashKind,
    /// Where it is defined.
    pub source: DefinitionSource,
}

/// What performs a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SlashAction {
    BuiltIn(RuntimeCommand),
    Terminal(TerminalCommand),
    File(SlashSpec),
    Skill(SkillSpec),
}

/// All slash commands.
#[derive(Debug, Default)]
pub struct SlashRegistry {
    rows: Vec<(SlashCommand, SlashAction)>,
    /// Files of an untrusted project.
    untrusted: Vec<SlashSpec>,
}

/// The meaning of a text, before anything is run.
#[derive(Debug)]
pub enum SlashLookup<'a> {
    /// It is not a command; the model gets it unchanged.
    NotACommand,
    /// It is a command with arguments.
    Command(SlashMatch<'a>),
    /// It is a prompt of an MCP server; whether there is one, the server knows.
    OutsidePrompt {
        /// Its name, such as `mcp__docs__review`.
        name: String,
        /// What follows the name.
        arguments: String,
    },
    /// It is an unknown command, or one that cannot be run.
    Unavailable(SlashOutcome),
}

/// A command that was found, and its arguments.
#[derive(Debug)]
pub struct SlashMatch<'a> {
    pub(super) command: &'a SlashCommand,
    pub(super) action: &'a SlashAction,
    pub(super) arguments: String,
}

impl SlashRegistry {
    /// The commands of a catalogue and the built-in ones.
    pub fn of(catalog: &Catalog) -> SlashRegistry {
        SlashRegistry::with_skills(catalog, catalog.skills.clone())
    }

    /// The commands of a session, whose skills may have changed since its catalogue was built.
    pub(crate) fn of_session(catalog: &AgentCatalog) -> SlashRegistry {
        SlashRegistry::with_skills(&catalog.definitions, catalog.skills.enabled())
    }

    fn with_skills(catalog: &Catalog, skills: Vec<SkillSpec>) -> SlashRegistry {
        let mut registry = SlashRegistry { untrusted: catalog.untrusted_commands.clone(), ..SlashRegistry::default() };
        for row in &BUILT_IN_COMMANDS {
            let (kind, action) = match row.target {
                CommandTarget::Runtime(command) => (SlashKind::BuiltIn, SlashAction::BuiltIn(command)),
                CommandTarget::Terminal(command) => (SlashKind::Screen, SlashAction::Terminal(command)),
            };
            let hint = (!row.hint.is_empty()).then(|| row.hint.to_owned());
            let (name, description, source) = (row.name.to_owned(), row.about.to_owned(), DefinitionSource::BuiltIn);
            registry.add(SlashCommand { name, description, hint, kind, source }, action);
        }
        for spec in &catalog.slash_commands {
            let SlashSpec { name, description, hint, source, .. } = spec.clone();
            registry.add(
                SlashCommand { name, description, hint, kind: SlashKind::File, source },
                SlashAction::File(spec.clone()),
            );
        }
        for spec in skills.into_iter().filter(|skill| skill.user_invocable) {
            let SkillSpec { name, description, source, .. } = spec.clone();
            let slash = SlashCommand { name, description, hint: None, kind: SlashKind::Skill, source };
            registry.add(slash, SlashAction::Skill(spec.clone()));
        }
        registry
    }

    /// All commands, in order of precedence.
    pub fn commands(&self) -> impl Iterator<Item = &SlashCommand> {
        self.rows.iter().map(|(slash, _)| slash)
    }

    /// A line for each command.
    pub fn help(&self) -> String {
        let lines = self.commands().map(|slash| {
            let usage = format!("/{} {}", slash.name, slash.hint.as_deref().unwrap_or_default());
            help_line(usage.trim_end(), &slash.description)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Whether a built-in command has this name, so that no file can define it.
    pub fn is_built_in(name: &str) -> bool {
        let name = normalize_name(name);
        BUILT_IN_COMMANDS.iter().any(|row| row.name == name)
            || RESERVED_NAMES.contains(&name.as_str())
            || ALIASES.iter().any(|(alias, _)| *alias == name)
    }

    /// Looks up the command in a text.
    pub fn parse(&self, text: &str) -> SlashLookup<'_> {
        if let Some(typed) = text.strip_prefix('/').filter(|typed| typed.starts_with(MCP_TOOL_PREFIX)) {
            let (name, arguments) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
            return outside_prompt(name, arguments);
        }
        match parse(text) {
            Some(typed) => self.find(&typed.name, typed.arguments),
            None => SlashLookup::NotACommand,
        }
    }

    /// Finds a command by its name.
    pub(super) fn find(&self, name: &str, rest: &str) -> SlashLookup<'_> {
        if name.trim_start_matches('/').starts_with(MCP_TOOL_PREFIX) {
            return outside_prompt(name.trim_start_matches('/'), rest);
        }
        let name = normalize_name(name);
        let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name.as_str(), |(_, name)| name);
        if let Some((command, action)) = self.rows.iter().find(|(command, _)| command.name == name) {
            return SlashLookup::Command(SlashMatch { command, action, arguments: rest.to_owned() });
        }
        if RESERVED_NAMES.contains(&name) {
            return SlashLookup::Unavailable(SlashOutcome::Refused(
                SlashError::NotInVersion(name.to_owned()).refusal(),
            ));
        }
        if let Some(spec) = self.untrusted.iter().find(|spec| spec.name == name) {
            let error = SlashError::Untrusted { name: name.to_owned(), file: spec.file.clone() };
            return SlashLookup::Unavailable(SlashOutcome::Refused(error.refusal()));
        }
        SlashLookup::Unavailable(SlashOutcome::Unknown { name: name.to_owned(), nearest: self.nearest(name) })
    }

    /// The names that complete the beginning of a command.
    pub fn completions(&self, line: &str) -> Vec<&str> {
        let Some(prefix) = line.strip_prefix('/') else { return Vec::new() };
        self.commands().map(|slash| slash.name.as_str()).filter(|name| name.starts_with(prefix)).collect()
    }

    /// The commands as shown to clients.
    pub(crate) fn views(&self) -> Vec<SlashView> {
        let view = |slash: &SlashCommand| {
            let SlashCommand { name, description, hint, kind, source } = slash.clone();
            SlashView { name, description, hint, kind, source: source.to_string() }
        };
        self.commands().map(view).collect()
    }

    fn add(&mut self, command: SlashCommand, action: SlashAction) {
        if !self.rows.iter().any(|(known, _)| known.name == command.name) {
            self.rows.push((command, action));
        }
    }

    fn nearest(&self, name: &str) -> Vec<String> {
        const MAX_SUGGESTIONS: usize = 3;
        // A name of this length is not a typo, and comparing takes time proportional to the product of both lengths.
        if name.len() > 64 {
            return Vec::new();
        }
        let distance = |known: &str| strsim::damerau_levenshtein(known, name);
        let is_prefix = |known: &str| name.len() > 2 && (known.starts_with(name) || name.starts_with(known));
        let is_near =
            |slash: &&SlashCommand| distance(&slash.name) <= 2.min(name.chars().count() / 2) || is_prefix(&slash.name);
        let mut names: Vec<&str> = self.commands().filter(is_near).map(|slash| slash.name.as_str()).collect();
        names.sort_by_key(|known| distance(known));
        names.into_iter().take(MAX_SUGGESTIONS).map(str::to_owned).collect()
    }
}

/// A command with its arguments, and what it does.
pub(super) fn help_line(usage: &str, description: &str) -> String {
    format!("{usage:<31} {description}")
}

fn outside_prompt(name: &str, arguments: &str) -> SlashLookup<'static> {
    SlashLookup::OutsidePrompt { name: name.to_owned(), arguments: arguments.trim().to_owned() }
}

impl SlashMatch<'_> {
    /// The command with its arguments, if it works only in a terminal.
    pub fn terminal_command(&self) -> Option<(TerminalCommand, &str)> {
        match self.action {
            SlashAction::Terminal(command) => Some((*command, &self.arguments)),
            SlashAction::BuiltIn(_) | SlashAction::File(_) | SlashAction::Skill(_) => None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.command.name
    }

    /// Its arguments.
    pub fn arguments(&self) -> &str {
        &self.arguments
    }
}

impl SlashOutcome {
    /// Why a command was not run; `None` for one that was.
    pub fn refusal(&self) -> Option<Refusal> {
        match self {
            SlashOutcome::Unknown { name, nearest } => Some(unknown_command(name, nearest)),
            SlashOutcome::Refused(why) => Some(why.clone()),
            SlashOutcome::NotACommand
            | SlashOutcome::Prompt(_)
            | SlashOutcome::Text(_)
            | SlashOutcome::Done { .. }
            | SlashOutcome::FleetStarted(_)
            | SlashOutcome::Terminal(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, source: DefinitionSource) -> SlashSpec {
        SlashSpec { name: name.into(), description: format!("{source}"), source, ..SlashSpec::default() }
    }

    fn skill(name: &str, user_invocable: bool) -> SkillSpec {
        SkillSpec { name: name.into(), user_invocable, ..SkillSpec::default() }
    }

    fn registry() -> SlashRegistry {
        SlashRegistry::of(&Catalog {
            slash_commands: vec![
                file("fleet", DefinitionSource::Project { path: "p".into() }),
                file("ship", DefinitionSource::Project { path: "p".into() }),
                file("ship", DefinitionSource::User { path: "u".into() }),
                file("tools:fix", DefinitionSource::Plugin { plugin: "tools".into(), path: "t".into() }),
            ],
            skills: vec![skill("ship", true), skill("pdf", true), skill("hidden", false)],
            untrusted_commands: vec![SlashSpec {
                file: ".claude/commands/evil.md".into(),
                ..file("evil", DefinitionSource::Flag)
            }],
            ..Catalog::default()
        })
    }

    #[test]
    fn the_command_of_higher_precedence_wins() {
        let registry = registry();
        let kind = |name: &str| registry.commands().find(|slash| slash.name == name).map(|slash| slash.kind);
        assert_eq!(kind("fleet"), Some(SlashKind::BuiltIn));
        assert_eq!(kind("tools:fix"), Some(SlashKind::File));
        assert_eq!(kind("pdf"), Some(SlashKind::Skill));
        assert_eq!(kind("hidden"), None);
        let ships: Vec<&SlashCommand> = registry.commands().filter(|slash| slash.name == "ship").collect();
        assert_eq!((ships.len(), &ships[0].source), (1, &DefinitionSource::Project { path: "p".into() }));
    }

    #[test]
    fn unknown_commands_are_reported_with_suggestions() {
        let registry = registry();
        let problem = |text: &str| match registry.parse(text) {
            SlashLookup::Unavailable(outcome) => outcome.refusal().unwrap().in_one_line(),
            SlashLookup::NotACommand | SlashLookup::Command(_) | SlashLookup::OutsidePrompt { .. } => {
                panic!("{text} is known")
            }
        };
        assert!(problem("/hlep").contains("did you mean /help?"), "{}", problem("/hlep"));
        assert!(problem("/agen x").contains("/agent or /agents"), "{}", problem("/agen x"));
        assert_eq!(problem("/frobnicate"), "there is no /frobnicate; /help lists all commands");
        assert_eq!(problem("/every 5m"), "/every is not in this version");
        assert!(problem("/evil").contains("`bosun trust`"));
        assert!(problem(&format!("/{}", "x".repeat(1_000_000))).len() < 200);
    }

    #[test]
    fn prompts_of_servers_keep_their_names() {
        let registry = registry();
        for found in [registry.parse("/mcp__docs__Re_view  a b "), registry.find("/mcp__docs__Re_view", "a b")] {
            let SlashLookup::OutsidePrompt { name, arguments } = found else { panic!("it is a prompt") };
            assert_eq!((name.as_str(), arguments.as_str()), ("mcp__docs__Re_view", "a b"));
        }
    }

    #[test]
    fn names_have_aliases_and_completions() {
        let registry = registry();
        let name = |text: &str| match registry.parse(text) {
            SlashLookup::Command(found) => found.name().to_owned(),
            SlashLookup::Unavailable(_) | SlashLookup::NotACommand | SlashLookup::OutsidePrompt { .. } => {
                panic!("{text} is not known")
            }
        };
        assert_eq!(["/quit", "/?", "/Security_Review"].map(name), ["exit", "help", "security-review"]);
        assert_eq!(registry.completions("/mo"), ["model", "mode"]);
        assert!(registry.completions("mo").is_empty());
        assert!(
            SlashRegistry::is_built_in("Fleet")
                && SlashRegistry::is_built_in("every")
                && !SlashRegistry::is_built_in("ship")
        );
    }
}
