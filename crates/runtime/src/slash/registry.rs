//! Every slash command there is. Of two with the same name the stronger counts: what is built in, then files of the
//! project, of the user and of plugins, then skills.

use protocol::api::{SlashKind, SlashView};
use protocol::{DefinitionSource, SkillSpec, SlashSpec};

use super::TerminalCommand;
use super::built_in::{ALIASES, CommandTarget, LATER, RuntimeCommand, TABLE};
use super::outcome::{SlashOutcome, unknown_command};
use super::parse::{normalize_name, parse};
use crate::Catalog;

/// A slash command as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommand {
    /// What follows the slash.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What may follow its name.
    pub hint: Option<String>,
    /// What it is made of.
    pub kind: SlashKind,
    /// Where it was written.
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

/// Every slash command there is.
#[derive(Debug, Default)]
pub struct SlashRegistry {
    rows: Vec<(SlashCommand, SlashAction)>,
    /// Files of a project that nobody has trusted.
    untrusted: Vec<SlashSpec>,
}

/// What a text means, before anything is done.
#[derive(Debug)]
pub enum SlashLookup<'a> {
    /// It is for the model as it is.
    NotACommand,
    /// It is a command, and this follows its name.
    Command(SlashMatch<'a>),
    /// It is one that cannot be run, or none.
    Unavailable(SlashOutcome),
}

/// A command that was found, and what follows its name.
#[derive(Debug)]
pub struct SlashMatch<'a> {
    pub(super) command: &'a SlashCommand,
    pub(super) action: &'a SlashAction,
    pub(super) rest: String,
}

impl SlashRegistry {
    /// The commands of a catalogue, with those that are built in.
    pub fn of(catalog: &Catalog) -> SlashRegistry {
        let mut registry = SlashRegistry { untrusted: catalog.untrusted_commands.clone(), ..SlashRegistry::default() };
        for row in &TABLE {
            let (kind, deed) = match row.target {
                CommandTarget::Runtime(built_in) => (SlashKind::BuiltIn, SlashAction::BuiltIn(built_in)),
                CommandTarget::Terminal(screen) => (SlashKind::Screen, SlashAction::Terminal(screen)),
            };
            let hint = (!row.hint.is_empty()).then(|| row.hint.to_owned());
            let (name, description, source) = (row.name.to_owned(), row.about.to_owned(), DefinitionSource::BuiltIn);
            registry.add(SlashCommand { name, description, hint, kind, source }, deed);
        }
        for spec in &catalog.slash_commands {
            let SlashSpec { name, description, hint, source, .. } = spec.clone();
            registry.add(
                SlashCommand { name, description, hint, kind: SlashKind::File, source },
                SlashAction::File(spec.clone()),
            );
        }
        for spec in catalog.skills.iter().filter(|skill| skill.user_invocable) {
            let SkillSpec { name, description, source, .. } = spec.clone();
            let slash = SlashCommand { name, description, hint: None, kind: SlashKind::Skill, source };
            registry.add(slash, SlashAction::Skill(spec.clone()));
        }
        registry
    }

    /// Every command, the strongest first.
    pub fn commands(&self) -> impl Iterator<Item = &SlashCommand> {
        self.rows.iter().map(|(slash, _)| slash)
    }

    /// Every command in a line.
    pub fn help(&self) -> String {
        let lines = self.commands().map(|slash| {
            let usage = format!("/{} {}", slash.name, slash.hint.as_deref().unwrap_or_default());
            format!("{:<31} {}", usage.trim_end(), slash.description)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Whether a command of this name is part of the program, so that no file can be it.
    pub fn is_built_in(name: &str) -> bool {
        let name = normalize_name(name);
        TABLE.iter().any(|row| row.name == name)
            || LATER.contains(&name.as_str())
            || ALIASES.iter().any(|(alias, _)| *alias == name)
    }

    /// Tells what a text means.
    pub fn parse(&self, text: &str) -> SlashLookup<'_> {
        match parse(text) {
            Some(typed) => self.find(&typed.name, typed.rest),
            None => SlashLookup::NotACommand,
        }
    }

    /// Finds a command by its name.
    pub(super) fn find(&self, name: &str, rest: &str) -> SlashLookup<'_> {
        let name = normalize_name(name);
        let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name.as_str(), |(_, name)| name);
        if let Some((slash, deed)) = self.rows.iter().find(|(slash, _)| slash.name == name) {
            return SlashLookup::Command(SlashMatch { command: slash, action: deed, rest: rest.to_owned() });
        }
        if LATER.contains(&name) {
            return SlashLookup::Unavailable(SlashOutcome::Refused(format!("/{name} is not in this version")));
        }
        if let Some(spec) = self.untrusted.iter().find(|spec| spec.name == name) {
            let words = format!(
                "/{name} is in {}, and you have not trusted the project; look at it, then `bosun trust`",
                spec.file
            );
            return SlashLookup::Unavailable(SlashOutcome::Refused(words));
        }
        SlashLookup::Unavailable(SlashOutcome::Unknown { name: name.to_owned(), nearest: self.nearest(name) })
    }

