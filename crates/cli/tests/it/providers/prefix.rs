//! Prompt caching: each request starts with the bytes of the previous one.

use model::WireFormat;
use testkit::server::{ModelServer, RecordedRequest};

use super::MODELS;
use super::job::{JOB, run_job};

/// The bytes that the next request must begin with: everything before what marks or closes the conversation.
fn prefix(request: &RecordedRequest) -> &[u8] {
    let end: &[u8] = match request.wire {
        WireFormat::Anthropic => br#","cache_control":{"type":"ephemeral"}}]}],"max_tokens""#,
        WireFormat::Responses | WireFormat::Chat => b"]",
    };
    let body = &request.body;
    let at = match request.wire {
        WireFormat::Anthropic => body.windows(end.len()).rposition(|bytes| bytes == end),
        WireFormat::Responses => end_of_list(body, br#""input":["#),
        WireFormat::Chat => end_of_list(body, br#""messages":["#),
    };
    &body[..at.unwrap_or_else(|| panic!("no end: {}", String::from_utf8_lossy(body)))]
}

/// The end of the list that starts with these bytes.
fn end_of_list(body: &[u8], begin: &[u8]) -> Option<usize> {
    let start = body.windows(begin.len()).position(|bytes| bytes == begin)? + begin.len();
    let (mut depth, mut quoted, mut escaped) = (1, false, false);
    for (at, byte) in body.iter().enumerate().skip(start) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth -= 1,
            _other => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[test]
fn each_request_starts_with_the_bytes_of_the_previous_one() {
    for model in MODELS {
        let server = ModelServer::script(JOB).start();
        run_job(|fixture| fixture.prompt_over(&server, model, "do the job"));
        let requests = server.requests();
        for pair in requests.windows(2) {
            let (before, after) = (prefix(&pair[0]), &pair[1].body);
            assert!(before.len() > 1000 && before.len() + 200 > pair[0].body.len() / 2, "{model}: {}", before.len());
            let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
            let differs = String::from_utf8_lossy(&before[same.saturating_sub(80)..]);
            assert_eq!(same, before.len(), "{model}, request {}: {differs}", pair[1].number);
        }
    }
}
