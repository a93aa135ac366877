//! A conversation that outgrows the model, as the provider tells it.

use std::fs;

use testkit::oracle::check_requests;
use testkit::server::ModelServer;

use super::MODELS;
use crate::stage;

/// Twelve steps, each with much to read. What comes next depends on the last answer alone, and so does each call's id.
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
fn a_provider_that_finds_the_conversation_too_long_gets_a_shorter_one_and_no_call_runs_twice() {
    let mut requests = Vec::new();
    for model in MODELS {
        let server = ModelServer::script(STEPS).context(6000).start();
        let stage = stage();
        fs::write(stage.path("step.sh"), STEP).unwrap();
        let ended = stage.prompt_over(&server, model, "take twelve steps").run().expect(0);
        assert_eq!((&*ended.stdout, &*fs::read_to_string(stage.path("n")).unwrap()), ("Done.\n", "12\n"), "{model}");
        let seen = server.requests();
        let with = |status| seen.iter().filter(|seen| seen.status == Some(status)).count();
        assert_eq!(with(200), 13, "{model}");
        assert!((1..13).contains(&with(400)), "{model}: refused {} times", with(400));
        requests.extend(seen);
    }
    check_requests(&requests);
}
