//! Asks a model one question: one turn without tools and without a conversation. The executor tries once; the caller
//! may ask again.

use std::sync::Arc;

use kernel::{BoundaryPoint, FailedCallCharge, InputRefusal, RunEnding, RunUpdate};
use model::{MessagePart, Messages, Model, ModelError, ModelMessage, ModelReply, ModelRequest, ToolCallPolicy};
use protocol::{
    ContentBlock, Cost, Event, FailKind, LimitKind, MailBody, ModelFault, QuestionSpec, TaskId, TaskSpec, Turn,
    TurnQuote,
};
use store::StoreError;
use tools::BoxFuture;

use super::Executor;
use crate::agent::text_tokens;
use crate::governor::{DayBudgetError, DayBudgetReservation, ModelPermit, PermitOutcome, RequestAdmission};
use crate::models::ModelResolveError;
use crate::session_context::SessionContext;
use crate::supervisor::{InputRejection, RunLink};

/// How many tokens of a request are not in its texts.
const OVERHEAD_TOKENS: u64 = 64;

/// The least output, in tokens, for which a request is worth sending.
const MIN_OUTPUT: u32 = 16;

/// Runs side questions.
#[derive(Debug)]
pub(super) struct QuestionExecutor(pub(super) Arc<SessionContext>);

impl Executor for QuestionExecutor {
    fn run(&self, link: RunLink) -> BoxFuture<'static, ()> {
        let context = Arc::clone(&self.0);
        Box::pin(async move {
            if let Err(rejected) = run_question(&context, &link).await {
                tracing::info!(run = %link.run, %rejected, "the question stops");
            }
        })
    }
}

async fn run_question(context: &SessionContext, link: &RunLink) -> Result<(), InputRejection> {
    report(link, RunUpdate::Boundary(BoundaryPoint::BetweenTurns)).await?;
    let (ending, text) = match Question::read(context, link) {
        Ok(question) => question.ask(context, link).await?,
        Err(error) => failed(error.to_string()),
    };
    report(link, RunUpdate::Ended { ending, text }).await
}

async fn report(link: &RunLink, update: RunUpdate) -> Result<(), InputRejection> {
    link.supervisor.report(link.run, update).await
}

/// How a question ended, with the answer's text.
type QuestionEnd = (RunEnding, String);

/// Why a question cannot be asked.
#[derive(Debug, thiserror::Error)]
enum QuestionError {
    #[error("unknown task {0}")]
    UnknownTask(TaskId),
    #[error("the task has no question")]
    NoQuestion,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Model(#[from] ModelResolveError),
}

/// A question, ready to be asked.
struct Question {
    spec: Arc<TaskSpec>,
    question: Box<QuestionSpec>,
    prompt: String,
    path: String,
    model: Arc<dyn Model>,
}

impl Question {
    /// Reads the question of a run from the log.
    fn read(context: &SessionContext, link: &RunLink) -> Result<Question, QuestionError> {
        let task = link.run.task;
        let spec = context.log.roster.with_task(task, |entry| Arc::clone(&entry.spec));
        let spec = spec.ok_or(QuestionError::UnknownTask(task))?;
        let question = spec.question.clone().ok_or(QuestionError::NoQuestion)?;
        let log = context.log.task_events_after(task, 0)?;
        let prompt = log.into_iter().find_map(|envelope| match envelope.entry.event {
            Event::MailAdmitted { body: MailBody::Text { text, .. }, .. } => Some(text),
            _other => None,
        });
        let model = context.catalog.model_by_spec(&context.task_model_spec(&spec))?;
        let path = context.log.roster.path(task).to_string();
        Ok(Question { spec, question, prompt: prompt.unwrap_or_default(), path, model })
    }

    async fn ask(self, context: &SessionContext, link: &RunLink) -> Result<QuestionEnd, InputRejection> {
        self.model.refresh_facts().await;
        let facts = self.model.facts();
        let permit = match context.governor.admit(facts.bucket_key.as_deref(), facts.max_concurrent_requests).await {
            RequestAdmission::Admitted(permit) => permit,
            RequestAdmission::Park(until) => {
                return Ok(failed(format!("the provider accepts no request until {until}")));
            }
        };
        let quote = self.quote();
        let day_reservation = match self.reserve_day_share(context, quote).await {
            Ok(day_reservation) => day_reservation,
            Err(DayBudgetError::SpentUntil(_)) => return Ok((RunEnding::BudgetExhausted, String::new())),
            Err(DayBudgetError::SpendingUnknown(why)) => {
                return Ok(failed(format!("cannot reserve from the daily budget: {why}")));
            }
        };
        let begun = RunUpdate::TurnBegun { model: self.model.name().to_owned(), quote };
        match report(link, begun).await {
            Ok(()) => self.request(context, link, quote, permit, day_reservation).await,
            Err(InputRejection::Refused(InputRefusal::Budget { .. } | InputRefusal::BudgetHeld { .. })) => {
                Ok((RunEnding::BudgetExhausted, String::new()))
            }
            Err(InputRejection::Refused(InputRefusal::Turns { .. })) => {
                Ok((RunEnding::TimedOut(LimitKind::Turns), String::new()))
            }
            Err(rejected) => Err(rejected),
        }
    }

