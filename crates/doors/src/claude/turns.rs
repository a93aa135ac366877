//! Turns: each message of the client's is one, and so is each time that the root is woken by what it left running.

use protocol::api::{AskView, AsksDecideParams, AsksParams, AsksResult, DecideParams, Method, RulesParams};
use protocol::{Ask, CallId, Origin, TaskId};
use rpc::CallError;
use serde_json::{Value, json};

use super::asks::Verdict;
use super::chore::{self, Chore};
use super::frames::{self, Ending};
use super::mode::Mode;
use super::prompt::Prompt;
use super::structured;
use super::talk::Talk;
use super::wire::Gone;
use crate::decision::instead;

/// Most messages that wait, and most bytes of them.
const QUEUE_MAX: (usize, usize) = (1000, 64 * 1024 * 1024);

impl Talk {
    /// Takes a message of the client's.
    pub(super) async fn prompt(&mut self, frame: Value) -> Result<(), Gone> {
        let Some(prompt) = Prompt::read(frame) else {
            return self.end(Ending::Refused("the message says nothing".into())).await;
        };
        let bytes = self.queue.iter().map(Prompt::size).sum::<usize>() + prompt.size();
        if self.queue.len() >= QUEUE_MAX.0 || bytes > QUEUE_MAX.1 {
            return self
                .end(Ending::Failed("too many messages wait: read the results of the earlier ones".into()))
                .await;
        }
        self.queue.push_back(prompt);
        self.next_turn().await
    }

    /// Begins the turn of the next message, unless one is under way.
    async fn next_turn(&mut self) -> Result<(), Gone> {
        if self.asked {
            return Ok(());
        }
        let Some(prompt) = self.queue.pop_front() else { return Ok(()) };
        self.asked = true;
        self.ledger.begin();
        self.show(frames::init(self.session, &self.intro)).await?;
        let is_slash =
            prompt.slash().is_some_and(|(name, _)| self.intro.commands.iter().any(|known| known.name == name));
        self.chores.spawn(chore::send(self.api.clone(), prompt, is_slash));
        Ok(())
    }

    /// The root begins to work.
    pub(super) async fn began(&mut self) -> Result<(), Gone> {
        if self.asked {
            return Ok(());
        }
        self.ledger.begin();
        self.show(frames::init(self.session, &self.intro)).await
    }

    /// The root's activation is over, and so is a turn.
    pub(super) async fn ended(&mut self, ending: Ending) -> Result<(), Gone> {
        let Some(ending) = self.formed(ending) else { return Ok(()) };
        let woken = std::mem::take(&mut self.woken);
        let heard = std::mem::take(&mut self.heard) || self.is_cut(&ending);
        // What an earlier life left undone ends before the client's message is read: one result is for both.
        if self.asked && !heard && !woken && matches!(ending, Ending::Answered(_)) {
            return Ok(());
        }
        if ending == Ending::Interrupted {
            self.show(frames::interrupted(self.session)).await?;
        }
        let figures = frames::Figures { is_wake_up: woken && !heard, ..self.ledger.close() };
        self.last = Some(ending.clone());
        self.show(frames::result(self.session, ending, figures)).await?;
        if heard {
            (self.asked, self.breaks) = (false, false);
            self.next_turn().await?;
        }
        Ok(())
    }

    /// Whether the turn was broken off with a message that the root had not read: nobody wakes it for that message, which
    /// is read with the next.
    fn is_cut(&self, ending: &Ending) -> bool {
        *ending == Ending::Interrupted && self.asked && self.mails.values().any(|from| *from == Origin::User)
    }

    /// The ending with an answer of the form that the client wants; nothing if the agent is told to give it first.
    fn formed(&mut self, ending: Ending) -> Option<Ending> {
        let Some(structured) = self.structured.as_mut().filter(|_| matches!(ending, Ending::Answered(_))) else {
            return Some(ending);
        };
        match structured.end() {
            structured::Ending::Given(answer) => Some(Ending::Structured(answer)),
            structured::Ending::GaveUp(why) => Some(Ending::Unstructured(why)),
            // Nobody asked for what a task woke it for.
            structured::Ending::Again(_) if !self.heard => Some(ending),
            structured::Ending::Again(words) => {
                self.chores.spawn(chore::insist(self.api.clone(), words));
                None
            }
        }
    }

