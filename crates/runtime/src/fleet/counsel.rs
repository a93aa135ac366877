//! What the main agent is asked: a plan, a better one, and a look at what came of it.

use kernel::{Input, Letter, Refusal};
use protocol::api::{Command, SendParams};
use protocol::{Body, Delivery, FleetEnd, FleetTerms, Origin, Outcome, Todo, TodoStatus};
use store::TodoRow;

use super::bench::Bench;
use super::driver::{Broken, Driver, Flow};
use super::{FleetOutcome, Halt, judge, words, worker};
use crate::supervisor::Rejected;
use crate::{commands, hooks};

/// How often the main agent may mend one plan.
const MENDS: u32 = 2;

impl Driver {
    pub(super) async fn plan(&mut self, terms: &FleetTerms) -> Result<Flow, Broken> {
        let Bench { desk, supervisor, root, .. } = &*self.bench;
        let agents = desk.settings.catalog.invocable().map(|agent| agent.name.as_str());
        let text = words::plan(&terms.goal, agents, worker::usual(terms));
        let message = SendParams { task: None, text, images: Vec::new(), delivery: Delivery::FollowUp, display: None };
        let message = match hooks::prompted(desk, supervisor, *root, message).await {
            Ok(message) => message,
            Err(Rejected::Hook(reason)) => return self.unplanned(reason).await,
            Err(rejected) => return Err(rejected.into()),
        };
        supervisor.submit(commands::input(Command::Send(message), *root)).await?;
        // Whatever hooks made of the words: it is not asked again.
        self.past.plans += 1;
        self.past.asked = true;
        self.own.judged = false;
        Ok(Flow::On)
    }

    /// Looks at the plan that the main agent left; sends it back as often as it may be mended.
    pub(super) async fn judge(&mut self, terms: &FleetTerms) -> Result<Flow, Broken> {
        self.bench.desk.todos.take().await?;
        self.own.judged = true;
        let first = self.past.reviews == 0;
        let asked = self.past.plans + self.past.reviews > 0 && !self.past.worked;
        // How it ended before this fleet began says nothing of it.
        if let Some(words) = self.root_failed().filter(|_| asked && self.past.asked) {
            // One who cannot look at the result has changed nothing, so the fleet ends as it is.
            return if first { self.unplanned(words).await } else { Ok(Flow::On) };
        }
        let rows = self.bench.rows()?;
        let todos: Vec<Todo> = rows.iter().map(|row| row.todo.clone()).collect();
        // A plan that a person wrote was looked at before the fleet began.
        if asked && let Some(flow) = self.send_back(terms, &todos, first).await? {
            return Ok(flow);
        }
        if !self.remembers {
            self.remember(&rows, &todos).await;
        }
        Ok(Flow::On)
    }

    /// Tells the memory what is to be done, and what other owners have done of it.
    async fn remember(&mut self, rows: &[TodoRow], todos: &[Todo]) {
        self.remembers = true;
        self.bench.aids.memory.begin(todos).await;
        let is_done = |row: &&TodoRow| row.todo.status == TodoStatus::Done && self.past.done.contains(&row.todo.id);
        for row in rows.iter().filter(is_done) {
            self.keep(row).await;
        }
    }

    /// Sends a plan back that cannot be worked by; nothing when it can, or when its bad parts only block themselves.
    async fn send_back(&mut self, terms: &FleetTerms, todos: &[Todo], first: bool) -> Result<Option<Flow>, Broken> {
        let problems = self.problems(terms, todos).await?;
        if problems.is_empty() {
            return Ok(None);
        }
        if self.past.mends < MENDS {
            self.tell_root(words::mend(&problems)).await?;
            self.own.judged = false;
            return Ok(Some(Flow::On));
        }
        if first {
            return self.unplanned(words::numbered(&problems)).await.map(Some);
        }
        Ok(None)
    }

    async fn problems(&self, terms: &FleetTerms, todos: &[Todo]) -> Result<Vec<String>, Rejected> {
        if todos.is_empty() {
            return Ok(vec!["there are no todos; write at least one".into()]);
        }
        let Bench { desk, supervisor, root, .. } = &*self.bench;
        let mut problems = judge::problems(desk, *root, terms, todos).await;
        let cycle = supervisor.look(|kernel| kernel.graph().cycle()).await?;
        problems.extend(cycle.map(|path| Refusal::TodoCycle(path).to_string()));
        Ok(problems)
    }

    /// Why the main agent did not do what it was asked, if it did not.
    fn root_failed(&self) -> Option<String> {
        let last = |known: &crate::roster::Known| known.endings.last_key_value().map(|(_, end)| end.outcome.clone());
        match self.bench.desk.roster.known(self.bench.root, last).flatten()? {
            Outcome::Completed => None,
            Outcome::Failed { message, .. } => Some(message),
            outcome => Some(format!("the main agent {}", outcome.word())),
        }
    }

    pub(super) async fn review(&mut self, terms: &FleetTerms) -> Result<Flow, Broken> {
        if self.unstick().await? {
            return Ok(Flow::On);
        }
        let rows = self.bench.rows()?;
        let told: Vec<words::Told> = rows
            .into_iter()
            .map(|row| {
                let said = self.bench.said(&row);
                (row, said)
            })
            .collect();
        self.tell_root(words::review(&terms.goal, &told)).await?;
        self.own.judged = false;
        Ok(Flow::On)
    }

    async fn unplanned(&mut self, reason: String) -> Result<Flow, Broken> {
        let outcome = match self.own.halt {
            Some(halt) => FleetOutcome::Halted(halt),
            None if self.bench.desk.deadline.is_over() => FleetOutcome::Halted(Halt::Time),
            None => FleetOutcome::Unplanned(reason),
        };
        self.end(FleetEnd::Stopped, outcome).await
    }

    async fn tell_root(&self, text: String) -> Result<(), Rejected> {
        let to = self.bench.root;
        let letter = Letter { to, from: Origin::Runtime, delivery: Delivery::FollowUp, body: Body::text(text) };
        self.bench.supervisor.submit(Input::Send(letter)).await.map(|_receipt| ())
    }
}