    /// Sends the request of the turn that has begun, and reports its answer.
    async fn request(
        &self,
        context: &SessionContext,
        link: &RunLink,
        quote: TurnQuote,
        permit: ModelPermit,
        mut day_reservation: Option<DayBudgetReservation>,
    ) -> Result<QuestionEnd, InputRejection> {
        let (turn, max_output) = granted_turn(link).await?;
        let reserved = quote.cost(max_output);
        day_reservation.iter_mut().for_each(|reservation| reservation.mark_sent(reserved.micros));
        let reply = ModelReply::collect(self.model.send(self.model_request(context, max_output))).await;
        match reply {
            Ok(ModelReply { content, stop, usage, model }) => {
                permit.settle(PermitOutcome::Answered);
                let price = self.model.facts().price;
                let cost = match usage.total() {
                    // The provider reported no usage, so charge what was reserved.
                    0 => reserved,
                    tokens => Cost { tokens, micros: price.map_or(0, |price| price.cost(usage)) },
                };
                if let Some(reservation) = day_reservation.filter(|_| usage.total() > 0) {
                    reservation.settle(cost.micros);
                }
                let content = text_blocks(content);
                let text = joined_text(&content);
                report(link, RunUpdate::TurnAnswered { turn, content, stop, usage, cost, model }).await?;
                if text.trim().is_empty() {
                    let message = "the model ended without an answer".into();
                    return Ok((RunEnding::Failed { kind: FailKind::NoAnswer, message }, String::new()));
                }
                Ok((RunEnding::Completed, text))
            }
            Err(ModelError { fault, message, has_started, .. }) => {
                permit.settle(PermitOutcome::Failed(fault));
                let charge = if has_started {
                    FailedCallCharge::Used { output: max_output }
                } else {
                    day_reservation.into_iter().for_each(|reservation| reservation.settle(0));
                    FailedCallCharge::Nothing
                };
                self.report_failure(link, turn, fault, &message, charge).await?;
                Ok(failed(message))
            }
        }
    }

    async fn report_failure(
        &self,
        link: &RunLink,
        turn: Turn,
        fault: ModelFault,
        message: &str,
        charge: FailedCallCharge,
    ) -> Result<(), InputRejection> {
        report(link, RunUpdate::TurnFailed { turn, fault, message: message.to_owned(), charge, retry: None }).await
    }

    fn quote(&self) -> TurnQuote {
        let facts = self.model.facts();
        let output = self.question.max_output.min(facts.max_output_tokens);
        let input = text_tokens(&self.question.system) + text_tokens(&self.prompt) + OVERHEAD_TOKENS;
        TurnQuote {
            input,
            estimated: input,
            min_output: output.min(MIN_OUTPUT),
            expected_output: output,
            max_output: output,
            price: facts.price,
            last_turn_reserve: Cost::ZERO,
        }
    }

    async fn reserve_day_share(
        &self,
        context: &SessionContext,
        quote: TurnQuote,
    ) -> Result<Option<DayBudgetReservation>, DayBudgetError> {
        if self.model.facts().price.is_none_or(protocol::Price::is_free) {
            return Ok(None);
        }
        match context.facts.day_budget {
            None => Ok(Some(context.governor.unlimited_day_reservation())),
            Some(limit) => {
                context.governor.reserve_day(quote.cost(quote.expected_output).micros, limit).await.map(Some)
            }
        }
    }

    fn model_request(&self, context: &SessionContext, max_output: u32) -> ModelRequest {
        let message = ModelMessage::User { parts: vec![MessagePart::Text(self.prompt.clone())] };
        ModelRequest {
            agent: self.spec.agent.clone(),
            path: self.path.clone(),
            requested_at: context.facts.clock.now(),
            turn: 1,
            attempt: 1,
            system: self.question.system.as_str().into(),
            messages: Messages::from(vec![message]),
            tools: Arc::from([]),
            call_policy: ToolCallPolicy::Forbidden,
            max_output_tokens: Some(max_output),
            effort: None,
        }
    }
}

/// The turn that has begun, and how long its answer may be.
async fn granted_turn(link: &RunLink) -> Result<(Turn, u32), InputRejection> {
    let task = link.run.task;
    let granted = link.supervisor.query(move |kernel| {
        let task = kernel.task(task)?;
        Some((task.turn, task.work.model_call()?.max_output))
    });
    granted.await?.ok_or_else(|| InputRefusal::StaleRun.into())
}

fn failed(message: String) -> QuestionEnd {
    (RunEnding::Failed { kind: FailKind::Model, message }, String::new())
}

/// The texts of an answer. There are no tools, so calls mean nothing.
fn text_blocks(content: Vec<ContentBlock>) -> Vec<ContentBlock> {
    content.into_iter().filter(|block| matches!(block, ContentBlock::Text { .. })).collect()
}

fn joined_text(content: &[ContentBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        ContentBlock::Thinking { .. } | ContentBlock::Call(_) | ContentBlock::Opaque { .. } => None,
    });
    texts.collect()
}
