//! One answer of the model: what the plan, the limits, the wire and the script make of a request.

use std::{fs, future};

use futures_util::{FutureExt, StreamExt, stream};
use model::{Delta, Deltas, Model, ModelError, WireFormat};
use protocol::{ModelFault, StopReason, Usage};
use tokio::net::tcp::OwnedWriteHalf;

use super::course::{Flood, RequestCourse, StreamCut, Twist};
use super::http::{FullResponse, ReceivedRequest};
use super::ledger::RequestArrival;
use super::outlet::{SseFrames, StreamBody, StreamHalt};
use super::serve::ServerShared;
use super::trouble::RequestRefusal;
use super::wire::{self, AnswerEncoder, AnswerEnd, AnswerForm, ParsedRequest};

/// Answers one request to a model; an error means that the connection is to be closed.
pub(super) async fn answer(
    shared: &ServerShared,
    wire: WireFormat,
    request: &ReceivedRequest,
    to: &mut OwnedWriteHalf,
) -> Result<(), StreamHalt> {
    let arrival = shared.ledger().arrive(wire, request);
    if let Some(folder) = &shared.setup.bodies {
        fs::write(folder.join(format!("{:06}.json", arrival.number)), &request.body).unwrap();
    }
    let _under_way = RequestGuard(shared);
    let course = RequestCourse::of(shared.setup.faults.of(arrival.number));
    let question = PendingRequest { shared, wire, arrival };
    let twist = match course {
        RequestCourse::Hang => return future::pending().await,
        RequestCourse::Close => return Err(StreamHalt::CUT),
        RequestCourse::Refuse(trouble) => return question.refuse(&trouble, to).await,
        RequestCourse::Answer(twist) => twist,
    };
    match question.read(request) {
        Ok(asked) => question.answer(asked, &twist, to).await,
        Err(trouble) => question.refuse(&trouble, to).await,
    }
}

/// A request while it is under way; a client that goes away ends it too.
struct RequestGuard<'a>(&'a ServerShared);

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        self.0.ledger().leave();
    }
}

/// A request that is being answered.
struct PendingRequest<'a> {
    shared: &'a ServerShared,
    wire: WireFormat,
    arrival: RequestArrival,
}

/// What is said, and in which form.
struct AnswerPlan {
    deltas: Deltas,
    speech: Box<dyn AnswerEncoder>,
    /// Most tokens of it.
    most: Option<u32>,
}

impl PendingRequest<'_> {
    /// What is asked, unless something stands against it.
    fn read(&self, request: &ReceivedRequest) -> Result<ParsedRequest, RequestRefusal> {
        if let Some((wait, hint)) = self.arrival.limited {
            return Err(RequestRefusal::of_limit(wait, hint));
        }
        wire::authorise(self.wire, request, self.shared.setup.key.as_deref())?;
        let tokens = request.body.len().div_ceil(4) as u64;
        if let Some(most) = self.shared.setup.context.filter(|most| tokens > *most) {
            return Err(RequestRefusal::TooLong { tokens, most });
        }
        wire::read(self.wire, &request.body, self.arrival.attempt)
            .map_err(|wrong| RequestRefusal::Invalid(wrong.to_string()))
    }

    async fn refuse(&self, trouble: &RequestRefusal, to: &mut OwnedWriteHalf) -> Result<(), StreamHalt> {
        self.take_time().await;
        self.send(trouble.page(self.wire, self.arrival.number), to).await
    }

    async fn send(&self, page: FullResponse, to: &mut OwnedWriteHalf) -> Result<(), StreamHalt> {
        self.shared.ledger().answered(self.arrival.number, page.status);
        Ok(page.send(to).await?)
    }

    async fn take_time(&self) {
        if !self.shared.setup.latency.is_zero() {
            tokio::time::sleep(self.shared.setup.latency).await;
        }
    }

    async fn answer(&self, mut asked: ParsedRequest, twist: &Twist, to: &mut OwnedWriteHalf) -> Result<(), StreamHalt> {
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
            return self.refuse(&RequestRefusal::of_script(error), to).await;
        }
        self.take_time().await;
        let saying = AnswerPlan { deltas: stream::iter(first).chain(deltas).boxed(), speech, most };
        match form {
            AnswerForm::Whole => self.whole(saying, to).await,
            AnswerForm::Stream => self.stream(saying, StreamBody::new(to, twist)).await,
        }
    }

    async fn whole(&self, mut saying: AnswerPlan, to: &mut OwnedWriteHalf) -> Result<(), StreamHalt> {
        let mut unheard = SseFrames::new();
        while let Some(delta) = saying.deltas.next().await {
            match delta {
                Ok(Delta::Done { stop, usage, .. }) => {
                    let ending = ending(stop, usage, saying.most);
                    saying.speech.end(ending, &mut unheard);
                    self.shared.ledger().reported(&self.arrival, ending.usage);
                    return self.send(FullResponse::json(200, &saying.speech.whole(ending)), to).await;
                }
                Ok(delta) => saying.speech.say(&delta, &mut unheard),
                Err(error) => return self.refuse(&RequestRefusal::of_script(&error), to).await,
            }
        }
        Err(StreamHalt::CUT)
    }

    async fn stream(&self, mut saying: AnswerPlan, mut outlet: StreamBody<'_>) -> Result<(), StreamHalt> {
        self.shared.ledger().answered(self.arrival.number, 200);
        match self.speak(&mut saying, &mut outlet).await {
            Ok(()) | Err(StreamHalt::Stopped(StreamCut::End)) => outlet.finish().await,
            Err(StreamHalt::Stopped(StreamCut::Cut)) => {
                outlet.cut().await?;
                Err(StreamHalt::CUT)
            }
            Err(StreamHalt::Gone) => Err(StreamHalt::Gone),
        }
    }

    /// Sends everything that the script says.
    async fn speak(&self, saying: &mut AnswerPlan, outlet: &mut StreamBody<'_>) -> Result<(), StreamHalt> {
        let mut frames = SseFrames::new();
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
        Err(StreamHalt::CUT)
    }

    /// Sends the end. It is counted before it leaves, since a client that has it may look at the count at once.
    async fn close(
        &self,
        ending: AnswerEnd,
        frames: &mut SseFrames,
        outlet: &mut StreamBody<'_>,
    ) -> Result<(), StreamHalt> {
        self.shared.ledger().reported(&self.arrival, ending.usage);
        let sent = outlet.send(frames).await;
        if sent.is_err() {
            self.shared.ledger().unreported(&self.arrival, ending.usage);
        }
        sent
    }
}

/// A provider that fails in the middle says so if it can.
async fn break_off(error: &ModelError, saying: &mut AnswerPlan, outlet: &mut StreamBody<'_>) -> Result<(), StreamHalt> {
    if error.fault == ModelFault::Transient {
        return Err(StreamHalt::CUT);
    }
    let mut frames = SseFrames::new();
    saying.speech.fail(&RequestRefusal::of_script(error), &mut frames);
    outlet.send(&mut frames).await
}

/// The next delta. What was sent leaves before anything is waited for.
async fn next(
    deltas: &mut Deltas,
    outlet: &mut StreamBody<'_>,
) -> Result<Option<Result<Delta, ModelError>>, StreamHalt> {
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
fn ending(stop: StopReason, usage: Usage, most: Option<u32>) -> AnswerEnd {
    let most = most.map_or(u64::MAX, u64::from);
    if usage.output > most {
        return AnswerEnd { stop: StopReason::Length, usage: Usage { output: most, ..usage } };
    }
    AnswerEnd { stop, usage }
}
