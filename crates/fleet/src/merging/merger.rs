//! Merges the work of a session's fleet.

use std::path::PathBuf;

use git::{
    BaseCommit, CheckoutId, CheckoutRequest, Commit, MergePart, MergeQueue, MergeWorkspace, Repository, ScratchCheckout,
};
use host::HomeError;
use kernel::{TodoGraph, TodoProgress};
use protocol::{
    FleetConfig, Isolation, MergeDestination, MergeSummary, Todo, TodoId, TodoMergeOutcome, TodoMergeResult,
};
use runtime::{FleetSession, InputRejection};
use store::StoreError;
use tokio::sync::Mutex;

use super::deliver::{BranchAction, MergedTree};
use super::error::MergeError;
use super::fleet_work::FleetWork;
use super::join::{join_parts, signature};
use super::merge_queue::MergeInput;
use super::merge_session::MergeSession;
use super::order::MergeOrder;
use crate::services::FinishedTodo;

/// Merges the work of a session's fleet.
#[derive(Debug)]
pub(crate) struct FleetMerger {
    pub(super) session: FleetSession,
    pub(super) work: Mutex<FleetWork>,
    /// Held while an agent for a conflict is found or started, so that there is only one.
    pub(super) resolver_lock: Mutex<()>,
}

/// The session's services for merging one fleet.
pub(super) struct MergeServices<'a> {
    pub(super) merger: &'a FleetMerger,
    pub(super) config: &'a FleetConfig,
    pub(super) todos: Vec<Todo>,
    /// The path from the top of the repository to the session's folder.
    pub(super) subfolder: PathBuf,
}

impl FleetMerger {
    pub(crate) fn new(session: FleetSession) -> FleetMerger {
        FleetMerger { session, work: Mutex::default(), resolver_lock: Mutex::default() }
    }

    /// Checks whether workers can have their own checkouts.
    pub(crate) async fn check_repository(&self) -> Result<(), MergeError> {
        Ok(self.repository().await?.head().await.map(drop)?)
    }

    /// The isolation of this todo's worker: a checkout that starts from the work of its dependencies.
    pub(crate) async fn isolation_for(
        &self,
        config: &FleetConfig,
        todo: &Todo,
    ) -> Result<Option<Isolation>, MergeError> {
        if !config.isolated {
            return Ok(None);
        }
        let (order, _is_done) = self.merge_order().await?;
        let repository = self.repository().await?;
        let services = self.services(config, &repository)?;
        let (base_commit, parts) = {
            let mut work = self.work.lock().await;
            self.catch_up(&mut work)?;
            let base_commit = self.base_commit(&repository, config, work.finished_fleets).await?;
            let mut dependencies: Vec<TodoId> = order.all_dependencies(&todo.id).into_iter().collect();
            order.sort(&mut dependencies);
            let part = |id: &TodoId| {
                let (name, title) = (id.0.clone(), services.title(id));
                Some(MergePart { name, title, commit: work.commits.get(id)?.clone() })
            };
            (base_commit, dependencies.iter().filter_map(part).collect::<Vec<_>>())
        };
        let base = join_parts(repository.git(), &base_commit.base, &parts, &services).await?;
        Ok(Some(Isolation::Worktree { base: Some(base.to_string()), dirty: false }))
    }

    /// Merges the work of all finished todos and delivers the result to the user. What was merged before an error stays
    /// merged.
    pub(crate) async fn collect(
        &self,
        config: &FleetConfig,
        done: &[FinishedTodo],
    ) -> Result<MergeSummary, MergeError> {
        let (order, is_done) = self.merge_order().await?;
        let repository = self.repository().await?;
        let services = self.services(config, &repository)?;
        let mut work = FleetWork::default();
        self.catch_up(&mut work)?;
        work.retain_done(done);
        let base_commit = self.base_commit(&repository, config, work.finished_fleets).await?;
        let refs = self.refs(work.finished_fleets);
        let tip = work.tip.clone().unwrap_or_else(|| base_commit.base.clone());
        let scratch = self.scratch(&repository, &tip).await?;
        let input = MergeInput { work: &work, order: &order, session: &services };
        let parts = input.parts();
        let conflicts = git::predict(&scratch.with_own_objects(repository.git()), &base_commit.base, &parts).await?;
        let workspace = MergeWorkspace {
            repository: repository.git().clone(),
            scratch,
            pin: format!("{refs}/merged"),
            author: signature(),
        };
        let mut queue = MergeQueue::new(workspace, tip);
        let outcomes = input.run(&mut queue, &parts).await?;
        let (workspace, tip) = queue.into_parts();
        let is_complete = is_done && outcomes.iter().all(|outcome| *outcome == TodoMergeOutcome::Merged);
        let branch = format!("bosun/fleet-{}", self.short_id());
        let message = commit_message(
            config,
            parts
                .iter()
                .zip(&outcomes)
                .filter(|(_, outcome)| **outcome == TodoMergeOutcome::Merged)
                .map(|(part, _)| part),
        );
        let merged_tree = MergedTree {
            git: repository.git(),
            scratch: &workspace.scratch,
            base_commit: &base_commit,
            tip: &tip,
            refs: &refs,
            message: &message,
            branch: &branch,
        };
        let destination = merged_tree.deliver(branch_action(config, is_complete)).await?;
        let stat = merged_tree.stat().await?;
        workspace.scratch.remove();
        let leftover_checkouts =
            if is_complete { self.remove_checkouts(&work, repository.git(), &tip).await } else { Vec::new() };
        if let (MergeDestination::Landed { .. }, true) = (&destination, is_complete) {
            self.drop_landed_refs(repository.git(), &tip).await;
        }
        let result = |(part, outcome): (MergePart, TodoMergeOutcome)| TodoMergeResult {
            todo: TodoId(part.name),
            commit: part.commit.to_string(),
            outcome,
        };
        Ok(MergeSummary {
            todos: parts.into_iter().zip(outcomes).map(result).collect(),
            predicted_conflicts: conflicts.into_iter().map(|pair| (TodoId(pair.a), TodoId(pair.b))).collect(),
            base: base_commit.base.to_string(),
            tip: tip.to_string(),
            stat,
            destination,
            leftover_checkouts,
        })
    }

