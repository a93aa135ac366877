//! Records requests and answers.

use std::collections::HashMap;
use std::time::Instant;

use model::WireFormat;
use protocol::Usage;
use sha2::{Digest, Sha256};

use super::bucket::TokenBucket;
use super::http::ReceivedRequest;
use super::{Hint, RequestRetention, ServerSetup};

/// A request as the server received it.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// Its number, from 1 over all wires.
    pub number: u64,
    /// Its wire format.
    pub wire: WireFormat,
    /// Its headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body, byte for byte.
    pub body: Vec<u8>,
    /// When it had arrived completely.
    pub at: Instant,
    /// The status of its answer; `None` if it was not answered.
    pub status: Option<u16>,
    /// The reported usage, once the whole answer was sent.
    pub usage: Option<Usage>,
}

impl RecordedRequest {
    /// The first header of this name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// The server's record of requests.
#[derive(Debug)]
pub(super) struct RequestLedger {
    keep: RequestRetention,
    bucket: Option<(TokenBucket, Hint)>,
    arrived: u64,
    present: usize,
    most_present: usize,
    seen: Vec<RecordedRequest>,
    used: Usage,
    /// How often each request came that has no complete answer yet.
    tries: HashMap<BodyDigest, u32>,
}

/// A digest of a body: a repeated request has the same.
type BodyDigest = [u8; 32];

/// What is known about a request when it arrives.
#[derive(Debug)]
pub(super) struct RequestArrival {
    pub(super) number: u64,
    /// How often the same request came since it was last answered, including this time.
    pub(super) attempt: u32,
    /// The rate limit it hit: when to retry, and whether the answer says so.
    pub(super) limited: Option<(std::time::Duration, Hint)>,
    question: BodyDigest,
}

impl RequestLedger {
    pub(super) fn new(setup: &ServerSetup) -> RequestLedger {
        let bucket = setup.rate.map(|(rate, hint)| (TokenBucket::new(rate, Instant::now()), hint));
        RequestLedger {
            keep: setup.keep,
            bucket,
            arrived: 0,
            present: 0,
            most_present: 0,
            seen: Vec::new(),
            used: Usage::default(),
            tries: HashMap::new(),
        }
    }

    pub(super) fn arrive(&mut self, wire: WireFormat, request: &ReceivedRequest) -> RequestArrival {
        let at = Instant::now();
        self.arrived += 1;
        self.present += 1;
        self.most_present = self.most_present.max(self.present);
        let number = self.arrived;
        if self.keep == RequestRetention::Everything {
            let (headers, body) = (request.headers.clone(), request.body.clone());
            self.seen.push(RecordedRequest { number, wire, headers, body, at, status: None, usage: None });
        }
        let limited = self.bucket.as_mut().and_then(|(bucket, hint)| bucket.take(at).err().map(|wait| (wait, *hint)));
        let question = Sha256::digest(&request.body).into();
        let tries = self.tries.entry(question).or_default();
        *tries += 1;
        RequestArrival { number, attempt: *tries, limited, question }
    }

    /// Records that a request has ended.
    pub(super) fn leave(&mut self) {
        self.present -= 1;
    }

    pub(super) fn answered(&mut self, number: u64, status: u16) {
        if let Some(seen) = self.find(number) {
            seen.status = Some(status);
        }
    }

    /// Records a complete answer and its usage.
    pub(super) fn reported(&mut self, arrival: &RequestArrival, usage: Usage) {
        self.used = self.used.plus(usage);
        self.tries.remove(&arrival.question);
        if let Some(seen) = self.find(arrival.number) {
            seen.usage = Some(usage);
        }
    }

    /// Reverts the record of an answer that was not sent after all.
    pub(super) fn unreported(&mut self, arrival: &RequestArrival, usage: Usage) {
        self.tries.insert(arrival.question, arrival.attempt);
        self.used = Usage {
            input: self.used.input - usage.input,
            output: self.used.output - usage.output,
            cache_read: self.used.cache_read - usage.cache_read,
            cache_write: self.used.cache_write - usage.cache_write,
        };
        if let Some(seen) = self.find(arrival.number) {
            seen.usage = None;
        }
    }

    pub(super) fn seen(&self) -> Vec<RecordedRequest> {
        self.seen.clone()
    }

    pub(super) fn arrived(&self) -> u64 {
        self.arrived
    }

    pub(super) fn most_present(&self) -> usize {
        self.most_present
    }

    pub(super) fn used(&self) -> Usage {
        self.used
    }

    fn find(&mut self, number: u64) -> Option<&mut RecordedRequest> {
        self.seen.get_mut(usize::try_from(number).ok()?.checked_sub(1)?)
    }
}
