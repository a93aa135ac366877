//! Suggestions for the user's next prompt: a separate event, if the feature is enabled.

use protocol::Event;
use runtime::SessionFeatures;
use testkit::session::{PlayedSession, scenario};

use crate::support::rules;

async fn run(on: bool) -> PlayedSession {
    let script = rules("  - answer: [say: \"The tests pass.\\n\\nNext: commit it\"]\n");
    let features = SessionFeatures { prompt_suggestions: on, ..SessionFeatures::default() };
    scenario().script(&script).features(features).prompt("go").run().await
}

fn suggested(run: &PlayedSession) -> Vec<&str> {
    let mut suggested = Vec::new();
    for envelope in run.events() {
        if let Event::PromptSuggested { text } = &envelope.entry.event {
            suggested.push(text.as_str());
        }
    }
    suggested
}

#[tokio::test]
async fn a_suggestion_is_an_event_and_not_part_of_the_answer() {
    let on = run(true).await;
    assert_eq!((on.text(), suggested(&on)), ("The tests pass.", vec!["commit it"]));
    let off = run(false).await;
    assert_eq!((off.text(), suggested(&off)), ("The tests pass.\n\nNext: commit it", vec![]));
}
