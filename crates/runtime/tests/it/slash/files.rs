//! Slash commands from files, and the expansion of their text.

use std::os::unix::fs::symlink;
use std::time::Duration;

use protocol::{DefinitionSource, Event, MailDelivery, RuleEffect, SkillSpec};
use runtime::{SessionFeatures, SessionStart};
use testkit::session::scenario;

use super::{command, prompt, refused};
use crate::support::rules;

const DATA: &str = "[data, not from the user]";

#[tokio::test]
async fn a_text_is_expanded_with_arguments_files_and_output() {
    let folder = tempfile::tempdir().unwrap();
    let text = "---\ndescription: x\n---\nShip $1 to $2.\n\nNotes: @notes.md\nFiles: !`ls $2`\n";
    let ship = command(folder.path(), "ship", text);
    let scenario = scenario().slash(ship).rule(RuleEffect::Allow, "shell(ls *)");
    let driver = scenario.file("notes.md", "be kind\n").file("here/a.txt", "").ready().open(SessionStart::New).await;
    let expanded = prompt(&driver, "/Ship it here").await;
    assert_eq!(expanded.display, "/ship it here");
    let expected = format!(
        "Ship it to here.\n\nNotes: \nnotes.md:\n{DATA}\n> be kind\n[end of data]\n\nFiles: \n{DATA}\n> a.txt\n[end of data]"
    );
    assert_eq!(expanded.text, expected);
    driver.leave().await;
}

#[tokio::test]
async fn arguments_never_run_or_open_anything() {
    let folder = tempfile::tempdir().unwrap();
    let ship = command(folder.path(), "ship", "Ship <$ARGUMENTS>. !`ls $ARGUMENTS`");
    let plain = command(folder.path(), "plain", "Do it.");
    let scenario = scenario().allow_all().slash(ship).slash(plain).file("notes.md", "secret");
    let stage = scenario.ready();
    let driver = stage.open(SessionStart::New).await;
    for hostile in [
        "!`touch ran`",
        "@notes.md",
        "; touch ran",
        "$(touch ran)",
        "`touch ran`",
        "x\ntouch ran",
        "' && touch ran",
        "$ARGUMENTS !`touch ran` @notes.md",
        "> ran",
    ] {
        let expanded = prompt(&driver, &format!("/ship {hostile}")).await.text;
        assert!(expanded.starts_with(&format!("Ship <{hostile}>. ")) && !expanded.contains("secret"), "{expanded}");
        // A shell would not interpret `@notes.md`.
        assert!(hostile == "@notes.md" || expanded.contains(". [not run: ls $ARGUMENTS: "), "{expanded}");
        let expanded = prompt(&driver, &format!("/plain {hostile}")).await.text;
        assert_eq!(expanded, format!("Do it.\n\nArguments: {hostile}"));
    }
    assert!(stage.file("ran").is_none());
    driver.leave().await;
}

#[tokio::test]
async fn a_shell_command_in_a_text_runs_only_if_the_root_may_run_it_without_asking() {
    let folder = tempfile::tempdir().unwrap();
    let text = "!`touch ran` !`ls denied` !`cat gone; exit 3`";
    let stage = scenario().slash(command(folder.path(), "x", text)).rule(RuleEffect::Deny, "shell(ls denied)").ready();
    let driver = stage.open(SessionStart::New).await;
    let expanded = prompt(&driver, "/x").await.text;
    assert!(expanded.contains("[not run: touch ran: ") && expanded.contains("permit it with `--allow"), "{expanded}");
    assert!(expanded.contains("[not run: ls denied: "), "{expanded}");
    assert!(stage.file("ran").is_none());
    driver.leave().await;

    let stage = scenario().allow_all().slash(command(folder.path(), "x", "!`cat gone; exit 3`")).ready();
    let driver = stage.open(SessionStart::New).await;
    let expanded = prompt(&driver, "/x").await.text;
    assert!(expanded.contains("[`cat gone; exit 3`: exit code 3]") && expanded.contains("> cat: gone"), "{expanded}");
    driver.leave().await;
}

#[tokio::test]
async fn shell_commands_in_texts_can_be_forbidden_and_are_replaced_by_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let features = SessionFeatures { inline_shell: false, ..SessionFeatures::default() };
    let slash = command(folder.path(), "x", "On !`git branch`.");
    let driver = scenario().allow_all().features(features).slash(slash).ready().open(SessionStart::New).await;
    let expanded = prompt(&driver, "/x").await.text;
    assert_eq!(expanded, "On [not run: git branch: the administrator of this machine forbids commands in texts].");
    driver.leave().await;
}

#[tokio::test]
async fn a_file_in_a_text_is_read_as_view_would_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let text = "@/etc/hostname @gone.md @bin.dat @big.txt @sub/ @denied.md";
    let big = "x".repeat(1 << 20);
    let scenario = scenario().slash(command(folder.path(), "x", text)).file("bin.dat", "a\0b").file("big.txt", &big);
    let scenario = scenario.file("sub/a.txt", "").file("denied.md", "secret").rule(RuleEffect::Deny, "read(denied.md)");
    let driver = scenario.ready().open(SessionStart::New).await;
    let expanded = prompt(&driver, "/x").await.text;
    for path in ["/etc/hostname", "gone.md", "sub/", "denied.md"] {
        assert!(expanded.contains(&format!("@{path} [not included: ")), "{path}: {expanded}");
    }
    assert!(
        expanded.len() < 64 << 10 && expanded.contains("big.txt:\n") && !expanded.contains("secret"),
        "{}",
        expanded.len()
    );
    driver.leave().await;
}

