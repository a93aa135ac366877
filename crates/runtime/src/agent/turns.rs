//! The turn: wait for the governor, reserve, ask.

use std::sync::Arc;

use kernel::{Booked, Ending, Parking, Point, Refusal, Report};
use model::{Calls, Request};
use protocol::{Budget, Compaction, FailKind, Limit, ParkReason, Quote, Turn, WrapUp};

use tokio::sync::watch;

use super::ask::{Asked, Ears, Growth, TurnBudget, ask};
use super::call_ids;
use super::ends::out_of;
use super::quote;
use super::retry::Tries;
use super::room::{self, Room};
use super::run::{Broken, Step};
use super::{AgentRun, Deadline};
use crate::conversation::Conversation;
use crate::governor::{Admission, DayShare, Permit, Verdict};
use crate::hooks::tell;
use crate::supervisor::Rejected;

/// How the next turn began.
enum Begun {
    Turn(Turn),
    /// It needs a slot first.
    NoSlot,
    /// What it may spend is set aside for questions of others; one of them is settled next.
    Held(watch::Receiver<u64>),
    /// There is none.
    Over(Ending),
}

/// Whether the model is the one that was asked last.
enum Refit {
    Same,
    Another,
}

impl AgentRun {
    /// Asks the model until it answers, and decides what its answer means.
    pub(super) async fn turn(&mut self) -> Result<Step, Rejected> {
        let mut tries = Tries::of(self.outfit.model.facts());
        let mut waits_for_budget = false;
        loop {
            match self.refit() {
                Ok(Refit::Same) => {}
                Ok(Refit::Another) => tries = Tries::of(self.outfit.model.facts()),
                Err(message) => return self.end(Ending::Failed { kind: FailKind::Model, message }).await,
            }
            self.outfit.model.learn().await;
            let mut permit = match self.admitted().await? {
                Ok(permit) => permit,
                Err(step) => return Ok(step),
            };
            let mut share = match self.share_of_day().await? {
                Ok(share) => share,
                Err(step) => return Ok(step),
            };
            let turn = match self.begin_turn().await? {
                Begun::Turn(turn) => turn,
                Begun::NoSlot => {
                    // Whoever has a slot may need the place that this one has at the governor, or its share of the day.
                    drop((permit, share));
                    self.wait_for_slot().await;
                    continue;
                }
                Begun::Held(settled) => {
                    drop((permit, share));
                    // Others are told once why nothing happens.
                    if !std::mem::replace(&mut waits_for_budget, true) {
                        self.report(Report::AwaitsBudget).await?;
                    }
                    self.wait_for_budget(settled).await;
                    continue;
                }
                Begun::Over(ending) => return self.end(ending).await,
            };
            let request = self.request(tries.next());
            let (desk, task) = (Arc::clone(&self.desk), self.link.run.task);
            let model = Arc::clone(&self.outfit.model);
            let held = &mut permit;
            let (pulse, words, streamed) =
                (self.link.pulse.clone(), self.link.words.clone(), self.link.streamed.clone());
            let growth = self.growth(turn, &mut share);
            let asked = async move {
                let ears = Ears { bus: &desk.bus, task, turn, pulse, words, streamed, growth };
                ask(&*model, request, ears, held).await
            };
            let Some(asked) = self.in_time(Conversation::is_asking, asked).await else {
                return self.out_of_time(turn).await;
            };
            let (asked, permit) = match asked {
                Broken::Off => return Ok(Step::On),
                Broken::Done(asked) => (asked?, permit),
            };
            match (asked, permit) {
                (Asked::Answered(mut reply), permit) => {
                    permit.settle(Verdict::Answered);
                    self.settle_day(share, reply.usage);
                    call_ids::tell_apart(self.conversation.messages(), &mut reply.content);
                    return self.answered(turn, reply).await;
                }
                (Asked::TooLong, permit) => {
                    permit.settle(Verdict::Answered);
                    if let Broken::Off = self.too_expensive(turn).await? {
                        return Ok(Step::On);
                    }
                }
                (Asked::Failed(error), permit) => {
                    permit.settle(Verdict::Failed(error.fault));
                    if let Booked::Nothing = self.booked(&error) {
                        share.settle(0);
                    }
                    if let Some(step) = self.failed(turn, error, &mut tries).await? {
                        return Ok(step);
                    }
                }
            }
        }
    }

