//! What waits for a person, gathered from the sessions' own files.

use std::collections::BTreeSet;
use std::path::PathBuf;

use host::Home;
use protocol::SessionId;
use protocol::api::{AskState, AskView, Command};
use protocol::{AskId, Decision};
use store::{Index, Reader, StoreError};

use crate::deliver::live_owner;
use crate::failure::Failure;
use crate::print;
use crate::run;

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

    /// The one ask whose id begins like this, whatever became of it.
    pub(super) fn find(&self, prefix: &str) -> Result<Waiting, Failure> {
        let unsettled = self.unsettled()?;
        let named = |waiting: Vec<Waiting>| -> Vec<Waiting> {
            waiting.into_iter().filter(|waiting| is_named(&waiting.view.ask.id, prefix)).collect()
        };
        let mut found = named(self.gather(&unsettled, Which::Open));
        if found.is_empty() {
            found = named(self.gather(&unsettled, Which::All));
        }
        if found.is_empty() {
            // It may have been decided in a session that is over by now.
            found = named(self.gather(&self.every()?, Which::All));
        }
        match (found.pop(), found.is_empty()) {
            (Some(waiting), true) => Ok(waiting),
            (Some(waiting), false) => {
                let ids: Vec<&str> = found.iter().chain([&waiting]).map(|each| each.view.ask.id.0.as_str()).collect();
                let ids = ids[..ids.len().min(5)].join(", ");
                Err(Failure::usage(format!("several asks begin with `{}`: {ids}", print::plain(prefix)))
                    .hint("give more of the id"))
            }
            (None, _) => Err(Failure::usage(format!("nothing that was asked begins with `{}`", print::plain(prefix)))
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

    /// Those that these prefixes name, each once; nothing is decided when one of them is wrong.
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
    match state {
        AskState::Open => "is open".into(),
        AskState::Decided { decision, by: protocol::DecidedBy::User, at } => format!("was {} at {at}", decision.word()),
        AskState::Decided { by: protocol::DecidedBy::Deadline, at, .. } => {
            format!("was denied at {at}, since nobody had decided it in time")
        }
        AskState::Withdrawn => "was withdrawn: its call ended without it".into(),
    }
}

fn is_named(id: &AskId, prefix: &str) -> bool {
    !prefix.is_empty() && id.0.starts_with(&prefix.to_ascii_lowercase())
}
