//! The same job over the three wires, and directly with the script model.

use std::fs;

use testkit::binary::BinaryFixture;
use testkit::oracle::check_requests;
use testkit::server::ModelServer;

use super::MODELS;
use super::job::{JOB, JobResult, run_job};
use crate::fixture;
use crate::scripts::HELLO;

/// The job with the script model itself, without a wire.
fn reference() -> JobResult {
    run_job(|fixture: &BinaryFixture| fixture.script(JOB).prompt("do the job"))
}

#[test]
fn the_same_job_over_three_wires_leaves_the_same_tree_calls_and_transcript() {
    let expected = reference();
    assert_eq!(expected.calls.len(), 11);
    assert_eq!(expected.tree["src/greet.sh"], "echo 'hello, world'\n");
    assert_eq!(expected.tree["notes/q.txt"], "a \"quoted\" \\ line\n");
    for model in MODELS {
        let server = ModelServer::script(JOB).start();
        let done = run_job(|fixture| fixture.prompt_over(&server, model, "do the job"));
        assert_eq!(done.stdout, expected.stdout, "{model}");
        assert_eq!(done.tree, expected.tree, "{model}");
        assert_eq!(done.calls, expected.calls, "{model}");
        assert_eq!(done.transcript, expected.transcript, "{model}");
        assert_eq!((server.count(), server.usage_sent()), (6, done.usage), "{model}");
    }
}

#[test]
fn requests_of_the_job_match_the_sdk_types() {
    let mut requests = Vec::new();
    for model in MODELS {
        let server = ModelServer::script(JOB).start();
        run_job(|fixture| fixture.prompt_over(&server, model, "do the job"));
        requests.extend(server.requests());
    }
    assert_eq!(requests.len(), 18);
    check_requests(&requests);
}

/// An image of one pixel.
const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x04\0\0\0\xb5\x1c\x0c\x02\
    \0\0\0\x0bIDATx\xdac\xfc\xff\x1f\0\x03\x03\x02\0\xef\xa2\x62\xd2\0\0\0\0IEND\xaeB`\x82";

/// Thinks, makes calls, and continues with a second prompt.
const TALK: &str = "
version: 1
rules:
  - when: { turn: 1 }
    answer:
      - think: A picture.
      - say: I see.
      - call: { tool: shell, input: { command: exit 3 } }
    usage: { input: 100, output: 10 }
  - when: { turn: 2 }
    answer:
      - say: That was all.
    usage: { input: 100, output: 10 }
  - when: { turn: 3 }
    answer:
      - think: Again.
      - call: { tool: list_shells }
    usage: { input: 100, output: 10 }
  - answer:
      - say: Good bye.
    usage: { input: 100, output: 10 }
";

#[test]
fn requests_with_images_effort_and_resume_match_the_sdk_types() {
    let mut requests = Vec::new();
    for model in MODELS.into_iter().chain(["anthropic/claude-opus-5-5", "anthropic/claude-sonnet-4-5"]) {
        let server = ModelServer::script(TALK).start();
        let fixture = fixture();
        fs::write(fixture.path("pixel.png"), PIXEL).unwrap();
        let first = fixture.prompt_over(&server, model, "look").args(["--effort", "high", "--image", "pixel.png"]);
        assert_eq!(first.run().expect(0).stdout, "That was all.\n", "{model}");
        let second = fixture.prompt_over(&server, model, "and now?").args(["--continue"]);
        assert_eq!(second.run().expect(0).stdout, "Good bye.\n", "{model}");
        assert_eq!(server.count(), 4, "{model}");
        requests.extend(server.requests());
    }
    check_requests(&requests);
}

#[test]
fn last_turn_request_matches_the_sdk_types() {
    let mut requests = Vec::new();
    for model in MODELS {
        let server = ModelServer::script(ENDLESS_WORK).start();
        let fixture = fixture();
        let ended = fixture.prompt_over(&server, model, "go").args(["--max-tokens-total", "60000"]).run().expect(6);
        assert!(ended.stdout.contains("I stop here."), "{model}: {ended:?}");
        let sent = server.usage_sent().total();
        assert!(sent <= 60_000, "{model}: {sent}");
        requests.extend(server.requests());
    }
    let last: Vec<_> = requests.iter().filter_map(|request| request.json().get("tool_choice").cloned()).collect();
    assert_eq!(last, [serde_json::json!({ "type": "none" }), "none".into(), "none".into()]);
    check_requests(&requests);
}

/// Works until it is told to come to an end.
const ENDLESS_WORK: &str = "
version: 1
rules:
  - when: { prompt: last answer }
    answer:
      - say: I stop here.
    usage: { input: 100, output: 10 }
  - answer:
      - call: { tool: list_shells }
    usage: { input: 9000, output: 100 }
";

#[test]
fn the_first_request_has_less_than_ten_kib() {
    for model in MODELS {
        let server = ModelServer::script(HELLO).start();
        assert_eq!(fixture().prompt_over(&server, model, "hello").run().expect(0).stdout, "Hello.\n");
        let size = server.requests()[0].body.len();
        assert!((1000..10 << 10).contains(&size), "{model}: {size}");
    }
}

#[test]
fn session_continues_over_another_wire() {
    let mut requests = Vec::new();
    for (at, first) in MODELS.into_iter().enumerate() {
        for second in [MODELS[(at + 1) % 3], MODELS[(at + 2) % 3]] {
            let server = ModelServer::script(TALK).start();
            let fixture = fixture();
            assert_eq!(
                fixture.prompt_over(&server, first, "look").run().expect(0).stdout,
                "That was all.\n",
                "{first}"
            );
            let ended = fixture.prompt_over(&server, first, "and now?").args(["--continue", "--model", second]).run();
            assert_eq!(ended.expect(0).stdout, "Good bye.\n", "{first}, then {second}");
            let seen = server.requests();
            assert!(seen[1].wire != seen[2].wire, "{first}, then {second}");
            requests.extend(seen);
        }
    }
    assert_eq!(requests.len(), 24);
    check_requests(&requests);
}
