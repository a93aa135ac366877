//! Tests random conversations, cut anywhere and repeatedly: the rest is valid, the digest covers the part that was cut,
//! and sizes are bounded.

use model::{MessagePart, ModelMessage};
use proptest::prelude::*;
use protocol::{CallId, Compaction, CompactionCause, ContentBlock, ToolCallRequest, ToolResult, ToolResultStatus};

use super::cut::{calls, cut_at_boundary, start_of_last_turns};
use super::digest::{MIN_DIGEST_BYTES, write_digest};
use super::stub::MAX_KEPT_BYTES;
use super::{CompactedHistory, CompactionPlan, CurrentState, apply_compaction};
use crate::prompt;

fn user() -> impl Strategy<Value = ModelMessage> {
    prop_oneof![
        "[a-z \n]{1,80}".prop_map(ModelMessage::user),
        "[a-zé> \n]{1,2000}".prop_map(|text| ModelMessage::user(prompt::quote(&text))),
        Just(ModelMessage::user(prompt::BUDGET_LOW)),
    ]
}

fn turn() -> impl Strategy<Value = Vec<ModelMessage>> {
    let answer = (any::<bool>(), 0..2_000_usize);
    ("[a-z\n]{0,300}", prop::collection::vec(answer, 0..4)).prop_map(|(text, answers)| {
        let call = |n: usize| ToolCallRequest { id: CallId(format!("call-{n}")), tool: "edit".into(), input: input(n) };
        let calls = (0..answers.len()).map(|n| ContentBlock::Call(call(n)));
        let assistant =
            ModelMessage::Assistant { content: [ContentBlock::Text { text }].into_iter().chain(calls).collect() };
        let status = |done| if done { ToolResultStatus::Done } else { ToolResultStatus::Refused };
        let to_answer = |(n, (done, size)): (usize, (bool, usize))| {
            (CallId(format!("call-{n}")), ToolResult { status: status(done), text: "x".repeat(size) })
        };
        let answers: Vec<_> = answers.into_iter().enumerate().map(to_answer).collect();
        let answers = (!answers.is_empty()).then_some(ModelMessage::Answers { answers });
        [assistant].into_iter().chain(answers).collect()
    })
}

