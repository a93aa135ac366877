//! The requests to the main agent: for a plan, for a better one, and for a review of the outcome.

use kernel::{InputRefusal, KernelInput, NewMail};
use protocol::api::SendParams;
use protocol::{FleetConfig, FleetEnd, MailBody, MailDelivery, Principal, TaskOutcome, Todo, TodoStatus};
use runtime::{FleetLimit, FleetOutcome, InputRejection};
use store::TodoRow;

use crate::driver::{FleetDriver, FleetDriverError};
use crate::{plan_check, prompts, worker};

/// How often the main agent may fix a plan.
const MAX_PLAN_FIXES: u32 = 2;

impl FleetDriver {
    pub(crate) async fn request_plan(&mut self, config: &FleetConfig) -> Result<(), FleetDriverError> {
        let session = &self.fleet.session;
        let agents = session.definitions().invocable().map(|agent| agent.name.as_str());
        let text = prompts::plan_prompt(&config.goal, agents, worker::default_agent(config));
        let display = Some(config.announcement());
        let message = SendParams { task: None, text, images: Vec::new(), delivery: MailDelivery::FollowUp, display };
        match session.post(message).await {
            Ok(()) => {}
            Err(InputRejection::Hook(reason)) => return self.end_unplanned(reason).await,
            Err(rejected) => return Err(rejected.into()),
        }
        // Even if hooks changed the prompt beyond recognition, it is not sent again.
        self.history.plan_requests += 1;
        self.history.was_asked = true;
        self.state.plan_checked = false;
        Ok(())
    }

    /// Checks the main agent's plan; sends it back while it may still be fixed.
    pub(crate) async fn review_plan(&mut self, config: &FleetConfig) -> Result<(), FleetDriverError> {
        self.fleet.session.sync_todos().await?;
        self.state.plan_checked = true;
        let is_first_plan = self.history.reviews == 0;
        let was_requested = self.history.plan_requests + self.history.reviews > 0 && !self.history.worked;
        // A failure from before this fleet started does not count.
        if let Some(reason) = self.root_failure().filter(|_| was_requested && self.history.was_asked) {
            // A failed review has changed nothing, so the fleet ends as it is.
            return if is_first_plan { self.end_unplanned(reason).await } else { Ok(()) };
        }
        let rows = self.fleet.todo_rows()?;
        let todos: Vec<Todo> = rows.iter().map(|row| row.todo.clone()).collect();
        // A plan from the user was checked before the fleet started.
        if was_requested && self.reject_plan(config, &todos, is_first_plan).await? {
            return Ok(());
        }
        if !self.cache_seeded {
            self.seed_cache(&rows, &todos).await;
        }
        Ok(())
    }

    /// Gives the result cache all todos, and the results of those that earlier owner processes have finished.
    async fn seed_cache(&mut self, rows: &[TodoRow], todos: &[Todo]) {
        self.cache_seeded = true;
        self.fleet.services.begin(todos).await;
        let is_done = |row: &&TodoRow| row.todo.status == TodoStatus::Done && self.history.done.contains(&row.todo.id);
        for row in rows.iter().filter(is_done) {
            self.store_result(row).await;
        }
    }

    /// Sends an unusable plan back, or ends the fleet. Returns false if the plan is usable, or if its bad todos will only
    /// block themselves.
    async fn reject_plan(
        &mut self,
        config: &FleetConfig,
        todos: &[Todo],
        is_first_plan: bool,
    ) -> Result<bool, FleetDriverError> {
        let problems = self.problems(config, todos).await?;
        if problems.is_empty() {
            return Ok(false);
        }
        if self.history.plan_fixes < MAX_PLAN_FIXES {
            self.message_root(prompts::fix_plan_prompt(&problems)).await?;
            self.state.plan_checked = false;
            return Ok(true);
        }
        if is_first_plan {
            self.end_unplanned(prompts::numbered_list(&problems)).await?;
            return Ok(true);
        }
        Ok(false)
    }

    async fn problems(&self, config: &FleetConfig, todos: &[Todo]) -> Result<Vec<String>, InputRejection> {
        if todos.is_empty() {
            return Ok(vec!["there are no todos".into()]);
        }
        let session = &self.fleet.session;
        let mut problems = plan_check::problems(session, config, todos).await;
        let cycle = session.query(|kernel| kernel.graph().cycle()).await?;
        problems.extend(cycle.map(|path| InputRefusal::TodoCycle(path).to_string()));
        Ok(problems)
    }

    /// Why the main agent failed, if it did.
    fn root_failure(&self) -> Option<String> {
        match self.fleet.session.last_outcome()? {
            TaskOutcome::Completed => None,
            TaskOutcome::Failed { message, .. } => Some(message),
            outcome => Some(format!("the main agent {}", outcome.as_str())),
        }
    }

    pub(crate) async fn request_review(&mut self, config: &FleetConfig) -> Result<(), FleetDriverError> {
        if self.block_stuck_todos().await? {
            return Ok(());
        }
        let rows = self.fleet.todo_rows()?;
        let results: Vec<prompts::TodoResultRow> = rows
            .into_iter()
            .map(|row| {
                let result = self.fleet.latest_result(&row);
                (row, result)
            })
            .collect();
        self.message_root(prompts::review_prompt(&config.goal, &results)).await?;
        self.state.plan_checked = false;
        Ok(())
    }

    async fn end_unplanned(&mut self, reason: String) -> Result<(), FleetDriverError> {
        let outcome = match self.state.limit {
            Some(limit) => FleetOutcome::Halted(limit),
            None if self.fleet.session.is_time_over() => FleetOutcome::Halted(FleetLimit::Time),
            None => FleetOutcome::Unplanned(reason),
        };
        self.end(FleetEnd::Stopped, outcome).await
    }

    async fn message_root(&self, text: String) -> Result<(), InputRejection> {
        let to = self.fleet.session.root();
        let mail =
            NewMail { to, from: Principal::Runtime, delivery: MailDelivery::FollowUp, body: MailBody::text(text) };
        self.fleet.session.submit(KernelInput::Send(mail)).await
    }
}
