//! One answer of the model: what the plan, the limits, the wire and the script make of a request.

use std::future;

use futures_util::{FutureExt, StreamExt, stream};
use model::{Delta, Deltas, Model, ModelError, Wire};
use protocol::{ModelFault, StopReason, Usage};
use tokio::net::tcp::OwnedWriteHalf;

use super::Fault;
use super::http::{Page, Request};
use super::ledger::Arrival;
use super::outlet::{Frames, Halt, Outlet};
use super::serve::Shared;
use super::trouble::Trouble;
use super::wire::{self, Asked, Ending, Form, Speech};

/// Answers one request to a model; an error means that the connection is to be closed.
pub(super) async fn answer(
    shared: &Shared,
    wire: Wire,
    request: &Request,
    to: &mut OwnedWriteHalf,
) -> Result<(), Halt> {
    let arrival = shared.ledger().arrive(wire, request);
    let _under_way = UnderWay(shared);
    let fault = shared.setup.faults.of(arrival.number);
    match fault {
        Some(Fault::Hang) => return future::pending().await,
        Some(Fault::Close) => return Err(Halt::Cut),
        _ => {}
    }
    if !shared.setup.latency.is_zero() {
        tokio::time::sleep(shared.setup.latency).await;
    }
    let question = Question { shared, wire, arrival, fault };
    match question.read(request) {
        Ok(asked) => question.answer(asked, to).await,
        Err(trouble) => question.refuse(&trouble, to).await,
    }
}

/// A request while it is under way; a client that goes away ends it too.
struct UnderWay<'a>(&'a Shared);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.ledger().leave();
    }
}

/// A request that is being answered.
struct Question<'a> {
    shared: &'a Shared,
    wire: Wire,
    arrival: Arrival,
    fault: Option<&'a Fault>,
}