fn input(n: usize) -> String {
    format!(r#"{{"path":"src/{n}.rs","old":"a","new":"b"}}"#)
}

fn conversation() -> impl Strategy<Value = Vec<ModelMessage>> {
    let step = prop_oneof![1 => user().prop_map(|message| vec![message]), 3 => turn()];
    ("[a-z]{10,60}", prop::collection::vec(step, 0..12)).prop_map(|(task, steps)| {
        [ModelMessage::user(format!("task: {task}"))].into_iter().chain(steps.into_iter().flatten()).collect()
    })
}

/// What a provider requires: a user message first, and each call answered by the next message.
fn is_valid(messages: &[ModelMessage]) -> bool {
    let mut open: Vec<CallId> = Vec::new();
    let first = messages.first().is_none_or(|first| matches!(first, ModelMessage::User { .. }));
    let paired = messages.iter().all(|message| {
        let answered: Vec<CallId> = match message {
            ModelMessage::Answers { answers } => answers.iter().map(|(id, _)| id.clone()).collect(),
            ModelMessage::User { .. } | ModelMessage::Assistant { .. } => Vec::new(),
        };
        answered == std::mem::replace(&mut open, calls(message).map(|call| call.id.clone()).collect())
    });
    first && paired && open.is_empty()
}

/// Everything about the answers except their text.
fn ids_and_statuses(messages: &[ModelMessage]) -> Vec<(CallId, ToolResultStatus)> {
    let outline = |message: &ModelMessage| match message {
        ModelMessage::Answers { answers } => answers.iter().map(|(id, answer)| (id.clone(), answer.status)).collect(),
        ModelMessage::User { .. } | ModelMessage::Assistant { .. } => Vec::new(),
    };
    messages.iter().flat_map(outline).collect()
}

fn text(message: &ModelMessage) -> &str {
    match message {
        ModelMessage::User { parts } => match &parts[..] {
            [MessagePart::Text(text)] => text,
            _other => "",
        },
        ModelMessage::Assistant { .. } | ModelMessage::Answers { .. } => "",
    }
}

fn bytes(messages: &[ModelMessage]) -> u64 {
    let size = |message: &ModelMessage| match message {
        ModelMessage::User { .. } => text(message).len(),
        ModelMessage::Assistant { content } => content.len() * 50,
        ModelMessage::Answers { answers } => answers.iter().map(|(_, answer)| answer.text.len()).sum(),
    };
    messages.iter().map(|message| size(message) as u64).sum()
}

fn plan<'a>(
    messages: &'a [ModelMessage],
    history: Option<&'a CompactedHistory>,
    current: &'a CurrentState,
) -> CompactionPlan<'a> {
    CompactionPlan { messages, history, current, window: Some(20_000), request_tokens: &bytes }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_cut_separates_a_call_from_its_answer(messages in conversation(), cut in 0..60_u32, digest: bool) {
        prop_assert!(is_valid(&messages));
        let (mut cut_down, mut history) = (messages.clone(), None);
        let digest = digest.then(|| "digest".to_owned());
        apply_compaction(&mut cut_down, &mut history, &Compaction { messages: cut, digest: digest.clone(), cause: CompactionCause::ContextFull });
        prop_assert!(is_valid(&cut_down));
        let at = cut_at_boundary(&messages, cut as usize);
        match digest {
            Some(_) => prop_assert_eq!(&cut_down[1..], &messages[at..]),
            None => {
                prop_assert_eq!(&cut_down[at..], &messages[at..]);
                prop_assert_eq!(ids_and_statuses(&cut_down), ids_and_statuses(&messages));
                prop_assert!(bytes(&cut_down) <= bytes(&messages));
                let mut again = cut_down.clone();
                apply_compaction(&mut again, &mut history, &Compaction { messages: cut, digest: None, cause: CompactionCause::ContextFull });
                prop_assert_eq!(again, cut_down);
            }
        }
    }

    #[test]
    fn a_planned_compaction_is_smaller_and_keeps_the_recent_turns(messages in conversation(), aim in 0..20_000_u64, pressed: bool) {
        let current = CurrentState::default();
        let limit = if pressed { aim } else { u64::MAX };
        let Some(planned) = plan(&messages, None, &current).mildest_compaction(aim, limit) else { return Ok(()) };
        let (mut cut_down, mut history) = (messages.clone(), None);
        apply_compaction(&mut cut_down, &mut history, &planned.compaction);
        prop_assert_eq!(bytes(&cut_down), planned.tokens);
        prop_assert!(planned.tokens < bytes(&messages));
        prop_assert!(is_valid(&cut_down));
        let last = start_of_last_turns(&messages, 1).unwrap();
        let recent = start_of_last_turns(&messages, 2).filter(|_| !pressed).unwrap_or(last);
        prop_assert!(cut_down.ends_with(&messages[recent..]));
    }

    #[test]
    fn repeated_compaction_keeps_the_task_and_ends(parts in prop::collection::vec(conversation(), 1..6), max in 0..40_000_usize) {
        let current = CurrentState {
            identity: vec!["the agent main".into()],
            todos: vec!["t1 (pending): x".repeat(9); 50],
            tasks: vec!["command".into(); 9],
        };
        let (mut messages, mut history): (Vec<ModelMessage>, Option<CompactedHistory>) = (Vec::new(), None);
        let task = text(&parts[0][0]).to_owned();
        for part in parts {
            messages.extend(part);
            let mut rounds = 0;
            while let Some(planned) = plan(&messages, history.as_ref(), &current).strongest_compaction() {
                apply_compaction(&mut messages, &mut history, &planned.compaction);
                rounds += 1;
            }
            prop_assert!(rounds <= 1);
            prop_assert!(is_valid(&messages));
            if let Some(history) = &history {
                let digest = write_digest(history, &current, max);
                prop_assert!(digest.len() <= max.max(MIN_DIGEST_BYTES), "{} of {max}", digest.len());
                prop_assert!(digest.contains(&task) && digest.contains("Tasks you started"));
                prop_assert!(text(&messages[0]).contains(&task));
            }
        }
    }
}