    /// A message led to no activation.
    async fn end(&mut self, ending: Ending) -> Result<(), Gone> {
        let figures = self.ledger.close();
        self.last = Some(ending.clone());
        self.show(frames::result(self.session, ending, figures)).await
    }

    /// A chore is done.
    pub(super) async fn came_back(&mut self, chore: Chore) -> Result<(), Gone> {
        match chore {
            Chore::Sent { frame } => match self.manner.replays {
                true => self.show(frames::replayed(self.session, frame)).await,
                false => Ok(()),
            },
            Chore::Insisted => Ok(()),
            Chore::Told(text) => self.passed(Ending::Answered(text)).await,
            Chore::Refused(why) => self.passed(Ending::Refused(why)).await,
            Chore::Decided { task, ask, verdict } => self.decided(task, *ask, verdict).await,
            Chore::Unanswered => {
                self.is_unanswered = true;
                Ok(())
            }
        }
    }

    async fn passed(&mut self, ending: Ending) -> Result<(), Gone> {
        self.end(ending).await?;
        (self.asked, self.breaks) = (false, false);
        self.next_turn().await?;
        self.show_state().await
    }

    /// Something waits for a decision.
    pub(super) async fn ask(&mut self, task: TaskId, ask: Ask) -> Result<(), Gone> {
        if !self.manner.decides || self.intro.mode == Mode::DontAsk {
            // Whoever runs the session has a client of its own, which may decide.
            if self.intro.visits {
                return Ok(());
            }
            let no = Verdict { decision: ask.subject.by_default(), interrupts: false, mode: None, rules: Vec::new() };
            return self.decided(task, ask, no).await;
        }
        let key = (task, ask.call.clone());
        if self.asking.contains_key(&key) {
            return Ok(());
        }
        let agent = (task != self.root).then(|| task.to_string());
        let handle = self.chores.spawn(chore::ask(self.control.clone(), task, ask, agent));
        self.asking.insert(key, handle);
        Ok(())
    }

    /// What waited for a decision before this client came is put to it.
    pub(super) async fn ask_again(&mut self) -> Result<(), Gone> {
        let open = self.call::<AsksResult>(Method::AsksList, AsksParams::default()).await;
        let asks = open.map(|result| result.asks).unwrap_or_else(|error| {
            tracing::warn!(%error, "what waits for a decision cannot be listed");
            Vec::new()
        });
        for AskView { task, ask, .. } in asks {
            self.ask(task, ask).await?;
        }
        Ok(())
    }

    /// What was asked is decided, or nobody needs it decided any more.
    pub(super) fn withdraw(&mut self, task: TaskId, call: &CallId) {
        if let Some(asking) = self.asking.remove(&(task, call.clone())) {
            asking.abort();
        }
    }

    async fn decided(&mut self, task: TaskId, ask: Ask, verdict: Verdict) -> Result<(), Gone> {
        self.asking.remove(&(task, ask.call.clone()));
        if let Some(mode) = verdict.mode.filter(|mode| *mode != Mode::Bypass || !self.manner.forbids_bypass) {
            self.set_mode(mode).await?;
        }
        if !verdict.rules.is_empty() {
            self.tell(Method::RulesSet, json!(RulesParams { changes: verdict.rules })).await;
        }
        let mut next = Some(verdict.decision);
        while let Some(decision) = next.take() {
            let decided = DecideParams { ask: ask.id.clone(), decision: decision.clone() };
            let params = AsksDecideParams { decided, interrupt: verdict.interrupts };
            if let Err(error) = self.call::<Value>(Method::AsksDecide, params).await {
                // Another client may have been faster.
                tracing::info!(%error, "a decision was not taken");
                if let CallError::Refused(refusal) = error {
                    next = instead(decision, &refusal);
                }
            }
        }
        Ok(())
    }

    /// Breaks the turn off.
    pub(super) async fn interrupt(&self) {
        if let Err(error) = self.call::<Value>(Method::SessionInterrupt, json!({})).await {
            tracing::info!(%error, "nothing was interrupted");
        }
    }
}
