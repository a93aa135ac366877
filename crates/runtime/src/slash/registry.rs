//! Every slash command there is. Of two with the same name the stronger counts: what is built in, then files of the
//! project, of the user and of plugins, then skills.

use protocol::api::{SlashKind, SlashView};
use protocol::{SkillSpec, SlashSpec, Source};

use super::Screen;
use super::built_in::{ALIASES, BuiltIn, By, LATER, TABLE};
use super::outcome::{Outcome, unknown};
use super::parse::{normal, parse};
use crate::Catalog;

/// A slash command as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slash {
    /// What follows the slash.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What may follow its name.
    pub hint: Option<String>,
    /// What it is made of.
    pub kind: SlashKind,
    /// Where it was written.
    pub source: Source,
}

/// What performs a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Deed {
    BuiltIn(BuiltIn),
    Screen(Screen),
    File(SlashSpec),
    Skill(SkillSpec),
}

/// Every slash command there is.
#[derive(Debug, Default)]
pub struct Registry {
    rows: Vec<(Slash, Deed)>,
    /// Files of a project that nobody has trusted.
    untrusted: Vec<SlashSpec>,
}

/// What a text means, before anything is done.
#[derive(Debug)]
pub enum Looked<'a> {
    /// It is for the model as it is.
    NotACommand,
    /// It is a command, and this follows its name.
    Known(Found<'a>),
    /// It is one that cannot be run, or none.
    Not(Outcome),
}

/// A command that was found, and what follows its name.
#[derive(Debug)]
pub struct Found<'a> {
    pub(super) slash: &'a Slash,
    pub(super) deed: &'a Deed,
    pub(super) rest: String,
}

impl Registry {
    /// The commands of a catalogue, with those that are built in.
    pub fn of(catalog: &Catalog) -> Registry {
        let mut registry = Registry { untrusted: catalog.untrusted.clone(), ..Registry::default() };
        for row in &TABLE {
            let (kind, deed) = match row.by {
                By::Runtime(built_in) => (SlashKind::BuiltIn, Deed::BuiltIn(built_in)),
                By::Terminal(screen) => (SlashKind::Screen, Deed::Screen(screen)),
            };
            let hint = (!row.hint.is_empty()).then(|| row.hint.to_owned());
            let (name, description, source) = (row.name.to_owned(), row.about.to_owned(), Source::BuiltIn);
            registry.add(Slash { name, description, hint, kind, source }, deed);
        }
        for spec in &catalog.slashes {
            let SlashSpec { name, description, hint, source, .. } = spec.clone();
            registry.add(Slash { name, description, hint, kind: SlashKind::File, source }, Deed::File(spec.clone()));
        }
        for spec in catalog.skills.iter().filter(|skill| skill.user_invocable) {
            let SkillSpec { name, description, source, .. } = spec.clone();
            let slash = Slash { name, description, hint: None, kind: SlashKind::Skill, source };
            registry.add(slash, Deed::Skill(spec.clone()));
        }
        registry
    }

    /// Every command, the strongest first.
    pub fn slashes(&self) -> impl Iterator<Item = &Slash> {
        self.rows.iter().map(|(slash, _)| slash)
    }

    /// Every command in a line.
    pub fn help(&self) -> String {
        let lines = self.slashes().map(|slash| {
            let usage = format!("/{} {}", slash.name, slash.hint.as_deref().unwrap_or_default());
            format!("{:<31} {}", usage.trim_end(), slash.description)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Whether a command of this name is part of the program, so that no file can be it.
    pub fn is_built_in(name: &str) -> bool {
        let name = normal(name);
        TABLE.iter().any(|row| row.name == name)
            || LATER.contains(&name.as_str())
            || ALIASES.iter().any(|(alias, _)| *alias == name)
    }

    /// Tells what a text means.
    pub fn look(&self, text: &str) -> Looked<'_> {
        match parse(text) {
            Some(typed) => self.find(&typed.name, typed.rest),
            None => Looked::NotACommand,
        }
    }

    /// Finds a command by its name.
    pub(super) fn find(&self, name: &str, rest: &str) -> Looked<'_> {
        let name = normal(name);
        let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name.as_str(), |(_, name)| name);
        if let Some((slash, deed)) = self.rows.iter().find(|(slash, _)| slash.name == name) {
            return Looked::Known(Found { slash, deed, rest: rest.to_owned() });
        }
        if LATER.contains(&name) {
            return Looked::Not(Outcome::Refused(format!("/{name} is not in this version")));
        }
        if let Some(spec) = self.untrusted.iter().find(|spec| spec.name == name) {
            let words = format!(
                "/{name} is in {}, and you have not trusted the project; look at it, then `bosun trust`",
                spec.file
            );
            return Looked::Not(Outcome::Refused(words));
        }
        Looked::Not(Outcome::Unknown { name: name.to_owned(), nearest: self.nearest(name) })
    }

