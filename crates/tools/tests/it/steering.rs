//! The tools of plan mode and autopilot.

use serde_json::json;

use crate::fixture::Agent;

fn heard(agent: &Agent) -> Vec<String> {
    std::mem::take(&mut *agent.above.heard.lock().unwrap())
}

#[tokio::test]
async fn plan_is_stored_unchanged_and_its_size_is_limited() {
    let agent = Agent::new();
    assert_eq!(agent.done("write_plan", json!({ "text": "# Plan\n" })).await, "The plan is saved.");
    assert_eq!(heard(&agent), ["plan # Plan\n"]);
    for (text, words) in [(" \n".to_owned(), "is empty"), ("x".repeat(65_537), "at most 65536")] {
        let refusal = agent.refused("write_plan", json!({ "text": text })).await;
        assert!(refusal.contains(words), "{refusal}");
    }
    assert!(heard(&agent).is_empty());
}

#[tokio::test]
async fn recommended_action_and_exit_only_are_always_offered() {
    let agent = Agent::new();
    for (input, told) in [
        (json!({ "summary": "s" }), "actions: [Interactive, Autopilot, AutopilotFleet, ExitOnly], recommended: Inter"),
        (
            json!({ "summary": "s", "actions": ["autopilot"], "recommended": "autopilot_fleet" }),
            "actions: [Autopilot, AutopilotFleet, ExitOnly], recommended: AutopilotFleet",
        ),
    ] {
        assert_eq!(agent.done("exit_plan_mode", input).await, "approved");
        let heard = heard(&agent);
        assert!(heard[0].contains(told), "{heard:?}");
    }
    for (input, words) in [
        (json!({ "summary": "\u{7}" }), "`summary` is empty"),
        (json!({ "summary": "s".repeat(2001) }), "more than 2000"),
        (json!({ "summary": "s", "recommended": "yolo" }), "use only: interactive, autopilot"),
    ] {
        let refusal = agent.refused("exit_plan_mode", input).await;
        assert!(refusal.contains(words), "{refusal}");
    }
}

#[tokio::test]
async fn only_the_status_blocked_needs_a_reason() {
    let agent = Agent::new();
    agent.done("task_complete", json!({ "summary": "all", "status": "done" })).await;
    agent.done("task_complete", json!({ "summary": "some", "status": "blocked", "reason": "no key" })).await;
    let expected = [r#"complete Done { summary: "all" }"#, r#"complete Blocked { summary: "some", reason: "no key" }"#];
    assert_eq!(heard(&agent), expected);
    for (input, words) in [
        (json!({ "summary": "", "status": "done" }), "`summary` is empty"),
        (json!({ "summary": "s", "status": "blocked" }), "`reason` is missing"),
        (json!({ "summary": "s", "status": "done", "reason": "r" }), "goes with the status `blocked`"),
        (json!({ "summary": "s", "status": "nearly" }), "use only: done, blocked"),
        (json!({ "summary": "s".repeat(4001), "status": "done" }), "more than 4000"),
    ] {
        let refusal = agent.refused("task_complete", input).await;
        assert!(refusal.contains(words), "{refusal}");
    }
}