    pub(super) fn catch_up(&self, work: &mut FleetWork) -> Result<(), StoreError> {
        work.catch_up(&self.session.reader()?)
    }

    /// The merge order, and whether every todo is done.
    async fn merge_order(&self) -> Result<(MergeOrder, bool), InputRejection> {
        let is_done = |graph: &TodoGraph| graph.nodes().all(|(_, node)| node.progress == TodoProgress::Done);
        let read = move |kernel: &kernel::Kernel| (MergeOrder::from_graph(kernel.graph()), is_done(kernel.graph()));
        self.session.query(read).await
    }

    fn services<'a>(
        &'a self,
        config: &'a FleetConfig,
        repository: &Repository,
    ) -> Result<MergeServices<'a>, StoreError> {
        let rows = self.session.reader()?.todos()?;
        let todos = rows.into_iter().map(|row| row.todo).collect();
        Ok(MergeServices { merger: self, config, todos, subfolder: repository.below().to_owned() })
    }

    async fn repository(&self) -> Result<Repository, MergeError> {
        Ok(Repository::find(&self.session.git()?).await?)
    }

    /// The commit that the fleet's work is built on: decided once, and stored in the repository.
    async fn base_commit(
        &self,
        repository: &Repository,
        config: &FleetConfig,
        fleet: u32,
    ) -> Result<BaseCommit, MergeError> {
        let (git, refs) = (repository.git(), self.refs(fleet));
        if let Some(kept) = BaseCommit::load(git, &refs).await? {
            return Ok(kept);
        }
        let mut base_commit = BaseCommit::current(git).await?;
        if config.dirty {
            let index = self.checkouts_dir()?.join("base.index");
            let snapshot = repository.snapshot_dirty(&index, &format!("{refs}/snapshot")).await?;
            base_commit = base_commit.with_snapshot(snapshot);
        }
        base_commit.store(git, &refs).await?;
        Ok(base_commit)
    }

    async fn scratch(&self, repository: &Repository, base: &Commit) -> Result<ScratchCheckout, MergeError> {
        let id = CheckoutId { session: self.session.id(), task: self.session.root() };
        let request = CheckoutRequest { id, name: "merging".into(), title: String::new(), base: base.clone() };
        Ok(ScratchCheckout::create(repository, &self.checkouts_dir()?, request).await?)
    }

    fn checkouts_dir(&self) -> Result<PathBuf, HomeError> {
        self.session.home().make_checkouts(self.session.id())
    }

    /// The prefix of a fleet's refs.
    fn refs(&self, fleet: u32) -> String {
        format!("refs/bosun/{}/fleet/{fleet}", self.session.id())
    }

    /// The end of the session's id, which differs most between sessions.
    fn short_id(&self) -> String {
        let id = self.session.id().to_string();
        id.get(id.len().saturating_sub(8)..).unwrap_or_default().to_owned()
    }
}

/// The message of a commit with the work of several todos: the goal, and the title of each todo.
fn commit_message<'a>(config: &FleetConfig, parts: impl Iterator<Item = &'a MergePart>) -> String {
    let titles: Vec<&str> =
        parts.map(|part| if part.title.trim().is_empty() { &*part.name } else { &*part.title }).collect();
    // A plan without a goal has the name of its file as its goal.
    let has_goal = config.plan.as_ref() != Some(&config.goal);
    let title = match titles[..] {
        [only] => only.to_owned(),
        _ if has_goal => config.goal.clone(),
        _ => titles.join("; "),
    };
    let list: String = titles.iter().map(|title| format!("- {}\n", git::subject(title))).collect();
    format!("{}\n\n{list}", git::subject(&title))
}

fn branch_action(config: &FleetConfig, is_complete: bool) -> BranchAction {
    match (config.merge, is_complete) {
        (false, _) => BranchAction::Stay,
        (true, true) => BranchAction::Move,
        (true, false) => BranchAction::MoveDenied("not everything is done, merged and checked".into()),
    }
}
