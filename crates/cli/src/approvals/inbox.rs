//! What waits for a person, gathered from the sessions' own files.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use host::{Clock, Home, SystemClock};
use protocol::api::{AskState, AskView, Command};
use protocol::{AskId, Decision};
use protocol::{At, SessionId};
use store::{Index, Reader, StoreError};

use crate::deliver::live_owner;
use crate::exact::exact;
use crate::failure::Failure;
use crate::{print, run, time};

/// A number that was decided on within this time may be the one that somebody types.
const LATELY: Duration = Duration::from_secs(600);

/// Where asks are looked for.
#[derive(Debug)]
pub(super) struct Inbox<'a> {
    home: &'a Home,
}

/// One ask, with what there is to know of its session.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) view: AskView,
    /// The folder its session works in.
    pub(super) cwd: PathBuf,
    /// What its session is about.
    pub(super) title: String,
    /// The process that runs the session.
    pub(super) owner: Option<u32>,
    /// What was decided, and is left for the next process that runs the session.
    pub(super) left: Option<Decision>,
}

/// Which asks of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Open,
    All,
}

impl Inbox<'_> {
    pub(super) fn new(home: &Home) -> Inbox<'_> {
        Inbox { home }
    }

    /// What waits, oldest first: in one session, or in all that are not at rest.
    pub(super) fn waiting(&self, session: Option<&str>) -> Result<Vec<Waiting>, Failure> {
        let sessions = match session {
            Some(prefix) => vec![run::find(self.home, prefix)?],
            None => self.unsettled()?,
        };
        Ok(self.gather(&sessions, Which::Open))
    }

    /// The one ask that this names, whatever became of it: by its number, or by the beginning of its id.
    pub(super) fn find(&self, name: &str) -> Result<Waiting, Failure> {
        let unsettled = self.unsettled()?;
        let open = self.gather(&unsettled, Which::Open);
        let numbered = numbered(&open, name);
        if !numbered.is_empty() {
            let all = self.gather(&unsettled, Which::All);
            return the_number(numbered, &all, SystemClock.now());
        }
        let begins = |waiting: Vec<Waiting>| -> Vec<Waiting> {
            waiting.into_iter().filter(|waiting| is_named(&waiting.view.ask.id, name)).collect()
        };
        let mut found = begins(open);
        if found.is_empty() {
            let all = self.gather(&unsettled, Which::All);
            found = self::numbered(&all, name);
            if found.is_empty() {
                found = begins(all);
            }
        }
        if found.is_empty() {
            // It may have been decided in a session that is over by now.
            found = begins(self.gather(&self.every()?, Which::All));
        }
        match (found.pop(), found.is_empty()) {
            (Some(waiting), true) => Ok(waiting),
            (Some(waiting), false) => {
                let ids: Vec<&str> = found.iter().chain([&waiting]).map(|each| each.view.ask.id.0.as_str()).collect();
                let ids = ids[..ids.len().min(5)].join(", ");
                Err(Failure::usage(format!("several asks begin with `{}`: {ids}", print::plain(name)))
                    .hint("give more of the id"))
            }
            (None, _) => Err(Failure::usage(format!("nothing that was asked begins with `{}`", print::plain(name)))
                .hint("`bosun approvals` lists what waits for you")),
        }
    }

    /// The same, if it can still be decided.
    pub(super) fn open(&self, prefix: &str) -> Result<Waiting, Failure> {
        let waiting = self.find(prefix)?;
        let id = waiting.view.ask.id.short();
        match (&waiting.view.state, &waiting.left) {
            (AskState::Open, None) => Ok(waiting),
            (AskState::Open, Some(decision)) => {
                let session = waiting.view.session;
                Err(Failure::usage(format!("{id} is {} already, and waits for its session", decision.word()))
                    .hint(format!("go on with: bosun --resume {session}")))
            }
            (state @ (AskState::Decided { .. } | AskState::Withdrawn), _) => {
                Err(Failure::usage(format!("{id} {}", over(state))).hint("`bosun approvals` lists what waits for you"))
            }
        }
    }

    /// Those that these numbers and prefixes name, each once; nothing is decided when one of them is wrong.
    pub(super) fn all_open(&self, prefixes: &[String]) -> Result<Vec<Waiting>, Failure> {
        let mut known = BTreeSet::new();
        let found = prefixes.iter().map(|prefix| self.open(prefix)).collect::<Result<Vec<_>, Failure>>()?;
        Ok(found.into_iter().filter(|waiting| known.insert(waiting.view.ask.id.clone())).collect())
    }

    fn unsettled(&self) -> Result<Vec<SessionId>, Failure> {
        let rows = Index::open(self.home)?.agree(self.home)?.unsettled()?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }

    fn every(&self) -> Result<Vec<SessionId>, Failure> {
        let rows = Index::open(self.home)?.agree(self.home)?.list(None)?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }

    /// The asks of these sessions, oldest first. One that cannot be read hides no other.
    fn gather(&self, sessions: &[SessionId], which: Which) -> Vec<Waiting> {
        let mut gathered = Vec::new();
        for id in sessions {
            match self.of_session(*id, which) {
                Ok(waiting) => gathered.extend(waiting),
                // It was removed meanwhile.
                Err(StoreError::Missing { .. }) => {}
                Err(error) => print::note(format_args!("{id} cannot be read: {error}")),
            }
        }
        gathered.sort_by_key(|waiting| waiting.view.asked_at);
        gathered
    }

    fn of_session(&self, id: SessionId, which: Which) -> Result<Vec<Waiting>, StoreError> {
        let reader = Reader::open(self.home, id)?;
        let asks = reader.asks(which == Which::All)?;
        if asks.is_empty() {
            return Ok(Vec::new());
        }
        let session = reader.session_view()?;
        let owner = live_owner(&reader)?;
        let commands = reader.pending_commands()?;
        let waiting = |view: AskView| {
            let left = left(&commands, &view.ask.id).cloned();
            Waiting { view, cwd: (&session.cwd).into(), title: session.title.clone(), owner, left }
        };
        Ok(asks.into_iter().map(waiting).collect())
    }
}

