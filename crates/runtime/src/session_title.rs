//! Asks a model for the title of a session, once, after its first completed activation.

use std::sync::Arc;

use kernel::{Kernel, KernelInput, ReaderWait};
use protocol::{Activation, Event, ModelPreference, TaskForm, TaskId, TaskOutcome};
use store::StoreError;
use tokio::sync::watch;

use crate::prompt;
use crate::session_context::SessionContext;
use crate::side_question::{SideQuestion, SideQuestionError, ask_model};
use crate::supervisor::{InputRejection, Supervisor};

/// The name of the question.
const PURPOSE: &str = "session-title";

/// The system prompt of the question.
const SYSTEM: &str = include_str!("prompts/title.md");

/// Maximum bytes of the conversation in the question.
const MAX_PART_BYTES: usize = 2 * 1024;

/// Maximum tokens of the answer.
const MAX_OUTPUT: u32 = 64;

/// Maximum characters of a title.
const MAX_TITLE_CHARS: usize = 80;

/// Asks for the title of one session.
#[derive(Debug)]
pub(crate) struct SessionTitler {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) supervisor: Supervisor,
    pub(crate) root: TaskId,
    /// Whether there is nothing left to ask.
    pub(crate) is_done: watch::Sender<bool>,
}

impl SessionTitler {
    /// Runs until the session has a title, or its question has failed.
    pub(crate) async fn run(self) {
        match self.title().await {
            Ok(()) => {}
            Err(why) => tracing::info!(%why, "the session keeps its first prompt as its title"),
        }
        self.is_done.send_replace(true);
    }

    async fn title(&self) -> Result<(), SideQuestionError> {
        // A question that an earlier owner lost is not asked again.
        if self.supervisor.query(was_asked).await? {
            return Ok(());
        }
        self.wait_for_completed_activation().await?;
        let prompt = self.question_prompt()?;
        let question = SideQuestion {
            purpose: PURPOSE,
            model: self.context.catalog.models.preferred(ModelPreference::Small),
            system: SYSTEM.trim_end(),
            prompt,
            max_output: MAX_OUTPUT,
        };
        let answer = ask_model(&self.context, &self.supervisor, question).await?;
        // A client may have given the session a title meanwhile.
        if let Some(title) = clean_title(&answer).filter(|_| !self.has_title().unwrap_or(false)) {
            self.supervisor.submit(KernelInput::SetTitle { title }).await?;
        }
        Ok(())
    }

    fn has_title(&self) -> Result<bool, StoreError> {
        let log = self.context.log.task_events_after(self.root, 0)?;
        Ok(log.iter().any(|envelope| matches!(envelope.entry.event, Event::SessionTitled { .. })))
    }

    /// Waits for the first activation of the root that completes.
    async fn wait_for_completed_activation(&self) -> Result<(), InputRejection> {
        let (root, mut after) = (self.root, Activation(0));
        loop {
            self.supervisor.wait_for(ReaderWait::Activation { task: root, after }).await?;
            let latest = self.context.log.roster.with_task(root, |entry| {
                entry.endings.last_key_value().map(|(activation, end)| (*activation, end.outcome.clone()))
            });
            match latest.flatten() {
                Some((_, TaskOutcome::Completed)) => return Ok(()),
                Some((activation, _)) => after = activation,
                None => after = Activation(after.0 + 1),
            }
        }
    }

    /// The first prompt and the latest answer, quoted.
    fn question_prompt(&self) -> Result<String, SideQuestionError> {
        let root = self.context.log.reader()?.task(self.root)?;
        let (asked, answered) = root.map(|root| (root.prompt, root.result)).unwrap_or_default();
        let part = |text: Option<String>| prompt::quote_within(&text.unwrap_or_default(), MAX_PART_BYTES);
        Ok(format!("The user asked:\n{}\nThe answer was:\n{}", part(asked), part(answered)))
    }
}

/// Whether the session has been asked for its title.
fn was_asked(kernel: &Kernel) -> bool {
    kernel.tasks().any(|task| task.kind.form() == TaskForm::Question && *task.agent == *PURPOSE)
}

/// The first line of a text, without quotes and a final period; none if nothing is left.
pub(crate) fn clean_title(answer: &str) -> Option<String> {
    let line = answer.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = line.trim_matches(['"', '\'', '`', '*', '#', ' ']).trim_end_matches('.');
    let title: String = line.chars().filter(|c| !c.is_control()).take(MAX_TITLE_CHARS).collect();
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_short_line_without_decoration() {
        assert_eq!(clean_title("\n \"Count the tests.\"\nmore").as_deref(), Some("Count the tests"));
        assert_eq!(clean_title("# A title").as_deref(), Some("A title"));
        assert_eq!(clean_title(&"x".repeat(200)).map(|title| title.len()), Some(MAX_TITLE_CHARS));
        assert_eq!(clean_title(" \n\"\""), None);
    }
}
