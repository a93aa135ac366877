//! One answer of the model: what the plan, the limits, the wire and the script make of a request.

use std::{fs, future};

use futures_util::{FutureExt, StreamExt, stream};
use model::{Delta, Deltas, Model, ModelError, Wire};
use protocol::{ModelFault, StopReason, Usage};
use tokio::net::tcp::OwnedWriteHalf;

use super::course::{Course, Flood, Stop, Twist};
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
    if let Some(folder) = &shared.setup.bodies {
        fs::write(folder.join(format!("{:06}.json", arrival.number)), &request.body).unwrap();
    }
    let _under_way = UnderWay(shared);
    let course = Course::of(shared.setup.faults.of(arrival.number));
    let question = Question { shared, wire, arrival };
    let twist = match course {
        Course::Hang => return future::pending().await,
        Course::Close => return Err(Halt::CUT),
        Course::Refuse(trouble) => return question.refuse(&trouble, to).await,
        Course::Answer(twist) => twist,
    };
    match question.read(request) {
        Ok(asked) => question.answer(asked, &twist, to).await,
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
}

/// What is said, and in which form.
struct Saying {
    deltas: Deltas,
    speech: Box<dyn Speech>,
    /// Most tokens of it.
    most: Option<u32>,
}

impl Question<'_> {
    /// What is asked, unless something stands against it.
    fn read(&self, request: &Request) -> Result<Asked, Trouble> {
        if let Some((wait, hint)) = self.arrival.limited {
            return Err(Trouble::of_limit(wait, hint));
        }
        wire::authorise(self.wire, request, self.shared.setup.key.as_deref())?;
        let tokens = request.body.len().div_ceil(4) as u64;
        if let Some(most) = self.shared.setup.context.filter(|most| tokens > *most) {
            return Err(Trouble::TooLong { tokens, most });
        }
        wire::read(self.wire, &request.body, self.arrival.attempt).map_err(|wrong| Trouble::Invalid(wrong.to_string()))
    }

    async fn refuse(&self, trouble: &Trouble, to: &mut OwnedWriteHalf) -> Result<(), Halt> {
        self.take_time().await;
        self.send(trouble.page(self.wire, self.arrival.number), to).await
    }

    async fn send(&self, page: Page, to: &mut OwnedWriteHalf) -> Result<(), Halt> {
        self.shared.ledger().answered(self.arrival.number, page.status);
        Ok(page.send(to).await?)
    }

    async fn take_time(&self) {
        if !self.shared.setup.latency.is_zero() {
            tokio::time::sleep(self.shared.setup.latency).await;
        }
    }

    async fn answer(&self, mut asked: Asked, twist: &Twist, to: &mut OwnedWriteHalf) -> Result<(), Halt> {
        let (form, script) = (asked.form, &self.shared.setup.script);
        if let Some(model) = &twist.model {
            asked.model.clone_from(model);
        }
        let most = asked.request.max_output;
        let forecast = script.ending(&asked.request).map(|(stop, usage)| ending(stop, usage, most));
        let speech = wire::speech(self.wire, &asked, self.arrival.number, forecast);
        let mut deltas = match twist.flood {
            Some(Flood::Text) => stream::repeat_with(|| Ok(Delta::Text("and so on ".repeat(5000)))).boxed(),
            Some(Flood::Line) | None => script.ask(asked.request),
        };
        // A provider that fails before its first word says so with a status.
        let first = deltas.next().await;
        if let Some(Err(error)) = &first {
            return self.refuse(&Trouble::of_script(error), to).await;
        }
        self.take_time().await;
        let saying = Saying { deltas: stream::iter(first).chain(deltas).boxed(), speech, most };
        match form {
            Form::Whole => self.whole(saying, to).await,
            Form::Stream => self.stream(saying, Outlet::new(to, twist)).await,
        }
    }

    async fn whole(&self, mut saying: Saying, to: &mut OwnedWriteHalf) -> Result<(), Halt> {
        let mut unheard = Frames::new();
        while let Some(delta) = saying.deltas.next().await {
            match delta {
                Ok(Delta::Done { stop, usage, .. }) => {
                    let ending = ending(stop, usage, saying.most);
                    saying.speech.end(ending, &mut unheard);
                    self.shared.ledger().reported(&self.arrival, ending.usage);
                    return self.send(Page::json(200, &saying.speech.whole(ending)), to).await;
                }
                Ok(delta) => saying.speech.say(&delta, &mut unheard),
                Err(error) => return self.refuse(&Trouble::of_script(&error), to).await,
            }
        }
        Err(Halt::CUT)
    }

    async fn stream(&self, mut saying: Saying, mut outlet: Outlet<'_>) -> Result<(), Halt> {
        self.shared.ledger().answered(self.arrival.number, 200);
        match self.speak(&mut saying, &mut outlet).await {
            Ok(()) | Err(Halt::Stopped(Stop::End)) => outlet.finish().await,
            Err(Halt::Stopped(Stop::Cut)) => {
                outlet.cut().await?;
                Err(Halt::CUT)
            }
            Err(Halt::Gone) => Err(Halt::Gone),
        }
    }

    /// Sends everything that the script says.
    async fn speak(&self, saying: &mut Saying, outlet: &mut Outlet<'_>) -> Result<(), Halt> {
        let mut frames = Frames::new();
        saying.speech.begin(&mut frames);
        outlet.send(&mut frames).await?;
        outlet.flood().await?;
        while let Some(delta) = next(&mut saying.deltas, outlet).await? {
            match delta {
                Ok(Delta::Done { stop, usage, .. }) => {
                    let ending = ending(stop, usage, saying.most);
                    saying.speech.end(ending, &mut frames);
                    return self.close(ending, &mut frames, outlet).await;
                }
                Ok(delta) => {
                    saying.speech.say(&delta, &mut frames);
                    outlet.send(&mut frames).await?;
                    if matches!(delta, Delta::Call(_)) {
                        outlet.called()?;
                    }
                }
                Err(error) => return break_off(&error, saying, outlet).await,
            }
        }
        Err(Halt::CUT)
    }

    /// Sends the end. It is counted before it leaves, since a client that has it may look at the count at once.
    async fn close(&self, ending: Ending, frames: &mut Frames, outlet: &mut Outlet<'_>) -> Result<(), Halt> {
        self.shared.ledger().reported(&self.arrival, ending.usage);
        let sent = outlet.send(frames).await;
        if sent.is_err() {
            self.shared.ledger().unreported(&self.arrival, ending.usage);
        }
        sent
    }
}

/// A provider that fails in the middle says so if it can.
async fn break_off(error: &ModelError, saying: &mut Saying, outlet: &mut Outlet<'_>) -> Result<(), Halt> {
    if error.fault == ModelFault::Transient {
        return Err(Halt::CUT);
    }
    let mut frames = Frames::new();
    saying.speech.fail(&Trouble::of_script(error), &mut frames);
    outlet.send(&mut frames).await
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
    let most = most.map_or(u64::MAX, u64::from);
    if usage.output > most {
        return Ending { stop: StopReason::Length, usage: Usage { output: most, ..usage } };
    }
    Ending { stop, usage }
}