/// The first decision on an ask that lies in a session's file: it is the one that counts.
pub(super) fn left<'a>(commands: &'a [(i64, Command)], ask: &AskId) -> Option<&'a Decision> {
    commands.iter().find_map(|(_, command)| match command {
        Command::Decide(params) if params.ask == *ask => Some(&params.decision),
        Command::Decide(_)
        | Command::Send(_)
        | Command::Interrupt
        | Command::Stop
        | Command::StopTask(_)
        | Command::StopFleet
        | Command::Promote(_)
        | Command::Forget(_)
        | Command::SetMode(_) => None,
    })
}

/// How something that is no longer open ended.
pub(super) fn over(state: &AskState) -> String {
    let local = |at: &At| time::local(*at, SystemClock.now());
    match state {
        AskState::Open => "is open".into(),
        AskState::Decided { decision, by: protocol::DecidedBy::User, at } => {
            format!("was {} at {}", decision.word(), local(at))
        }
        AskState::Decided { by: protocol::DecidedBy::Deadline, at, .. } => {
            format!("was denied at {}, since nobody had decided it in time", local(at))
        }
        AskState::Withdrawn => "was withdrawn: its call ended without it".into(),
    }
}

/// Those whose number in their session this is.
fn numbered(waiting: &[Waiting], name: &str) -> Vec<Waiting> {
    let number = name.parse::<u64>().ok().filter(|_| name.bytes().all(|byte| byte.is_ascii_digit()));
    waiting.iter().filter(|waiting| Some(waiting.view.number) == number).cloned().collect()
}

