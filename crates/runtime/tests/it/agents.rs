//! One agent becomes many: `task` and what goes with it.

use testkit::session::scenario;

use crate::support::rules;

/// A root that starts one worker and tells what it said.
fn delegates(mode: &str) -> String {
    rules(&format!(
        "  - when: {{ agent: worker }}
    answer: [say: 'forty-two']
  - when: {{ turn: 1 }}
    answer:
      - call: {{ id: t1, tool: task, input: {{ description: count, prompt: count to forty-two, agent_type: worker, name: counter{mode} }} }}
  - when: {{ turn: 2 }}
    answer: [say: 'it was told ${{answer}}']
  - answer: [say: done]
"
    ))
}

#[tokio::test]
async fn t3_a_sync_task_gives_its_text_with_what_is_known_of_it() {
    let run = scenario().script(&delegates("")).prompt("go").run().await;
    insta::assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn t4_a_background_task_answers_at_once_and_its_result_wakes_the_parent() {
    let run = scenario().script(&delegates(", mode: background")).prompt("go").run().await;
    insta::assert_snapshot!(run.transcript());
}