    /// What the beginning of a command can become.
    pub fn completions(&self, line: &str) -> Vec<&str> {
        let Some(begun) = line.strip_prefix('/') else { return Vec::new() };
        self.slashes().map(|slash| slash.name.as_str()).filter(|name| name.starts_with(begun)).collect()
    }

    /// The commands as clients see them.
    pub(crate) fn views(&self) -> Vec<SlashView> {
        let view = |slash: &Slash| {
            let Slash { name, description, hint, kind, source } = slash.clone();
            SlashView { name, description, hint, kind, source: source.to_string() }
        };
        self.slashes().map(view).collect()
    }

    fn add(&mut self, slash: Slash, deed: Deed) {
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
        let near = |slash: &&Slash| far(&slash.name) <= 2.min(name.chars().count() / 2) || begins(&slash.name);
        let mut names: Vec<&str> = self.slashes().filter(near).map(|slash| slash.name.as_str()).collect();
        names.sort_by_key(|known| far(known));
        names.into_iter().take(OFFERED).map(str::to_owned).collect()
    }
}

impl Found<'_> {
    /// The command, if it is one for the terminal alone, with what follows its name.
    pub fn screen(&self) -> Option<(Screen, &str)> {
        match self.deed {
            Deed::Screen(screen) => Some((*screen, &self.rest)),
            Deed::BuiltIn(_) | Deed::File(_) | Deed::Skill(_) => None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.slash.name
    }
}

impl Outcome {
    /// What is said of a command that was not run; nothing of one that was.
    pub fn complaint(&self) -> Option<String> {
        match self {
            Outcome::Unknown { name, nearest } => Some(unknown(name, nearest)),
            Outcome::Refused(why) => Some(why.clone()),
            Outcome::NotACommand
            | Outcome::Prompt(_)
            | Outcome::Told(_)
            | Outcome::Done { .. }
            | Outcome::Screen(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, source: Source) -> SlashSpec {
        SlashSpec { name: name.into(), description: format!("{source}"), source, ..SlashSpec::default() }
    }

    fn skill(name: &str, user_invocable: bool) -> SkillSpec {
        SkillSpec { name: name.into(), user_invocable, ..SkillSpec::default() }
    }

    fn registry() -> Registry {
        Registry::of(&Catalog {
            slashes: vec![
                file("fleet", Source::Project { path: "p".into() }),
                file("ship", Source::Project { path: "p".into() }),
                file("ship", Source::User { path: "u".into() }),
                file("tools:fix", Source::Plugin { plugin: "tools".into(), path: "t".into() }),
            ],
            skills: vec![skill("ship", true), skill("pdf", true), skill("hidden", false)],
            untrusted: vec![SlashSpec { file: ".claude/commands/evil.md".into(), ..file("evil", Source::Flag) }],
            ..Catalog::default()
        })
    }

    #[test]
    fn s1_of_two_with_the_same_name_the_stronger_counts() {
        let registry = registry();
        let kind = |name: &str| registry.slashes().find(|slash| slash.name == name).map(|slash| slash.kind);
        assert_eq!(kind("fleet"), Some(SlashKind::BuiltIn));
        assert_eq!(kind("tools:fix"), Some(SlashKind::File));
        assert_eq!(kind("pdf"), Some(SlashKind::Skill));
        assert_eq!(kind("hidden"), None);
        let ships: Vec<&Slash> = registry.slashes().filter(|slash| slash.name == "ship").collect();
        assert_eq!((ships.len(), &ships[0].source), (1, &Source::Project { path: "p".into() }));
    }

    #[test]
    fn s1_what_resolves_to_nothing_is_told_with_what_was_meant() {
        let registry = registry();
        let problem = |text: &str| match registry.look(text) {
            Looked::Not(outcome) => outcome.complaint().unwrap(),
            Looked::NotACommand | Looked::Known(_) => panic!("{text} is known"),
        };
        assert!(problem("/hlep").contains("did you mean /help?"), "{}", problem("/hlep"));
        assert!(problem("/agen x").contains("/agent or /agents"), "{}", problem("/agen x"));
        assert_eq!(problem("/frobnicate"), "there is no /frobnicate; /help lists what there is");
        assert_eq!(problem("/every 5m"), "/every is not in this version");
        assert!(problem("/evil").contains("`bosun trust`"));
        assert!(problem(&format!("/{}", "x".repeat(1_000_000))).len() < 200);
    }

    #[test]
    fn s1_names_have_aliases_and_beginnings() {
        let registry = registry();
        let name = |text: &str| match registry.look(text) {
            Looked::Known(found) => found.name().to_owned(),
            Looked::Not(_) | Looked::NotACommand => panic!("{text} is not known"),
        };
        assert_eq!(["/quit", "/?", "/Security_Review"].map(name), ["exit", "help", "security-review"]);
        assert_eq!(registry.completions("/mo"), ["model", "mode"]);
        assert!(registry.completions("mo").is_empty());
        assert!(Registry::is_built_in("Fleet") && Registry::is_built_in("every") && !Registry::is_built_in("ship"));
    }
}
