//! The calls of an answer.

use std::sync::Arc;

use kernel::{Ending, Refusal, Report};
use protocol::{Call, FailKind};

use super::AgentRun;
use super::call::{Bench, run_all};
use super::guard;
use super::run::{Broken, Step};
use crate::conversation::Conversation;
use crate::hooks::{self, Halt, Untold, Untolds};
use crate::supervisor::Rejected;
use crate::waits::Caller;

impl AgentRun {
    /// Runs the open calls.
    pub(super) async fn act(&mut self) -> Result<Step, Rejected> {
        let repeated = match guard::repeated(self.outfit.model.facts(), &self.conversation) {
            Ok(repeated) => repeated,
            Err(hopeless) => {
                let (kind, message) = (FailKind::NoAnswer, hopeless.to_string());
                return self.end(Ending::Failed { kind, message }).await;
            }
        };
        let halt = Halt::default();
        let called = |call: Call| {
            let caller = self.caller(&call, &halt);
            (call, caller)
        };
        let calls = self.conversation.open_calls().into_iter().map(called).collect();
        let (desk, outfit, stamps) = (Arc::clone(&self.desk), Arc::clone(&self.outfit), Arc::clone(&self.stamps));
        let (pulse, untold) = (self.link.pulse.clone(), Untolds::default());
        let early = self.early.take();
        let bench = Bench { desk, outfit, stamps, pulse, repeated, untold: untold.clone(), early };
        let run = async move { run_all(&bench, calls).await };
        match self.in_time(Conversation::is_acting, run).await {
            // Mail that interrupts has closed the calls, and whoever says that they are over hears it after the events
            // that say so. A call that cannot be answered for another reason is over as well: nobody would end it.
            Some(Broken::Done(Err(Rejected::Refused(Refusal::NoTurn | Refusal::Call(_))))) => self.drop_calls().await?,
            Some(Broken::Done(answered)) => answered?,
            Some(Broken::Off) if self.conversation.is_acting() => self.drop_calls().await?,
            Some(Broken::Off) => {}
            None => self.drop_calls().await?,
        }
        self.tell(untold.take()).await;
        match halt.reason() {
            Some(reason) => {
                let (kind, message) = (FailKind::Denied, format!("a hook stopped the agent: {reason}"));
                self.end(Ending::Failed { kind, message }).await
            }
            None => Ok(Step::On),
        }
    }

    /// Tells hooks of calls that were answered in the step that started them.
    async fn tell(&mut self, untold: Vec<Untold>) {
        self.catch_up();
        for untold in untold {
            let answers = match self.conversation.messages().last() {
                Some(model::Message::Answers { answers }) => answers.as_slice(),
                Some(model::Message::User { .. } | model::Message::Assistant { .. }) | None => &[],
            };
            let answer = answers.iter().find(|(id, _)| *id == untold.call.id).map(|(_, answer)| answer.clone());
            if let Some(answer) = answer {
                hooks::told(&self.desk, untold, &answer).await;
            }
        }
    }

    /// Ends the calls that are still open, since their time is up. It is one decision: some may wait for other tasks,
    /// and the answers of some may be on their way.
    pub(super) async fn drop_calls(&mut self) -> Result<(), Rejected> {
        let turn = self.conversation.turn();
        self.report(Report::CallsDropped { turn }).await
    }

    fn caller(&self, call: &Call, halt: &Halt) -> Caller {
        Caller {
            supervisor: self.link.supervisor.clone(),
            run: self.link.run,
            turn: self.conversation.turn(),
            call: call.id.clone(),
            waits: self.waits.clone(),
            told: Arc::default(),
            halt: halt.clone(),
        }
    }
}
