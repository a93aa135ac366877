//! A task as its session knows it: what a run needs to prepare its agent and its workspace.

use std::sync::Arc;

use protocol::{AgentSpec, Budget, PermissionMode, ReasoningEffort, Refusal, TaskId, TaskSpec};

use crate::session_context::SessionContext;

/// A task as its session knows it.
#[derive(Debug, Clone)]
pub(crate) struct TaskProfile {
    pub(crate) task: TaskId,
    pub(crate) spec: Arc<TaskSpec>,
    /// Its path in the tree of tasks.
    pub(crate) path: Arc<str>,
    pub(crate) depth: u32,
    /// The definition of its agent, if the session has stored it.
    pub(crate) definition: Option<Arc<AgentSpec>>,
    /// Its permission mode, or a stricter one of an agent above it.
    pub(crate) mode: Option<PermissionMode>,
    /// The name of the model that its agent uses now.
    pub(crate) model: Arc<str>,
    /// The reasoning effort that the user chose while the session ran.
    pub(crate) effort: Option<ReasoningEffort>,
    /// Whether the session, the task or one above it has a budget.
    pub(crate) is_budgeted: bool,
    /// The checkout that it works in, if it has one.
    pub(crate) checkout: Option<CheckoutOwner>,
}

/// The task that a checkout belongs to: the one that works there, or one above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckoutOwner {
    pub(crate) task: TaskId,
    /// Its path in the tree of tasks.
    pub(crate) name: Arc<str>,
    /// The folder of the checkout, once it exists.
    pub(crate) folder: Option<String>,
}

impl TaskProfile {
    /// The profile of a task, or the reason why there is none.
    pub(crate) fn of(context: &SessionContext, task: TaskId) -> Result<TaskProfile, Refusal> {
        let roster = &context.log.roster;
        let known = roster.with_task(task, |entry| (Arc::clone(&entry.spec), Arc::clone(&entry.path), entry.depth));
        let (spec, path, depth) = known.ok_or_else(|| Refusal::new(format_args!("unknown task {task}")))?;
        Ok(TaskProfile {
            task,
            path,
            depth,
            definition: roster.definition(task),
            mode: roster.mode(task),
            model: context.task_model_spec(&spec),
            effort: roster.model().and_then(|model| model.effort),
            is_budgeted: context.facts.budget != Budget::default() || roster.is_budgeted(task),
            checkout: CheckoutOwner::of(context, task),
            spec,
        })
    }

    /// Whether it has a checkout of its own.
    pub(crate) fn has_own_checkout(&self) -> bool {
        self.checkout.as_ref().is_some_and(|owner| owner.task == self.task)
    }

    /// Whether it is the root of the session.
    pub(crate) fn is_root(&self) -> bool {
        self.depth == 0
    }
}

impl CheckoutOwner {
    /// The owner of the checkout that a task works in.
    pub(crate) fn of(context: &SessionContext, task: TaskId) -> Option<CheckoutOwner> {
        let owner = context.log.roster.checkout_owner(task)?;
        let folder = context.log.roster.with_task(owner, |entry| entry.checkout_path.clone()).flatten();
        Some(CheckoutOwner { task: owner, name: context.log.roster.path(owner), folder })
    }
}
