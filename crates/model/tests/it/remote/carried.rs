//! Requests that the program driving a session sends itself, with tokens that it supplies.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bosun_model::{
    ModelReply, Provider, ProviderKey, Providers, TokenError, TokenSource, TokenSupplier, TurnHeaders, WireFormat, open,
};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use net::{CarriedAnswer, CarriedAnswerFuture, CarriedRequest, RequestCarrier, Secret};
use tokio::sync::mpsc;

use super::server::{PATIENT, recorded};
use crate::conversation::prompt;

/// Answers every request with a recorded answer.
#[derive(Debug, Default)]
struct Recorded(Mutex<Vec<CarriedRequest>>);

impl RequestCarrier for Recorded {
    fn carry(&self, request: CarriedRequest) -> CarriedAnswerFuture<'_> {
        self.0.lock().unwrap().push(request);
        Box::pin(async {
            let (pieces, body) = mpsc::channel(1);
            pieces.send(Ok(Bytes::from_static(recorded(WireFormat::Chat).as_bytes()))).await.unwrap();
            let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
            Ok(CarriedAnswer { status: 200, headers, body })
        })
    }
}

/// Supplies a new token for each request, and none after the second.
#[derive(Debug, Default)]
struct Tokens(Mutex<u32>);

impl TokenSupplier for Tokens {
    fn token(&self) -> BoxFuture<'_, Result<Secret, TokenError>> {
        let mut supplied = self.0.lock().unwrap();
        *supplied += 1;
        let token = if *supplied > 2 { Err(TokenError("signed out".into())) } else { Ok(format!("token-{supplied}")) };
        async { token.map(Secret::new) }.boxed()
    }
}

#[tokio::test]
async fn every_carried_request_has_a_fresh_token() {
    let carrier = Arc::new(Recorded::default());
    let tokens = Some(TokenSource(Arc::new(Tokens::default())));
    let provider =
        Provider { tokens, ..Provider::new(WireFormat::Chat, "https://models.invalid/v1", ProviderKey::NotNeeded) };
    let providers = Providers {
        by_name: BTreeMap::from([("test".into(), provider)]),
        timeouts: PATIENT,
        carrier: Some(Arc::clone(&carrier) as Arc<dyn RequestCarrier>),
        ..Providers::default()
    };
    assert!(providers.needs_client());
    let model = open("test/any", "/".as_ref(), &providers).unwrap();
    assert!(model.facts().is_billed);
    for _ in 0..2 {
        ModelReply::collect(model.send(prompt("go"))).await.unwrap();
    }
    let error = ModelReply::collect(model.send(prompt("go"))).await.unwrap_err();
    assert!(error.to_string().contains("signed out"), "{error}");
    let requests = carrier.0.lock().unwrap();
    let token = |request: &CarriedRequest| {
        let header = request.headers.iter().find(|(name, _)| name == "authorization");
        header.map(|(_, value)| value.clone())
    };
    let sent: Vec<_> = requests.iter().map(token).collect();
    assert_eq!(sent, [Some("Bearer token-1".to_owned()), Some("Bearer token-2".to_owned())]);
    assert_eq!(requests[0].url, "https://models.invalid/v1/chat/completions");
    assert_eq!(requests[0].sender.as_deref(), Some("/root"));
}

#[tokio::test]
async fn the_headers_of_a_turn_are_sent_until_they_are_replaced() {
    let (carrier, turn_headers) = (Arc::new(Recorded::default()), TurnHeaders::default());
    let provider = Provider::new(WireFormat::Chat, "https://models.invalid/v1", ProviderKey::NotNeeded);
    let providers = Providers {
        by_name: BTreeMap::from([("test".into(), provider)]),
        timeouts: PATIENT,
        carrier: Some(Arc::clone(&carrier) as Arc<dyn RequestCarrier>),
        turn_headers: turn_headers.clone(),
        ..Providers::default()
    };
    let model = open("test/any", "/".as_ref(), &providers).unwrap();
    turn_headers.replace(vec![("x-team".into(), Secret::new("blue"))]);
    ModelReply::collect(model.send(prompt("go"))).await.unwrap();
    turn_headers.replace(Vec::new());
    ModelReply::collect(model.send(prompt("go"))).await.unwrap();
    let requests = carrier.0.lock().unwrap();
    let team = |request: &CarriedRequest| {
        let header = request.headers.iter().find(|(name, _)| name == "x-team");
        header.map(|(_, value)| value.clone())
    };
    assert_eq!(requests.iter().map(team).collect::<Vec<_>>(), [Some("blue".to_owned()), None]);
}
