//! Answers one request to a model, according to the fault plan, the limits, the wire format and the script.

use std::{fs, future};

use futures_util::{FutureExt, StreamExt, stream};
use model::{Delta, Deltas, Model, ModelError, WireFormat};
use protocol::{ModelFault, StopReason, Usage};
use tokio::net::tcp::OwnedWriteHalf;

use super::handling::{AnswerDefects, Flood, RequestHandling, StreamCut};
use super::http::{FullResponse, ReceivedRequest};
use super::ledger::RequestArrival;
use super::outlet::{SseFrames, StreamBody, StreamHalt};
use super::refusal::RequestRefusal;
use super::serve::ServerShared;
use super::wire::{self, AnswerEncoder, AnswerEnd, AnswerForm, ParsedRequest};

/// Answers one request to a model; on an error the connection must be closed.
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
    let course = RequestHandling::of(shared.setup.faults.of(arrival.number));
    let question = PendingRequest { shared, wire, arrival };
    let twist = match course {
        RequestHandling::Hang => return future::pending().await,
        RequestHandling::Close => return Err(StreamHalt::CUT),
        RequestHandling::Refuse(trouble) => return question.refuse(&trouble, to).await,
        RequestHandling::Answer(twist) => twist,
    };
    match question.read(request) {
        Ok(parsed) => question.answer(parsed, &twist, to).await,
        Err(trouble) => question.refuse(&trouble, to).await,
    }
}

/// Marks a request as in progress until it ends or its client disconnects.
struct RequestGuard<'a>(&'a ServerShared);

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        self.0.ledger().leave();
    }
}

/// A request being answered.
struct PendingRequest<'a> {
    shared: &'a ServerShared,
    wire: WireFormat,
    arrival: RequestArrival,
}

/// An answer and its encoder.
struct AnswerPlan {
    deltas: Deltas,
    encoder: Box<dyn AnswerEncoder>,
    /// Maximum output tokens.
    most: Option<u32>,
}

impl PendingRequest<'_> {
    /// Parses the request, or refuses it.
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

    async fn answer(
        &self,
        mut parsed: ParsedRequest,
        twist: &AnswerDefects,
        to: &mut OwnedWriteHalf,
    ) -> Result<(), StreamHalt> {
        let (form, script) = (parsed.form, &self.shared.setup.script);
        if let Some(model) = &twist.model {
            parsed.model.clone_from(model);
        }
        let most = parsed.request.max_output_tokens;
        let forecast = script.ending(&parsed.request).map(|(stop, usage)| ending(stop, usage, most));
        let speech = wire::encoder_for(self.wire, &parsed, self.arrival.number, forecast);
        let mut deltas = match twist.flood {
            Some(Flood::Text) => stream::repeat_with(|| Ok(Delta::Text("and so on ".repeat(5000)))).boxed(),
            Some(Flood::Line) | None => script.send(parsed.request),
        };
        // A provider that fails before its first output answers with an error status.
        let first = deltas.next().await;
        if let Some(Err(error)) = &first {
            return self.refuse(&RequestRefusal::of_script(error), to).await;
        }
        self.take_time().await;
        let plan = AnswerPlan { deltas: stream::iter(first).chain(deltas).boxed(), encoder: speech, most };
        match form {
            AnswerForm::Whole => self.whole(plan, to).await,
            AnswerForm::Stream => self.stream(plan, StreamBody::new(to, twist)).await,
        }
    }

    async fn whole(&self, mut plan: AnswerPlan, to: &mut OwnedWriteHalf) -> Result<(), StreamHalt> {
        let mut discarded = SseFrames::new();
        while let Some(delta) = plan.deltas.next().await {
            match delta {
                Ok(Delta::Done { stop, usage, .. }) => {
                    let ending = ending(stop, usage, plan.most);
                    plan.encoder.end(ending, &mut discarded);
                    self.shared.ledger().reported(&self.arrival, ending.usage);
                    return self.send(FullResponse::json(200, &plan.encoder.whole(ending)), to).await;
                }
                Ok(delta) => plan.encoder.say(&delta, &mut discarded),
                Err(error) => return self.refuse(&RequestRefusal::of_script(&error), to).await,
            }
        }
        Err(StreamHalt::CUT)
    }

    async fn stream(&self, mut plan: AnswerPlan, mut outlet: StreamBody<'_>) -> Result<(), StreamHalt> {
        self.shared.ledger().answered(self.arrival.number, 200);
        match self.send_stream(&mut plan, &mut outlet).await {
            Ok(()) | Err(StreamHalt::Stopped(StreamCut::End)) => outlet.finish().await,
            Err(StreamHalt::Stopped(StreamCut::Cut)) => {
                outlet.cut().await?;
                Err(StreamHalt::CUT)
            }
            Err(StreamHalt::Gone) => Err(StreamHalt::Gone),
        }
    }

    /// Sends the whole answer of the script.
    async fn send_stream(&self, plan: &mut AnswerPlan, outlet: &mut StreamBody<'_>) -> Result<(), StreamHalt> {
        let mut frames = SseFrames::new();
        plan.encoder.begin(&mut frames);
        outlet.send(&mut frames).await?;
        outlet.flood().await?;
        while let Some(delta) = next(&mut plan.deltas, outlet).await? {
            match delta {
                Ok(Delta::Done { stop, usage, .. }) => {
                    let ending = ending(stop, usage, plan.most);
                    plan.encoder.end(ending, &mut frames);
                    return self.close(ending, &mut frames, outlet).await;
                }
                Ok(delta) => {
                    plan.encoder.say(&delta, &mut frames);
                    outlet.send(&mut frames).await?;
                    if matches!(delta, Delta::Call(_)) {
                        outlet.called()?;
                    }
                }
                Err(error) => return break_off(&error, plan, outlet).await,
            }
        }
        Err(StreamHalt::CUT)
    }

    /// Sends the end. It is counted before it is sent, since a client may look at the count as soon as it has the end.
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

/// Reports a failure in the middle of an answer, if the error is not a broken connection.
async fn break_off(error: &ModelError, plan: &mut AnswerPlan, outlet: &mut StreamBody<'_>) -> Result<(), StreamHalt> {
    if error.fault == ModelFault::Transient {
        return Err(StreamHalt::CUT);
    }
    let mut frames = SseFrames::new();
    plan.encoder.fail(&RequestRefusal::of_script(error), &mut frames);
    outlet.send(&mut frames).await
}

/// The next delta. Flushes the output before waiting.
async fn next(
    deltas: &mut Deltas,
    outlet: &mut StreamBody<'_>,
) -> Result<Option<Result<Delta, ModelError>>, StreamHalt> {
    /// Maximum number of buffered bytes.
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

/// Limits the reported output, as providers do, and sets the stop reason accordingly.
fn ending(stop: StopReason, usage: Usage, most: Option<u32>) -> AnswerEnd {
    let most = most.map_or(u64::MAX, u64::from);
    if usage.output > most {
        return AnswerEnd { stop: StopReason::Length, usage: Usage { output: most, ..usage } };
    }
    AnswerEnd { stop, usage }
}
