//! A conversation that exceeds the context window of the provider.

use std::fs;

use testkit::oracle::check_requests;
use testkit::server::ModelServer;

use super::MODELS;
use crate::fixture;

/// Twelve steps with long output. The next step and its call id depend only on the last answer.
const STEPS: &str = r#"
version: 1
rules:
  - when: { answered: { tool: shell, matches: "step 12\\b" } }
    answer:
      - say: Done.
  - when: { answered: { tool: shell, matches: "step (\\d+)" } }
    answer:
      - think: On from step ${1}.
      - call: { id: "after-${1}", tool: shell, input: { command: sh step.sh } }
  - answer:
      - call: { id: first, tool: shell, input: { command: sh step.sh } }
"#;

const STEP: &str = "n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n > n; echo step $n; seq 1 800\n";

#[test]
fn too_long_conversation_is_shortened_and_no_call_repeats() {
    let mut requests = Vec::new();
    for model in MODELS {
        let server = ModelServer::script(STEPS).context(6000).start();
        let fixture = fixture();
        fs::write(fixture.path("step.sh"), STEP).unwrap();
        let ended = fixture.prompt_over(&server, model, "take twelve steps").run().expect(0);
        assert_eq!((&*ended.stdout, &*fs::read_to_string(fixture.path("n")).unwrap()), ("Done.\n", "12\n"), "{model}");
        let seen = server.requests();
        let with = |status| seen.iter().filter(|seen| seen.status == Some(status)).count();
        assert_eq!(with(200), 13, "{model}");
        assert!((1..13).contains(&with(400)), "{model}: refused {} times", with(400));
        requests.extend(seen);
    }
    check_requests(&requests);
}
