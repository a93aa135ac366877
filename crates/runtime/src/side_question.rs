//! Questions to a model outside of any conversation, such as for a title. Each one is a task with one turn and no tools,
//! so it is charged, limited, shown, stopped and lost like any task.

use std::sync::Arc;

use kernel::{KernelInput, ReaderWait, TaskPhase};
use protocol::{Event, ModelUse, QuestionSpec, TaskId, TaskOutcome};
use tools::{BoxFuture, ModelAsker, ModelQuestion, ModelReply, ToolError};

use crate::session_context::SessionContext;
use crate::spawn::SpawnBuilder;
use crate::supervisor::{InputRejection, Supervisor};

/// A question to a model.
#[derive(Debug)]
pub(crate) struct SideQuestion<'a> {
    /// What it is for: its name in the task tree and in the costs.
    pub(crate) purpose: &'a str,
    /// The model; the session's when absent.
    pub(crate) model: Option<String>,
    pub(crate) system: &'a str,
    pub(crate) prompt: String,
    /// Maximum tokens of the answer.
    pub(crate) max_output: u32,
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SideQuestionError {
    /// The session did not accept it.
    #[error(transparent)]
    Rejected(#[from] InputRejection),
    /// It ended without an answer.
    #[error("the model gave no answer: the question ended as {}", .0.as_str())]
    Unanswered(TaskOutcome),
    /// Its answer cannot be read.
    #[error(transparent)]
    Store(#[from] store::StoreError),
}

/// Asks a model, and returns its answer.
pub(crate) async fn ask_model(
    context: &SessionContext,
    supervisor: &Supervisor,
    question: SideQuestion<'_>,
) -> Result<String, SideQuestionError> {
    let SideQuestion { purpose, model, system, prompt, max_output } = question;
    let model = model.map(|spec| ModelUse { requested: Some(spec.clone()), effective: spec, why: None });
    let spec = QuestionSpec { system: system.to_owned(), max_output };
    let spawn = SpawnBuilder::question(purpose, model, spec).prompt(prompt).build(context);
    let task = spawn.id;
    supervisor.submit(KernelInput::Spawn(spawn)).await?;
    supervisor.wait_for(ReaderWait::Finished(task)).await?;
    let phase = supervisor.query(move |kernel| kernel.task(task).map(|task| task.phase.clone())).await?;
    match phase {
        Some(TaskPhase::Finished(TaskOutcome::Completed)) => Ok(answer_of(context, task)?),
        Some(TaskPhase::Finished(outcome)) => Err(SideQuestionError::Unanswered(outcome)),
        Some(_) | None => Err(SideQuestionError::Unanswered(TaskOutcome::Lost)),
    }
}

/// Asks the session's model for tools.
#[derive(Debug)]
pub(crate) struct SessionModelAsker {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) supervisor: Supervisor,
}

impl ModelAsker for SessionModelAsker {
    fn ask(&self, question: ModelQuestion) -> BoxFuture<'_, Result<ModelReply, ToolError>> {
        Box::pin(async move {
            let ModelQuestion { purpose, system, prompt, max_output } = question;
            let question = SideQuestion { purpose, model: None, system: &system, prompt, max_output };
            let text = ask_model(&self.context, &self.supervisor, question).await;
            let text = text.map_err(|error| ToolError::refused(error.to_string()))?;
            Ok(ModelReply { model: protocol::model_display_name(&self.context.session_model_spec()), text })
        })
    }
}

/// The answer, from the log.
fn answer_of(context: &SessionContext, task: TaskId) -> Result<String, store::StoreError> {
    let log = context.log.task_events_after(task, 0)?;
    let text = log.into_iter().rev().find_map(|envelope| match envelope.entry.event {
        Event::ActivationEnded { text, .. } => Some(text),
        _other => None,
    });
    Ok(text.unwrap_or_default())
}