/// The one open ask with a number, if nobody can have meant another: sessions number their asks each for itself, and
/// the one that was meant may have been decided a moment ago.
fn the_number(mut open: Vec<Waiting>, all: &[Waiting], now: At) -> Result<Waiting, Failure> {
    let Some(first) = open.pop() else { return Err(Failure::usage("there is no ask with this number")) };
    let lately = |at: At| now.since(at) < LATELY;
    let is_lately = |state: &AskState, asked_at: At| match state {
        AskState::Open => true,
        AskState::Decided { at, .. } => lately(*at),
        AskState::Withdrawn => lately(asked_at),
    };
    let number = first.view.number;
    let others = all.iter().filter(|other| {
        let view = &other.view;
        view.number == number && view.session != first.view.session && is_lately(&view.state, view.asked_at)
    });
    let others: Vec<&Waiting> = others.collect();
    if others.is_empty() {
        return Ok(first);
    }
    let named = |waiting: &&Waiting| {
        let over = match waiting.view.state {
            AskState::Open => String::new(),
            AskState::Decided { .. } | AskState::Withdrawn => " (no longer open)".into(),
        };
        let title = exact(&print::one_line(&waiting.title, 36));
        format!("{}{over} in {}: {title}", waiting.view.ask.id.short(), waiting.view.session)
    };
    let all: Vec<String> = [&first].iter().chain(&others).take(5).map(named).collect();
    Err(Failure::usage(format!("several sessions have an ask {number}:\n  {}", all.join("\n  ")))
        .hint(format!("give the id instead, such as {}", first.view.ask.id.short())))
}

fn is_named(id: &AskId, prefix: &str) -> bool {
    !prefix.is_empty() && id.0.starts_with(&prefix.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use protocol::{Ask, CallId, DecidedBy, Subject, TaskId};

    use super::*;

    fn ask(session: u128, number: u64, state: AskState) -> Waiting {
        let subject = Subject::Question { question: "Which?".into(), choices: Vec::new() };
        let ask = Ask {
            id: AskId(format!("{session}{number}abcdef012345")),
            call: CallId("c".into()),
            subject,
            until_at: None,
        };
        let (session, task) = (SessionId::new(uuid::Uuid::from_u128(session)), TaskId::new(uuid::Uuid::nil()));
        let view = AskView { session, number, task, path: "/root".into(), asked_at: At(1_000), ask, state };
        Waiting { view, cwd: "/".into(), title: "a title".into(), owner: None, left: None }
    }

    fn decided(at: u64) -> AskState {
        let decision = Decision::Deny { words: String::new() };
        AskState::Decided { decision, by: DecidedBy::User, at: At(at) }
    }

    fn meant(all: &[Waiting], name: &str, now: u64) -> Result<AskId, String> {
        let open: Vec<Waiting> = all.iter().filter(|ask| ask.view.state == AskState::Open).cloned().collect();
        let found = the_number(numbered(&open, name), all, At(now));
        found.map(|waiting| waiting.view.ask.id).map_err(|failure| failure.to_string())
    }

    /// B5: twelve digits are too many to type.
    #[test]
    fn an_ask_goes_by_its_number_unless_that_could_mean_another() {
        let one = [ask(1, 1, decided(0)), ask(1, 2, AskState::Open), ask(1, 3, AskState::Open)];
        assert_eq!(meant(&one, "2", 0), Ok(AskId("12abcdef012345".into())));
        assert!(numbered(&one, "02a").is_empty() && numbered(&one, "+2").is_empty() && numbered(&one, "").is_empty());
        let two = [one.as_slice(), &[ask(2, 2, AskState::Open)]].concat();
        let error = meant(&two, "2", 0).unwrap_err();
        for part in ["several sessions have an ask 2", "12abcdef0123 in ses-", "22abcdef0123 in ses-", ": a title"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn a_number_that_was_decided_a_moment_ago_is_not_taken_for_that_of_another_session() {
        let all = [ask(1, 2, decided(5_000)), ask(2, 2, AskState::Open)];
        assert!(meant(&all, "2", 6_000).unwrap_err().contains("(no longer open)"));
        assert_eq!(meant(&all, "2", 5_000 + 600_000), Ok(AskId("22abcdef012345".into())));
    }
}