fn edits(turns: usize) -> Vec<ModelMessage> {
    let turn = |n: usize| {
        let call = ToolCallRequest { id: CallId(format!("call-{n}")), tool: "edit".into(), input: input(n) };
        let content = vec![ContentBlock::Text { text: format!("step {n}") }, ContentBlock::Call(call)];
        let answer = ToolResult { status: ToolResultStatus::Done, text: "y".repeat(MAX_KEPT_BYTES + 1) };
        let answers = vec![(CallId(format!("call-{n}")), answer)];
        [ModelMessage::Assistant { content }, ModelMessage::Answers { answers }]
    };
    [ModelMessage::user("repair it")].into_iter().chain((1..=turns).flat_map(turn)).collect()
}

#[test]
fn a_digest_tells_what_was_asked_done_written_and_is_open() {
    let mut messages = edits(4);
    messages.push(ModelMessage::user(prompt::quote("make: completed\nall is well")));
    messages.push(ModelMessage::user("and be quick"));
    messages.extend(edits(1).split_off(1));
    messages.push(ModelMessage::user(prompt::BUDGET_LOW));
    let mut history = CompactedHistory::default();
    history.add_messages(&messages);
    let current = CurrentState {
        identity: vec!["the agent main at /root".into()],
        todos: vec!["t1 (pending): test it".into()],
        tasks: vec!["background command `make`".into()],
    };
    insta::assert_snapshot!(write_digest(&history, &current, 4_000));
}

#[test]
fn a_stub_names_the_call_and_the_size() {
    let mut messages = edits(3);
    let recent = messages[3..].to_vec();
    apply_compaction(
        &mut messages,
        &mut None,
        &Compaction { messages: 4, digest: None, cause: CompactionCause::ContextFull },
    );
    assert_eq!(messages[3..], recent);
    let ModelMessage::Answers { answers } = &messages[2] else { panic!() };
    let stub =
        "[The answer to `edit src/1.rs`, 321 bytes, was left out to make room. Make the call again if you need it.]";
    assert_eq!(answers[0].1.text, stub);
}

#[test]
fn a_cut_after_an_open_call_moves_before_the_call() {
    let mut messages = edits(2);
    messages.truncate(4);
    let open = messages[3].clone();
    for (digest, left) in [(None, 4), (Some("digest".to_owned()), 2)] {
        let mut cut_down = messages.clone();
        apply_compaction(
            &mut cut_down,
            &mut None,
            &Compaction { messages: u32::MAX, digest, cause: CompactionCause::ContextFull },
        );
        assert_eq!((cut_down.len(), cut_down.last()), (left, Some(&open)));
    }
}

#[test]
fn old_output_is_left_out_before_old_text() {
    let messages = edits(6);
    let current = CurrentState::default();
    let plan = plan(&messages, None, &current);
    let total = bytes(&messages);
    let mild = plan.mildest_compaction(total - 500, total).unwrap();
    assert_eq!(mild.compaction, Compaction { messages: 9, digest: None, cause: CompactionCause::ContextFull });
    let hard = plan.mildest_compaction(0, 0).unwrap();
    assert_eq!(hard.compaction.messages, 11);
    assert!(hard.compaction.digest.is_none() || hard.tokens < mild.tokens);
}

#[test]
fn a_short_conversation_is_not_compacted() {
    for turns in 0..2 {
        let messages = edits(turns);
        assert_eq!(plan(&messages, None, &CurrentState::default()).strongest_compaction(), None);
        assert_eq!(plan(&messages, None, &CurrentState::default()).mildest_compaction(0, 0), None);
    }
}

#[test]
fn a_removed_image_is_mentioned() {
    let image = protocol::Image { media: "image/png".into(), data: "AA==".into() };
    let parts = vec![MessagePart::Image(image), MessagePart::Text("look".into())];
    let mut history = CompactedHistory::default();
    history.add_messages(&[ModelMessage::user("first"), ModelMessage::User { parts }]);
    let digest = write_digest(&history, &CurrentState::default(), MIN_DIGEST_BYTES);
    assert!(digest.contains("A later message from the user:\nlook\n[with an image]\n"), "{digest}");
}