    /// What is set aside for the answer to this turn.
    fn growth<'a>(&self, turn: Turn, share: &'a mut DayShare) -> Option<Growth<'a>> {
        share.asked(self.conversation.reserved().micros);
        let (supervisor, run) = (self.link.supervisor.clone(), self.link.run);
        let budget = self.is_budgeted().then_some(TurnBudget { supervisor, run, turn });
        let (price, output) = (self.outfit.model.facts().price.unwrap_or_default(), self.conversation.expected());
        (budget.is_some() || share.is_limited()).then_some(Growth { budget, share, price, output })
    }

    /// Takes the session's model if that is another by now; says in words why it cannot.
    fn refit(&mut self) -> Result<Refit, String> {
        let (desk, task) = (&self.desk, self.link.run.task);
        let wanted = desk.roster.known(task, |known| Arc::clone(&known.spec)).map(|spec| desk.model_name(&spec));
        if wanted.is_none_or(|wanted| wanted == self.outfit.model_spec) {
            return Ok(Refit::Same);
        }
        self.outfit = desk.outfit(task)?;
        Ok(Refit::Another)
    }

    /// Waits until the governor lets it ask; parks when that is not soon.
    async fn admitted(&mut self) -> Result<Result<Permit, Step>, Rejected> {
        let (desk, outfit) = (Arc::clone(&self.desk), Arc::clone(&self.outfit));
        let _in_line = self.link.pulse.rest();
        let admit = desk.governor.admit(outfit.model.facts());
        match self.time_to_ask().watch(admit).await {
            Some(Admission::Go(permit)) => Ok(Ok(permit)),
            Some(Admission::Park(until)) => {
                let parking = Parking { until: Some(until), why: ParkReason::Quota };
                self.report(Report::Park(parking)).await.map(|()| Err(Step::Over))
            }
            None => self.too_late_to_ask().await.map(Err),
        }
    }

    /// What the model is asked now.
    fn request(&self, attempt: u32) -> Request {
        let (desk, conversation) = (&self.desk, &self.conversation);
        Request {
            agent: conversation.agent().into(),
            path: self.path.clone(),
            at: desk.settings.clock.now(),
            turn: conversation.answers() + 1,
            attempt,
            system: Arc::clone(&self.outfit.system),
            messages: conversation.messages().clone(),
            tools: self.outfit.told(conversation.grown()),
            calls: if conversation.wrap_up().is_some() { Calls::Forbidden } else { Calls::Allowed },
            max_output: conversation.max_output(),
            effort: self.outfit.effort,
        }
    }

    /// What reserves and begins the next turn.
    fn turn_begun(&self) -> Report {
        Report::TurnBegun { model: self.outfit.model.name().to_owned(), quote: self.quote() }
    }

    /// What the next question may use.
    pub(super) fn quote(&self) -> Quote {
        let quote = match self.conversation.wrap_up() {
            None => quote::next(&self.desk, &self.outfit, &self.conversation),
            Some(_) => quote::last(&self.desk, &self.outfit, &self.conversation),
        };
        room::within(&self.outfit, quote)
    }

    /// Begins the next turn, or tells why there is none.
    async fn begin_turn(&mut self) -> Result<Begun, Rejected> {
        loop {
            match self.conversation.wrap_up().filter(|_| self.deadline.is_over()) {
                Some(why) => return Ok(Begun::Over(out_of(why))),
                None if self.stopping => self.wrap_up(WrapUp::Stop).await?,
                None if self.deadline.is_over() => self.wrap_up(WrapUp::Time).await?,
                None if self.conversation.is_stuck() => self.close_unchanged().await?,
                None => {}
            }
            if let Err(ending) = self.make_room().await? {
                return Ok(Begun::Over(ending));
            }
            let settled = self.link.supervisor.settled();
            self.link.streamed.begin();
            let refusal = match self.hear_and_begin().await? {
                Ok(()) => {
                    self.catch_up();
                    return Ok(Begun::Turn(self.conversation.turn()));
                }
                Err(Rejected::Refused(refusal)) => refusal,
                Err(rejected) => return Err(rejected),
            };
            self.catch_up();
            match (refusal, self.conversation.wrap_up()) {
                (Refusal::NoSlot, _) => return Ok(Begun::NoSlot),
                (Refusal::BudgetHeld { .. }, _) => return Ok(Begun::Held(settled)),
                // One that has not begun has nothing to sum up.
                (Refusal::Turns { .. }, None) if self.has_begun().await? => self.wrap_up(WrapUp::Turns).await?,
                (Refusal::Turns { .. }, _) => return Ok(Begun::Over(Ending::TimedOut(Limit::Turns))),
                (Refusal::Closing { why }, None) => self.wrap_up(why).await?,
                (Refusal::Budget { .. }, None) => self.wrap_up(WrapUp::Budget).await?,
                (Refusal::Budget { .. }, Some(why)) if why.completes() => {
                    return Ok(Begun::Over(Ending::BudgetExhausted));
                }
                // It is taken when mail that interrupts came between its answer and the end of the activation.
                (Refusal::Budget { .. } | Refusal::WrappedUp, Some(why)) => return Ok(Begun::Over(out_of(why))),
                (refusal, _) => return Err(refusal.into()),
            }
        }
    }

    /// Whether the activation has had a turn.
    async fn has_begun(&self) -> Result<bool, Rejected> {
        let id = self.link.run.task;
        self.link.supervisor.look(move |kernel| kernel.task(id).is_some_and(|task| task.turns > 0)).await
    }

    /// Waits until another question is settled, its own time is up, or it is asked to stop.
    async fn wait_for_budget(&mut self, mut settled: watch::Receiver<u64>) {
        let deadline = self.deadline;
        let _for_others = self.link.pulse.rest();
        let waiting = async {
            loop {
                tokio::select! {
                    biased;
                    // A supervisor that is gone settles nothing more, and the next report says so.
                    _settled = settled.changed() => return,
                    told = self.link.told() => match told {
                        Some(told) => self.hear(told),
                        None => return,
                    },
                }
                if self.stopping {
                    return;
                }
            }
        };
        // Too late or not, the loop looks again.
        let _in_time = deadline.watch(waiting).await;
    }

    /// Hears the mail and begins the turn that answers it.
    async fn hear_and_begin(&mut self) -> Result<Result<(), Rejected>, Rejected> {
        let (supervisor, run) = (self.link.supervisor.clone(), self.link.run);
        let boundary = Report::Boundary(Point::Between);
        if !self.is_budgeted() {
            // One commit for both.
            let (heard, begun) = supervisor.report_both(run, boundary, self.turn_begun()).await?;
            return heard.map(|()| begun);
        }
        // What is set aside must count the mail, and all of it is known only when it was heard.
        supervisor.report(run, boundary).await?;
        self.catch_up();
        Ok(supervisor.report(run, self.turn_begun()).await)
    }

    /// Whether anybody limits what it spends: whoever runs the session, or the definition of it or of one above it.
    fn is_budgeted(&self) -> bool {
        self.desk.settings.budget != Budget::default() || self.desk.roster.is_budgeted(self.link.run.task)
    }

    /// Leaves out of the conversation what the model has no room for.
    async fn make_room(&mut self) -> Result<Result<(), Ending>, Rejected> {
        match room::look(&self.desk, &self.outfit, &self.link, &self.conversation).await? {
            Room::Enough => Ok(Ok(())),
            Room::Less(compaction) => {
                // It cannot be kept from it: the model has no room.
                let _heard = tell(&self.desk, self.link.run, ::hooks::Occasion::Compact(compaction.cause)).await;
                self.compact(compaction).await.map(Ok)
            }
            Room::Never(message) => {
                // Mail that is not heard would wake the task again, for the same end.
                self.report(Report::Boundary(Point::Between)).await?;
                Ok(Err(Ending::Failed { kind: FailKind::Model, message }))
            }
        }
    }

    pub(super) async fn compact(&mut self, compaction: Compaction) -> Result<(), Rejected> {
        self.report(Report::Compacted(compaction)).await?;
        self.catch_up();
        Ok(())
    }

    /// Makes the next turn the last.
    pub(super) async fn wrap_up(&mut self, why: WrapUp) -> Result<(), Rejected> {
        self.report(Report::WrapUp(why)).await?;
        if !why.completes() {
            self.deadline = Deadline::grace();
        }
        self.catch_up();
        Ok(())
    }

    /// Makes the next turn the last for want of change, unless somebody works on what may become one.
    async fn close_unchanged(&mut self) -> Result<(), Rejected> {
        match self.wrap_up(WrapUp::NoChange).await {
            Err(Rejected::Refused(Refusal::NotDue)) => Ok(()),
            closed => closed,
        }
    }
}