impl Question<'_> {
    /// What is asked, unless something stands against it.
    fn read(&self, request: &Request) -> Result<Asked, Trouble> {
        if let Some((wait, hint)) = self.arrival.limited {
            return Err(Trouble::of_limit(wait, hint));
        }
        if let Some(trouble) = self.fault.and_then(Trouble::of_fault) {
            return Err(trouble);
        }
        wire::authorise(self.wire, request, self.shared.setup.key.as_deref())?;
        let tokens = request.body.len().div_ceil(4) as u64;
        if let Some(most) = self.shared.setup.context.filter(|most| tokens > *most) {
            return Err(Trouble::TooLong { tokens, most });
        }
        let asked = wire::read(self.wire, &request.body, self.arrival.attempt);
        let mut asked = asked.map_err(|wrong| Trouble::Invalid(wrong.to_string()))?;
        if let Some(Fault::Model(name)) = self.fault {
            asked.model.clone_from(name);
        }
        Ok(asked)
    }

    async fn refuse(&self, trouble: &Trouble, to: &mut OwnedWriteHalf) -> Result<(), Halt> {
        self.send(trouble.page(self.wire, self.arrival.number), to).await
    }

    async fn send(&self, page: Page, to: &mut OwnedWriteHalf) -> Result<(), Halt> {
        self.shared.ledger().answered(self.arrival.number, page.status);
        Ok(page.send(to).await?)
    }

    async fn answer(&self, asked: Asked, to: &mut OwnedWriteHalf) -> Result<(), Halt> {
        let script = &self.shared.setup.script;
        let most = asked.request.max_output;
        let forecast = script.ending(&asked.request).map(|(stop, usage)| ending(stop, usage, most));
        let mut speech = wire::speech(self.wire, &asked, self.arrival.number, forecast);
        let form = asked.form;
        let mut deltas = match self.fault {
            Some(Fault::Endless) => stream::repeat_with(|| Ok(Delta::Text("and so on ".repeat(100)))).boxed(),
            _ => script.ask(asked.request),
        };
        // A provider that fails before its first word says so with a status.
        let first = deltas.next().await;
        if let Some(Err(error)) = &first {
            self.shared.ledger().failed(self.arrival.question);
            return self.refuse(&Trouble::of_script(error), to).await;
        }
        let mut deltas = stream::iter(first).chain(deltas).boxed();
        match form {
            Form::Whole => self.whole(&mut deltas, speech.as_mut(), most, to).await,
            Form::Stream => self.stream(&mut deltas, speech.as_mut(), most, to).await,
        }
    }

    async fn whole(
        &self,
        deltas: &mut Deltas,
        speech: &mut dyn Speech,
        most: Option<u32>,
        to: &mut OwnedWriteHalf,
    ) -> Result<(), Halt> {
        let mut unheard = Frames::new();
        while let Some(delta) = deltas.next().await {
            match delta {
                Ok(Delta::Done { stop, usage, .. }) => {
                    let ending = ending(stop, usage, most);
                    speech.end(ending, &mut unheard);
                    self.shared.ledger().reported(self.arrival.number, ending.usage);
                    return self.send(Page::json(200, &speech.whole(ending)), to).await;
                }
                Ok(delta) => speech.say(&delta, &mut unheard),
                Err(error) => return self.refuse(&Trouble::of_script(&error), to).await,
            }
        }
        Err(Halt::Cut)
    }

    async fn stream(
        &self,
        deltas: &mut Deltas,
        speech: &mut dyn Speech,
        most: Option<u32>,
        to: &mut OwnedWriteHalf,
    ) -> Result<(), Halt> {
        self.shared.ledger().answered(self.arrival.number, 200);
        let mut outlet = Outlet::new(to, self.fault);
        match self.speak(deltas, speech, most, &mut outlet).await {
            Ok(()) | Err(Halt::End) => outlet.finish().await,
            Err(Halt::Cut) => {
                outlet.cut().await?;
                Err(Halt::Cut)
            }
            Err(Halt::Gone) => Err(Halt::Gone),
        }
    }

    /// Sends everything that the script says.
    async fn speak(
        &self,
        deltas: &mut Deltas,
        speech: &mut dyn Speech,
        most: Option<u32>,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), Halt> {
        let mut frames = Frames::new();
        speech.begin(&mut frames);
        outlet.send(&mut frames).await?;
        if outlet.is_flooded() {
            outlet.flood().await?;
        }
        while let Some(delta) = next(deltas, outlet).await? {
            match delta {
                Ok(Delta::Done { stop, usage, .. }) => {
                    let ending = ending(stop, usage, most);
                    speech.end(ending, &mut frames);
                    return self.close(ending, &mut frames, outlet).await;
                }
                Ok(delta) => {
                    speech.say(&delta, &mut frames);
                    outlet.send(&mut frames).await?;
                    if matches!(delta, Delta::Call(_)) {
                        outlet.called()?;
                    }
                }
                Err(error) => return self.break_off(&error, speech, outlet).await,
            }
        }
        Err(Halt::Cut)
    }

    /// Sends the end. It is counted before it leaves, since a client that has it may look at the count at once.
    async fn close(&self, ending: Ending, frames: &mut Frames, outlet: &mut Outlet<'_>) -> Result<(), Halt> {
        self.shared.ledger().reported(self.arrival.number, ending.usage);
        let sent = outlet.send(frames).await;
        if sent.is_err() {
            self.shared.ledger().unreported(self.arrival.number, ending.usage);
        }
        sent
    }

    /// A provider that fails in the middle says so if it can.
    async fn break_off(
        &self,
        error: &ModelError,
        speech: &mut dyn Speech,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), Halt> {
        self.shared.ledger().failed(self.arrival.question);
        if error.fault == ModelFault::Transient {
            return Err(Halt::Cut);
        }
        let mut frames = Frames::new();
        speech.fail(&Trouble::of_script(error), &mut frames);
        outlet.send(&mut frames).await
    }
}

/// The next delta. What was sent leaves before anything is waited for.
async fn next(deltas: &mut Deltas, outlet: &mut Outlet<'_>) -> Result<Option<Result<Delta, ModelError>>, Halt> {
    /// Bytes that may gather before they leave in any case.
    const GATHER: usize = 64 << 10;
    if outlet.gathered() > GATHER {
        outlet.flush().await?;
    }
    if let Some(delta) = deltas.next().now_or_never() {
        return Ok(delta);
    }
    outlet.flush().await?;
    Ok(deltas.next().await)
}

/// A provider never reports more output than it was allowed, and says when that was the end.
fn ending(stop: StopReason, usage: Usage, most: Option<u32>) -> Ending {
    match most.map(u64::from) {
        Some(most) if usage.output > most => {
            Ending { stop: StopReason::Length, usage: Usage { output: most, ..usage } }
        }
        _ => Ending { stop, usage },
    }
}
