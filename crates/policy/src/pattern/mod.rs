//! What a rule matches, read once from its text.

mod command;
mod host;
pub(crate) mod interpreters;
mod names;
mod path;
mod words;

pub(crate) use command::{CommandPattern, bare, exact};
pub(crate) use host::HostPattern;
pub(crate) use path::{File, PathPattern, Place, escaped};
pub(crate) use words::{WordPattern, quoted};

pub(crate) use names::Kind;
use names::Name;

use crate::request::Part;
use crate::rule::Strength;

/// Which calls a rule matches.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    /// The one tool it is about; any tool that does such a thing when absent.
    tool: Option<WordPattern>,
    what: What,
}

/// What a call must do.
#[derive(Debug, Clone)]
enum What {
    /// Whatever it does.
    Anything,
    Shell(Option<CommandPattern>),
    Read(Option<PathPattern>),
    Edit(Option<PathPattern>),
    Fetch(Option<HostPattern>),
    Agent(Option<WordPattern>),
    /// Something only a tool that is not known yet could tell.
    Opaque,
}

impl What {
    /// What the calls it is about do, if that can be told.
    fn kind(&self) -> Option<Kind> {
        match self {
            What::Anything | What::Opaque => None,
            What::Shell(_) => Some(Kind::Shell),
            What::Read(_) => Some(Kind::Read),
            What::Edit(_) => Some(Kind::Edit),
            What::Fetch(_) => Some(Kind::Fetch),
            What::Agent(_) => Some(Kind::Agent),
        }
    }

    /// Whether it is about every such call.
    fn is_whole(&self) -> bool {
        matches!(
            self,
            What::Anything
                | What::Shell(None)
                | What::Read(None)
                | What::Edit(None)
                | What::Fetch(None)
                | What::Agent(None)
        )
    }
}

/// Whether a rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Match {
    No,
    /// It might: only running the call would tell.
    Possible,
    Certain,
    /// It matches this command and no other.
    Exact,
}

impl Match {
    pub(crate) fn certain(yes: bool) -> Match {
        if yes { Match::Certain } else { Match::No }
    }
}

/// Whether Bosun has a tool or a family of tools of this name.
pub(crate) fn is_known(tool: &str) -> bool {
    names::kind_of(tool).is_some()
}

/// Reads a tool and what stood in its parentheses. Gives the pattern and the rule in our own words.
pub(crate) fn parse(tool: &str, inner: Option<&str>) -> Result<(Pattern, String), String> {
    let name = Name::read(tool)?;
    let inner = inner.map(str::trim);
    if inner == Some("") {
        return Err(format!("its parentheses are empty; leave them out to mean every use of {}", name.shown));
    }
    let host = |text: &str| HostPattern::parse(text.strip_prefix("domain:").unwrap_or(text));
    let what = match (name.kind, inner) {
        (Kind::Session | Kind::Other, None) => What::Anything,
        (Kind::Session | Kind::Other, Some(_)) => What::Opaque,
        (Kind::Shell, None | Some("*" | ":*")) => What::Shell(None),
        (Kind::Shell, Some(text)) => What::Shell(Some(CommandPattern::parse(text)?)),
        (Kind::Read, text) => What::Read(text.map(PathPattern::parse).transpose()?),
        (Kind::Edit, text) => What::Edit(text.map(PathPattern::parse).transpose()?),
        (Kind::Fetch, text) => What::Fetch(text.map(host).transpose()?),
        (Kind::Agent, text) => What::Agent(text.map(WordPattern::glob)),
    };
    let shown = match (name.kind, inner) {
        (_, None) => name.shown,
        (Kind::Fetch, Some(text)) => format!("{}({})", name.shown, text.strip_prefix("domain:").unwrap_or(text)),
        (_, Some(text)) => format!("{}({text})", name.shown),
    };
    Ok((Pattern { tool: name.only, what }, shown))
}

/// What the calls of a tool do, and a tool that does so.
pub(crate) fn tool(name: &str) -> Result<(Kind, String), String> {
    let name = Name::read(name)?;
    let usual = match (name.kind, &name.only) {
        (Kind::Read, None) => "view",
        (Kind::Fetch, None) => "web_fetch",
        (_, Some(_)) | (Kind::Shell | Kind::Edit | Kind::Agent | Kind::Session | Kind::Other, None) => &name.shown,
    };
    Ok((name.kind, usual.to_owned()))
}

/// Whether a rule of this name is about more tools than one.
pub(crate) fn is_family(name: &str) -> bool {
    Name::read(name).is_ok_and(|name| name.only.is_none())
}

impl Pattern {
    /// Whether a call of this tool that would do this is meant.
    pub(crate) fn matches(&self, tool: &str, part: &Part<'_>, place: &Place<'_>, strength: Strength) -> Match {
        if self.tool.as_ref().is_some_and(|only| !only.matches(tool)) {
            return Match::No;
        }
        match (&self.what, part) {
            (What::Anything, _) => Match::Certain,
            (What::Opaque, _) => Match::certain(strength == Strength::Forbids),
            (What::Shell(None), Part::Command(..) | Part::Look(..) | Part::Unread)
            | (What::Read(None), Part::Read(_) | Part::ReadUnknown)
            | (What::Edit(None), Part::Edit(_) | Part::EditUnknown)
            | (What::Agent(None), Part::Agent(_)) => Match::Certain,
            (What::Agent(Some(pattern)), Part::Agent(name)) => Match::certain(pattern.matches(name)),
            (What::Shell(Some(pattern)), Part::Command(simple, company) | Part::Look(simple, company)) => {
                match strength {
                    Strength::Permits => pattern.permits(simple, *company),
                    Strength::Forbids => pattern.forbids(simple),
                }
            }
            (What::Read(Some(pattern)), Part::Read(file)) | (What::Edit(Some(pattern)), Part::Edit(file)) => {
                Match::certain(match strength {
                    Strength::Permits => pattern.permits(file, place),
                    Strength::Forbids => pattern.forbids(file, place),
                })
            }
            (What::Shell(Some(_)), Part::Unread)
            | (What::Read(Some(_)), Part::ReadUnknown)
            | (What::Edit(Some(_)), Part::EditUnknown) => match strength {
                Strength::Permits => Match::No,
                Strength::Forbids => Match::Possible,
            },
            (What::Fetch(pattern), Part::Page(address)) => Match::certain(match (pattern, strength) {
                (None, Strength::Permits) => address.is_public(),
                (None, Strength::Forbids) => true,
                (Some(pattern), Strength::Permits) => pattern.permits(address),
                (Some(pattern), Strength::Forbids) => pattern.forbids(address),
            }),
            // A program brought a tool of that name along, and only it knows what a call does.
            (what, Part::Other) if what.kind() == names::kind_of(tool) => match (what.is_whole(), strength) {
                (true, _) => Match::Certain,
                (false, Strength::Forbids) => Match::Possible,
                (false, Strength::Permits) => Match::No,
            },
            (What::Shell(_) | What::Read(_) | What::Edit(_) | What::Fetch(_) | What::Agent(_), _) => Match::No,
        }
    }

    /// Whether it is about files that are read.
    pub(crate) fn is_of_files(&self) -> bool {
        matches!(self.what, What::Read(_))
    }

    /// The hosts it is about, if it names any.
    pub(crate) fn host(&self) -> Option<&HostPattern> {
        match &self.what {
            What::Fetch(Some(pattern)) => Some(pattern),
            What::Anything
            | What::Shell(_)
            | What::Read(_)
            | What::Edit(_)
            | What::Fetch(None)
            | What::Agent(_)
            | What::Opaque => None,
        }
    }
}
