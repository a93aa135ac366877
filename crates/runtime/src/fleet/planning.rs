//! What the main agent is asked: a plan, a better one, and a look at what came of it.

use kernel::{InputRefusal, KernelInput, NewMail};
use protocol::api::{SendParams, SessionCommand};
use protocol::{FleetConfig, FleetEnd, MailBody, MailDelivery, Principal, TaskOutcome, Todo, TodoStatus};
use store::TodoRow;

use super::context::FleetContext;
use super::driver::{DriverFlow, FleetDriver, FleetDriverError};
use super::{FleetLimit, FleetOutcome, plan_check, prompts, worker};
use crate::supervisor::InputRejection;
use crate::{commands, hooks};

/// How often the main agent may mend one plan.
const MAX_PLAN_FIXES: u32 = 2;

impl FleetDriver {
    pub(super) async fn request_plan(&mut self, terms: &FleetConfig) -> Result<DriverFlow, FleetDriverError> {
        let FleetContext { context, supervisor, root, .. } = &*self.fleet;
        let agents = context.settings.catalog.invocable().map(|agent| agent.name.as_str());
        let text = prompts::plan_prompt(&terms.goal, agents, worker::default_agent(terms));
        let message =
            SendParams { task: None, text, images: Vec::new(), delivery: MailDelivery::FollowUp, display: None };
        let message = match hooks::filter_prompt(context, supervisor, *root, message).await {
            Ok(message) => message,
            Err(InputRejection::Hook(reason)) => return self.end_unplanned(reason).await,
            Err(rejected) => return Err(rejected.into()),
        };
        supervisor.submit(commands::input_of(SessionCommand::Send(message), *root)).await?;
        // Whatever hooks made of the words: it is not asked again.
        self.history.plan_requests += 1;
        self.history.was_asked = true;
        self.state.plan_judged = false;
        Ok(DriverFlow::Continue)
    }

    /// Looks at the plan that the main agent left; sends it back as often as it may be mended.
    pub(super) async fn review_plan(&mut self, terms: &FleetConfig) -> Result<DriverFlow, FleetDriverError> {
        self.fleet.context.todos.sync().await?;
        self.state.plan_judged = true;
        let first = self.history.reviews == 0;
        let asked = self.history.plan_requests + self.history.reviews > 0 && !self.history.worked;
        // How it ended before this fleet began says nothing of it.
        if let Some(words) = self.root_failed().filter(|_| asked && self.history.was_asked) {
            // One who cannot look at the result has changed nothing, so the fleet ends as it is.
            return if first { self.end_unplanned(words).await } else { Ok(DriverFlow::Continue) };
        }
        let rows = self.fleet.rows()?;
        let todos: Vec<Todo> = rows.iter().map(|row| row.todo.clone()).collect();
        // A plan that a person wrote was looked at before the fleet began.
        if asked && let Some(flow) = self.send_back(terms, &todos, first).await? {
            return Ok(flow);
        }
        if !self.cache_seeded {
            self.seed_cache(&rows, &todos).await;
        }
        Ok(DriverFlow::Continue)
    }

    /// Tells the memory what is to be done, and what other owners have done of it.
    async fn seed_cache(&mut self, rows: &[TodoRow], todos: &[Todo]) {
        self.cache_seeded = true;
        self.fleet.services.result_cache.begin(todos).await;
        let is_done = |row: &&TodoRow| row.todo.status == TodoStatus::Done && self.history.done.contains(&row.todo.id);
        for row in rows.iter().filter(is_done) {
            self.store_result(row).await;
        }
    }

    /// Sends a plan back that cannot be worked by; nothing when it can, or when its bad parts only block themselves.
    async fn send_back(
        &mut self,
        terms: &FleetConfig,
        todos: &[Todo],
        first: bool,
    ) -> Result<Option<DriverFlow>, FleetDriverError> {
        let problems = self.problems(terms, todos).await?;
        if problems.is_empty() {
            return Ok(None);
        }
        if self.history.plan_fixes < MAX_PLAN_FIXES {
            self.message_root(prompts::fix_plan_prompt(&problems)).await?;
            self.state.plan_judged = false;
            return Ok(Some(DriverFlow::Continue));
        }
        if first {
            return self.end_unplanned(prompts::numbered_list(&problems)).await.map(Some);
        }
        Ok(None)
    }

    async fn problems(&self, terms: &FleetConfig, todos: &[Todo]) -> Result<Vec<String>, InputRejection> {
        if todos.is_empty() {
            return Ok(vec!["there are no todos; write at least one".into()]);
        }
        let FleetContext { context, supervisor, root, .. } = &*self.fleet;
        let mut problems = plan_check::problems(context, *root, terms, todos).await;
        let cycle = supervisor.query(|kernel| kernel.graph().cycle()).await?;
        problems.extend(cycle.map(|path| InputRefusal::TodoCycle(path).to_string()));
        Ok(problems)
    }

    /// Why the main agent did not do what it was asked, if it did not.
    fn root_failed(&self) -> Option<String> {
        let last =
            |known: &crate::roster::RosterEntry| known.endings.last_key_value().map(|(_, end)| end.outcome.clone());
        match self.fleet.context.roster.with_task(self.fleet.root, last).flatten()? {
            TaskOutcome::Completed => None,
            TaskOutcome::Failed { message, .. } => Some(message),
            outcome => Some(format!("the main agent {}", outcome.as_str())),
        }
    }

    pub(super) async fn request_review(&mut self, terms: &FleetConfig) -> Result<DriverFlow, FleetDriverError> {
        if self.unstick().await? {
            return Ok(DriverFlow::Continue);
        }
        let rows = self.fleet.rows()?;
        let told: Vec<prompts::TodoResultRow> = rows
            .into_iter()
            .map(|row| {
                let said = self.fleet.latest_result(&row);
                (row, said)
            })
            .collect();
        self.message_root(prompts::review_prompt(&terms.goal, &told)).await?;
        self.state.plan_judged = false;
        Ok(DriverFlow::Continue)
    }

    async fn end_unplanned(&mut self, reason: String) -> Result<DriverFlow, FleetDriverError> {
        let outcome = match self.state.limit {
            Some(halt) => FleetOutcome::Halted(halt),
            None if self.fleet.context.deadline.is_over() => FleetOutcome::Halted(FleetLimit::Time),
            None => FleetOutcome::Unplanned(reason),
        };
        self.end(FleetEnd::Stopped, outcome).await
    }

    async fn message_root(&self, text: String) -> Result<(), InputRejection> {
        let to = self.fleet.root;
        let letter =
            NewMail { to, from: Principal::Runtime, delivery: MailDelivery::FollowUp, body: MailBody::text(text) };
        self.fleet.supervisor.submit(KernelInput::Send(letter)).await.map(|_receipt| ())
    }
}
