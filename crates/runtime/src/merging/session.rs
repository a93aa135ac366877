//! Merging in a session.

use std::path::PathBuf;
use std::sync::Arc;

use git::{
    BaseCommit, CheckoutId, CheckoutRequest as CheckoutOrder, Commit, Git, MergePart, MergeQueue, MergeWorkspace,
    Repository, ScratchCheckout,
};
use kernel::{Graph, Standing};
use protocol::{FleetTerms, Isolation, TaskId, Todo, TodoId};
use tokio::sync::{Mutex, watch};

use super::aide::Aide;
use super::finish::{Harvest, Wish};
use super::gather::Crop;
use super::join::{joined, signature};
use super::order::Order;
use super::summary::{Fit, Fitted, Summary, Taken};
use super::works::Works;
use crate::agent::Desk;
use crate::fleet::Done;
use crate::supervisor::Supervisor;

/// Merges what the workers of a session's fleet brought.
#[derive(Debug)]
pub struct Merging {
    pub(super) desk: Arc<Desk>,
    pub(super) supervisor: Supervisor,
    pub(super) root: TaskId,
    pub(super) works: Mutex<Works>,
    /// Held while an agent for a conflict is looked for and started, so that there is one.
    pub(super) starting: Mutex<()>,
    /// What became of the latest fleet's work.
    summary: watch::Sender<Option<Summary>>,
}

/// What merging asks of the session, for one fleet.
pub(super) struct Hands<'a> {
    pub(super) merging: &'a Merging,
    pub(super) terms: &'a FleetTerms,
    pub(super) todos: Vec<Todo>,
    /// The way from the top of the repository to the folder that the session works in.
    pub(super) below: PathBuf,
}

impl Merging {
    pub(crate) fn new(desk: Arc<Desk>, supervisor: Supervisor, root: TaskId) -> Merging {
        let (works, starting) = (Mutex::default(), Mutex::default());
        Merging { desk, supervisor, root, works, starting, summary: watch::Sender::default() }
    }

    /// Where the worker that does this todo works: in a checkout that begins with what the todos above it brought. Says in
    /// words why there is none.
    pub async fn place(&self, terms: &FleetTerms, todo: &Todo) -> Result<Option<Isolation>, String> {
        if !terms.isolated {
            return Ok(None);
        }
        let (order, _is_done) = self.graph().await?;
        let repository = self.repository().await?;
        let hands = self.hands(terms, &repository)?;
        let (outset, parts) = {
            let mut works = self.works.lock().await;
            self.catch_up(&mut works)?;
            let outset = self.outset(&repository, terms, works.fleets).await?;
            let mut above: Vec<TodoId> = order.above(&todo.id).into_iter().collect();
            order.sort(&mut above);
            let part = |id: &TodoId| {
                let (name, title) = (id.0.clone(), hands.title(id));
                Some(MergePart { name, title, commit: works.brought.get(id)?.clone() })
            };
            (outset, above.iter().filter_map(part).collect::<Vec<_>>())
        };
        let base = joined(repository.git(), &outset.base, &parts, &hands).await?;
        Ok(Some(Isolation::Worktree { base: Some(base.to_string()), dirty: false }))
    }

    /// Brings the work of everything that is done together, and gives it to the user. Says in words why it could not; what
    /// was merged until then stays so.
    pub async fn gather(&self, terms: &FleetTerms, done: &[Done]) -> Result<Summary, String> {
        let (order, is_done) = self.graph().await?;
        let repository = self.repository().await?;
        let hands = self.hands(terms, &repository)?;
        let mut read = Works::default();
        self.catch_up(&mut read)?;
        read.keep(done);
        let outset = self.outset(&repository, terms, read.fleets).await?;
        let refs = self.refs(read.fleets);
        let tip = read.tip.clone().unwrap_or_else(|| outset.base.clone());
        let scratch = self.scratch(&repository, &tip).await?;
        let crop = Crop { works: &read, order: &order, aide: &hands };
        let parts = crop.parts();
        let clashes = git::predict(&scratch.aside(repository.git()), &outset.base, &parts).await.map_err(words)?;
        let yard = MergeWorkspace {
            repository: repository.git().clone(),
            scratch,
            pin: format!("{refs}/merged"),
            by: signature(),
        };
        let mut queue = MergeQueue::new(yard, tip);
        let fits = crop.run(&mut queue, &parts).await?;
        let (yard, tip) = queue.end();
        let is_green = is_done && fits.iter().all(|fit| *fit == Fit::Merged);
        let branch = format!("bosun/fleet-{}", self.short());
        let message =
            message(terms, parts.iter().zip(&fits).filter(|(_, fit)| **fit == Fit::Merged).map(|(part, _)| part));
        let harvest = Harvest {
            git: repository.git(),
            scratch: &yard.scratch,
            outset: &outset,
            tip: &tip,
            refs: &refs,
            message: &message,
            branch: &branch,
        };
        let taken = harvest.give(wish(terms, is_green)).await?;
        let stat = harvest.stat().await?;
        yard.scratch.remove();
        let left = if is_green { self.clear(&read, repository.git(), &tip).await } else { Vec::new() };
        if let (Taken::Landed { .. }, true) = (&taken, is_green) {
            self.drop_landed(repository.git(), &tip).await;
        }
        let fitted =
            |(part, fit): (MergePart, Fit)| Fitted { todo: TodoId(part.name), work: part.commit.to_string(), fit };
        let summary = Summary {
            todos: parts.into_iter().zip(fits).map(fitted).collect(),
            foreseen: clashes.into_iter().map(|clash| (TodoId(clash.a), TodoId(clash.b))).collect(),
            base: outset.base.to_string(),
            tip: tip.to_string(),
            stat,
            taken,
            left,
        };
        self.summary.send_replace(Some(summary.clone()));
        Ok(summary)
    }