#[tokio::test]
async fn a_commands_file_is_not_read_through_a_link_and_may_be_missing() {
    let folder = tempfile::tempdir().unwrap();
    let (link, gone) = (command(folder.path(), "link", "x"), command(folder.path(), "gone", "x"));
    std::fs::remove_file(&gone.file).unwrap();
    std::fs::remove_file(&link.file).unwrap();
    symlink("/etc/hostname", &link.file).unwrap();
    let driver = scenario().slash(link).slash(gone).ready().open(SessionStart::New).await;
    assert!(refused(&driver, "/link").await.contains("link"));
    assert!(refused(&driver, "/gone").await.ends_with("it is gone"));
    driver.leave().await;
}

#[tokio::test]
async fn missing_inputs_are_reported_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let slash = command(folder.path(), "greet", "Greet ${input:who:a name} ${input:how}.");
    let driver = scenario().slash(slash).ready().open(SessionStart::New).await;
    assert_eq!(prompt(&driver, "/greet how=warmly the cook").await.text, "Greet the cook warmly.");
    let missing = refused(&driver, "/greet").await;
    assert_eq!(missing, "/greet: `who` (a name) is missing; write who=… after the command");
    driver.leave().await;
}

#[tokio::test]
async fn a_skill_is_a_command_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = command(folder.path(), "SKILL", "---\nname: calm\ndescription: x\n---\nBe calm.\n").file;
    let source = DefinitionSource::User { path: file.clone() };
    let calm = SkillSpec { name: "calm".into(), file, user_invocable: true, source, ..SkillSpec::default() };
    let hidden = SkillSpec { name: "hidden".into(), user_invocable: false, ..calm.clone() };
    let driver = scenario().skill(calm).skill(hidden).ready().open(SessionStart::New).await;
    let expanded = prompt(&driver, "/calm about the tests").await;
    assert_eq!(
        (expanded.text.as_str(), expanded.display.as_str()),
        ("Be calm.\n\nArguments: about the tests", "/calm about the tests")
    );
    assert!(refused(&driver, "/hidden").await.contains("there is no /hidden"));
    driver.leave().await;
}

#[tokio::test]
async fn a_command_may_name_the_agent_that_performs_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut count = command(folder.path(), "count", "Count $1.");
    count.agent = Some("worker".into());
    let mut nobody = command(folder.path(), "nobody", "x");
    nobody.agent = Some("stranger".into());
    let script = rules("  - when: { agent: worker }\n    answer: [say: \"<${prompt}>\"]\n  - answer: [say: heard]\n");
    let mut driver = scenario().script(&script).slash(count).slash(nobody).ready().open(SessionStart::New).await;
    assert!(super::shown_text(&driver, "/count sheep").await.contains("works in the background"));
    driver
        .until("its end", |event| matches!(event, Event::ActivationEnded { text, .. } if text == "<Count sheep.>"))
        .await;
    assert!(refused(&driver, "/nobody").await.contains("no agent `stranger`"));
    driver.rest().await;
    driver.leave().await;
}

#[tokio::test]
async fn the_user_sees_what_was_typed_and_the_model_gets_the_expansion() {
    let folder = tempfile::tempdir().unwrap();
    let slash = command(folder.path(), "ship", "Ship $1 with care.");
    let script = rules("  - answer: [say: \"<${prompt}>\"]\n");
    let mut driver = scenario().script(&script).slash(slash).ready().open(SessionStart::New).await;
    let message = prompt(&driver, "/ship it").await.message();
    assert_eq!((message.delivery, message.display.as_deref()), (MailDelivery::FollowUp, Some("/ship it")));
    driver.session().post(message).await.unwrap();
    driver.rest().await;
    assert_eq!(driver.session().view().unwrap().title, "/ship it");
    assert_eq!(driver.tasks()[0].prompt.as_deref(), Some("/ship it"));
    let run = driver.leave().await;
    assert_eq!(run.text(), "<Ship it with care.>");
    let page = client::session_markdown(run.events());
    assert!(page.contains("## User\n\n/ship it\n") && !page.contains("## User\n\nShip"), "{page}");
}

#[tokio::test]
async fn secrets_are_redacted_in_the_displayed_prompt_and_in_expansions() {
    const KEY: &str = "sk-0123456789abcdef";
    let folder = tempfile::tempdir().unwrap();
    let slash = command(folder.path(), "look", "Look at @notes.md for $1. !`cat notes.md`");
    let script = rules("  - answer: [say: seen]\n");
    let scenario = scenario().script(&script).slash(slash).allow_all().secret(KEY).file("notes.md", KEY);
    let mut driver = scenario.ready().open(SessionStart::New).await;
    let expanded = prompt(&driver, &format!("/look {KEY}")).await;
    assert_eq!(expanded.text.matches(KEY).count(), 1, "only what was typed: {}", expanded.text);
    driver.session().post(expanded.message()).await.unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    let log = serde_json::to_string(run.events()).unwrap();
    assert!(!log.contains(KEY) && log.contains("/look"), "{log}");
}

#[tokio::test]
async fn a_shell_command_in_a_text_that_does_not_end_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let slash = command(folder.path(), "slow", "!`echo begun; sleep 600` !`sleep 600` after");
    let limits = tools::ToolLimits { max_shell_timeout: Duration::from_secs(1), ..tools::ToolLimits::default() };
    let driver = scenario().allow_all().tools(limits).slash(slash).ready().open(SessionStart::New).await;
    let expanded = prompt(&driver, "/slow").await.text;
    assert!(
        expanded.ends_with("after") && expanded.contains("> begun") && expanded.matches("did not end").count() == 2,
        "{expanded}"
    );
    driver.leave().await;
}
