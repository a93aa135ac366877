//! Streams of events, whole and in pieces.

use std::time::Duration;

use bosun_net::sse::{EventTooLarge, MAX_BYTES, ServerSentEvent, SseDecoder};
use proptest::prelude::*;

fn event(name: &str, data: &str) -> ServerSentEvent {
    ServerSentEvent { name: name.into(), data: data.into() }
}

fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<ServerSentEvent> {
    let mut decoder = SseDecoder::default();
    let mut events: Vec<ServerSentEvent> = pieces.into_iter().flat_map(|piece| decoder.push(piece).unwrap()).collect();
    events.extend(decoder.finish().unwrap());
    events
}

#[test]
fn every_form_of_an_event_is_read() {
    for (text, expected) in [
        ("data: a\n\n", vec![event("", "a")]),
        ("event: e\ndata: {\"x\":1}\n\n", vec![event("e", "{\"x\":1}")]),
        ("data:[DONE]\n\n", vec![event("", "[DONE]")]),
        ("data:  two spaces\n\n", vec![event("", " two spaces")]),
        ("data: a\ndata:\ndata: b\n\n", vec![event("", "a\n\nb")]),
        ("data: a\r\n\r\ndata: b\r\rdata: c\n\n", vec![event("", "a"), event("", "b"), event("", "c")]),
        ("\u{feff}data: a\n\n", vec![event("", "a")]),
        (": ping\n\n: pong\ndata: a\nid: 7\nretry: 9\nother\n\n", vec![event("", "a")]),
        ("event: e\n\ndata: a\n\n", vec![event("", "a")]),
        ("data\n\n", vec![event("", "")]),
        ("data: {\"a\":\"b: c\"}\n\n", vec![event("", "{\"a\":\"b: c\"}")]),
        ("data: cut", vec![event("", "cut")]),
        ("data: cut\n", vec![event("", "cut")]),
        ("\n\n\n", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(decode([text.as_bytes()]), expected, "{text:?}");
    }
}

#[test]
fn a_stream_can_be_resumed_after_the_last_complete_event() {
    let mut decoder = SseDecoder::default();
    assert_eq!((decoder.last_id(), decoder.retry()), (None, None));
    decoder.push(b"id: 7\nretry: 500\ndata:\n\nid: 8\nretry: soon\n").unwrap();
    assert_eq!((decoder.last_id(), decoder.retry()), (Some("7"), Some(Duration::from_millis(500))));
    decoder.push(b"\ndata: an event without an id\n\n").unwrap();
    assert_eq!(decoder.last_id(), Some("8"), "an id needs no data");
    decoder.push(b"id: a\0b\n\n").unwrap();
    assert_eq!(decoder.last_id(), Some("8"));
    decoder.push(format!("id: {}\n\n", "x".repeat(5000)).as_bytes()).unwrap();
    assert_eq!(decoder.last_id(), Some("8"));
    decoder.push(b"id:\n\n").unwrap();
    assert_eq!(decoder.last_id(), None, "the server takes the id back");
}

#[test]
fn invalid_utf8_is_accepted() {
    assert_eq!(decode([&b"data: \xff\xfe\n\n"[..]]), [event("", "\u{fffd}\u{fffd}")]);
}

#[test]
fn endless_line_and_endless_event_are_refused() {
    let mut decoder = SseDecoder::default();
    let flood = vec![b'x'; 1 << 20];
    let pushed = std::iter::repeat_with(|| decoder.push(&flood)).take(MAX_BYTES / flood.len() + 1);
    assert_eq!(pushed.last(), Some(Err(EventTooLarge)));

    let mut decoder = SseDecoder::default();
    let line = [b"data: ".as_slice(), &flood, b"\n"].concat();
    let pushed = std::iter::repeat_with(|| decoder.push(&line)).take(MAX_BYTES / flood.len() + 1);
    assert_eq!(pushed.last(), Some(Err(EventTooLarge)));
}

proptest! {
    #[test]
    fn splitting_the_stream_does_not_change_the_events(
        lines in prop::collection::vec("(data|event|id|)(: ?|)[a-é漢\u{feff} :]{0,6}(\n|\r\n|\r)", 0..30),
        cuts in prop::collection::vec(0usize..400, 0..40),
    ) {
        let text = lines.concat();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).chain([0, text.len()]).collect();
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]);
        prop_assert_eq!(decode(pieces), decode([text.as_bytes()]));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        decode(bytes.chunks(7));
    }
}