    /// What the beginning of a command can become.
    pub fn completions(&self, line: &str) -> Vec<&str> {
        let Some(begun) = line.strip_prefix('/') else { return Vec::new() };
        self.commands().map(|slash| slash.name.as_str()).filter(|name| name.starts_with(begun)).collect()
    }

    /// The commands as clients see them.
    pub(crate) fn views(&self) -> Vec<SlashView> {
        let view = |slash: &SlashCommand| {
            let SlashCommand { name, description, hint, kind, source } = slash.clone();
            SlashView { name, description, hint, kind, source: source.to_string() }
        };
        self.commands().map(view).collect()
    }

    fn add(&mut self, slash: SlashCommand, deed: SlashAction) {
        if !self.rows.iter().any(|(stronger, _)| stronger.name == slash.name) {
            self.rows.push((slash, deed));
        }
    }

    fn nearest(&self, name: &str) -> Vec<String> {
        const OFFERED: usize = 3;
        // Nobody mistypes a name of this length, and comparing takes the product of both.
        if name.len() > 64 {
            return Vec::new();
        }
        let far = |known: &str| strsim::damerau_levenshtein(known, name);
        let begins = |known: &str| name.len() > 2 && (known.starts_with(name) || name.starts_with(known));
        let near = |slash: &&SlashCommand| far(&slash.name) <= 2.min(name.chars().count() / 2) || begins(&slash.name);
        let mut names: Vec<&str> = self.commands().filter(near).map(|slash| slash.name.as_str()).collect();
        names.sort_by_key(|known| far(known));
        names.into_iter().take(OFFERED).map(str::to_owned).collect()
    }
}

impl SlashMatch<'_> {
    /// The command, if it is one for the terminal alone, with what follows its name.
    pub fn terminal_command(&self) -> Option<(TerminalCommand, &str)> {
        match self.action {
            SlashAction::Terminal(screen) => Some((*screen, &self.rest)),
            SlashAction::BuiltIn(_) | SlashAction::File(_) | SlashAction::Skill(_) => None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.command.name
    }
}

impl SlashOutcome {
    /// What is said of a command that was not run; nothing of one that was.
    pub fn complaint(&self) -> Option<String> {
        match self {
            SlashOutcome::Unknown { name, nearest } => Some(unknown_command(name, nearest)),
            SlashOutcome::Refused(why) => Some(why.clone()),
            SlashOutcome::NotACommand
            | SlashOutcome::Prompt(_)
            | SlashOutcome::Text(_)
            | SlashOutcome::Done { .. }
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
    fn of_two_with_the_same_name_the_stronger_counts() {
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
    fn what_resolves_to_nothing_is_told_with_what_was_meant() {
        let registry = registry();
        let problem = |text: &str| match registry.parse(text) {
            SlashLookup::Unavailable(outcome) => outcome.complaint().unwrap(),
            SlashLookup::NotACommand | SlashLookup::Command(_) => panic!("{text} is known"),
        };
        assert!(problem("/hlep").contains("did you mean /help?"), "{}", problem("/hlep"));
        assert!(problem("/agen x").contains("/agent or /agents"), "{}", problem("/agen x"));
        assert_eq!(problem("/frobnicate"), "there is no /frobnicate; /help lists what there is");
        assert_eq!(problem("/every 5m"), "/every is not in this version");
        assert!(problem("/evil").contains("`bosun trust`"));
        assert!(problem(&format!("/{}", "x".repeat(1_000_000))).len() < 200);
    }

    #[test]
    fn names_have_aliases_and_beginnings() {
        let registry = registry();
        let name = |text: &str| match registry.parse(text) {
            SlashLookup::Command(found) => found.name().to_owned(),
            SlashLookup::Unavailable(_) | SlashLookup::NotACommand => panic!("{text} is not known"),
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