    /// What became of the latest fleet's work, once it was gathered in this process.
    pub fn summary(&self) -> Option<Summary> {
        self.summary.borrow().clone()
    }

    pub(super) fn catch_up(&self, works: &mut Works) -> Result<(), String> {
        let reader = self.desk.reader().map_err(|error| error.to_string())?;
        works.catch_up(&reader).map_err(|error| error.to_string())
    }

    /// The last event there is.
    pub(super) fn last_seq(&self) -> Result<u64, String> {
        let view = self.desk.reader().and_then(|reader| reader.session_view());
        view.map(|view| view.events).map_err(|error| error.to_string())
    }

    /// The order of the graph, and whether every todo is done.
    async fn graph(&self) -> Result<(Order, bool), String> {
        let is_done = |graph: &Graph| graph.nodes().all(|(_, node)| node.standing == Standing::Done);
        let look = move |kernel: &kernel::Kernel| (Order::of(kernel.graph()), is_done(kernel.graph()));
        self.supervisor.look(look).await.map_err(|rejected| rejected.to_string())
    }

    fn hands<'a>(&'a self, terms: &'a FleetTerms, repository: &Repository) -> Result<Hands<'a>, String> {
        let rows = self.desk.reader().and_then(|reader| reader.todos()).map_err(|error| error.to_string())?;
        let todos = rows.into_iter().map(|row| row.todo).collect();
        Ok(Hands { merging: self, terms, todos, below: repository.below().to_owned() })
    }

    async fn repository(&self) -> Result<Repository, String> {
        let site = self.desk.site(self.root)?;
        let git = Git::new(self.desk.guardian.clone(), site.cwd(), &self.desk.settings.env);
        Repository::find(&git).await.map_err(words)
    }

    /// What the fleet's work is built on: decided once, and kept in the repository.
    async fn outset(&self, repository: &Repository, terms: &FleetTerms, fleet: u32) -> Result<BaseCommit, String> {
        let (git, refs) = (repository.git(), self.refs(fleet));
        if let Some(kept) = BaseCommit::kept(git, &refs).await.map_err(words)? {
            return Ok(kept);
        }
        let mut outset = BaseCommit::now(git).await.map_err(words)?;
        if terms.dirty {
            let index = self.checkouts()?.join("outset.index");
            let snapshot = repository.snapshot_dirty(&index, &format!("{refs}/snapshot")).await.map_err(words)?;
            outset = outset.with_snapshot(snapshot);
        }
        outset.keep(git, &refs).await.map_err(words)?;
        Ok(outset)
    }

    async fn scratch(&self, repository: &Repository, base: &Commit) -> Result<ScratchCheckout, String> {
        let id = CheckoutId { session: self.desk.session, task: self.root };
        let order = CheckoutOrder { id, name: "merging".into(), title: String::new(), base: base.clone() };
        ScratchCheckout::make(repository, &self.checkouts()?, order).await.map_err(words)
    }

    fn checkouts(&self) -> Result<PathBuf, String> {
        self.desk.settings.home.make_checkouts(self.desk.session).map_err(|error| error.to_string())
    }

    /// What the refs of a fleet begin with.
    fn refs(&self, fleet: u32) -> String {
        format!("refs/bosun/{}/fleet/{fleet}", self.desk.session)
    }

    /// The part of the session's id that differs most from others.
    fn short(&self) -> String {
        let id = self.desk.session.to_string();
        id.get(id.len().saturating_sub(8)..).unwrap_or_default().to_owned()
    }
}

/// The message of a commit that holds the work of several todos: what it was all for, and what each was.
fn message<'a>(terms: &FleetTerms, parts: impl Iterator<Item = &'a MergePart>) -> String {
    let titles: Vec<&str> =
        parts.map(|part| if part.title.trim().is_empty() { &*part.name } else { &*part.title }).collect();
    // A plan without a goal goes by the name of its file.
    let has_goal = terms.plan.as_ref() != Some(&terms.goal);
    let title = match titles[..] {
        [only] => only.to_owned(),
        _ if has_goal => terms.goal.clone(),
        _ => titles.join("; "),
    };
    let list: String = titles.iter().map(|title| format!("- {}\n", git::subject(title))).collect();
    format!("{}\n\n{list}", git::subject(&title))
}

fn wish(terms: &FleetTerms, is_green: bool) -> Wish {
    match (terms.merge, is_green) {
        (false, _) => Wish::Stay,
        (true, true) => Wish::Move,
        (true, false) => Wish::Kept("not everything is done, merged and checked".into()),
    }
}

fn words(error: git::GitError) -> String {
    error.to_string()
}
