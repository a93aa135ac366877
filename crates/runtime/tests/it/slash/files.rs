//! Commands of files: what their text becomes.

use std::os::unix::fs::symlink;
use std::time::Duration;

use protocol::{DefinitionSource, Event, MailDelivery, RuleEffect, SkillSpec};
use runtime::{SessionFeatures, SessionStart};
use testkit::session::scenario;

use super::{command, prompt, refused};
use crate::support::rules;

const DATA: &str = "[data, not from the user]";

#[tokio::test]
async fn a_text_is_given_its_words_files_and_what_commands_print() {
    let folder = tempfile::tempdir().unwrap();
    let text = "---\ndescription: x\n---\nShip $1 to $2.\n\nNotes: @notes.md\nFiles: !`ls $2`\n";
    let ship = command(folder.path(), "ship", text);
    let scenario = scenario().slash(ship).rule(RuleEffect::Allow, "shell(ls *)");
    let driver = scenario.file("notes.md", "be kind\n").file("here/a.txt", "").ready().open(SessionStart::New).await;
    let made = prompt(&driver, "/Ship it here").await;
    assert_eq!(made.display, "/ship it here");
    let expected = format!(
        "Ship it to here.\n\nNotes: \nnotes.md:\n{DATA}\n> be kind\n[end of data]\n\nFiles: \n{DATA}\n> a.txt\n[end of data]"
    );
    assert_eq!(made.text, expected);
    driver.leave().await;
}

#[tokio::test]
async fn words_after_a_command_never_run_and_never_open_anything() {
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
        let made = prompt(&driver, &format!("/ship {hostile}")).await.text;
        assert!(made.starts_with(&format!("Ship <{hostile}>. ")) && !made.contains("secret"), "{made}");
        // To a shell this one is a word like any other.
        assert!(hostile == "@notes.md" || made.contains(". [not run: ls $ARGUMENTS: "), "{made}");
        let made = prompt(&driver, &format!("/plain {hostile}")).await.text;
        assert_eq!(made, format!("Do it.\n\nArguments: {hostile}"));
    }
    assert!(stage.file("ran").is_none());
    driver.leave().await;
}

#[tokio::test]
async fn a_command_in_a_text_runs_only_if_the_root_could_run_it_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let text = "!`touch ran` !`ls denied` !`cat gone; exit 3`";
    let stage = scenario().slash(command(folder.path(), "x", text)).rule(RuleEffect::Deny, "shell(ls denied)").ready();
    let driver = stage.open(SessionStart::New).await;
    let made = prompt(&driver, "/x").await.text;
    assert!(made.contains("[not run: touch ran: ") && made.contains("permit it with `--allow"), "{made}");
    assert!(made.contains("[not run: ls denied: "), "{made}");
    assert!(stage.file("ran").is_none());
    driver.leave().await;

    let stage = scenario().allow_all().slash(command(folder.path(), "x", "!`cat gone; exit 3`")).ready();
    let driver = stage.open(SessionStart::New).await;
    let made = prompt(&driver, "/x").await.text;
    assert!(made.contains("[`cat gone; exit 3`: exit code 3]") && made.contains("> cat: gone"), "{made}");
    driver.leave().await;
}

#[tokio::test]
async fn commands_in_texts_can_be_forbidden_and_leave_a_trace_in_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let features = SessionFeatures { inline_shell: false, ..SessionFeatures::default() };
    let slash = command(folder.path(), "x", "On !`git branch`.");
    let driver = scenario().allow_all().features(features).slash(slash).ready().open(SessionStart::New).await;
    let made = prompt(&driver, "/x").await.text;
    assert_eq!(made, "On [not run: git branch: the administrator of this machine forbids commands in texts].");
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
    let made = prompt(&driver, "/x").await.text;
    for path in ["/etc/hostname", "gone.md", "sub/", "denied.md"] {
        assert!(made.contains(&format!("@{path} [not included: ")), "{path}: {made}");
    }
    assert!(made.len() < 64 << 10 && made.contains("big.txt:\n") && !made.contains("secret"), "{}", made.len());
    driver.leave().await;
}

#[tokio::test]
async fn a_command_s_file_is_not_read_through_a_link_and_may_be_gone() {
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
async fn inputs_are_asked_for_by_name() {
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
    let made = prompt(&driver, "/calm about the tests").await;
    assert_eq!(
        (made.text.as_str(), made.display.as_str()),
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
    assert!(super::told(&driver, "/count sheep").await.contains("works in the background"));
    driver
        .until("its end", |event| matches!(event, Event::ActivationEnded { text, .. } if text == "<Count sheep.>"))
        .await;
    assert!(refused(&driver, "/nobody").await.contains("no agent `stranger`"));
    driver.rest().await;
    driver.leave().await;
}

#[tokio::test]
async fn people_see_what_they_typed_and_the_model_what_it_means() {
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
    let page = runtime::transcript(run.events());
    assert!(page.contains("## User\n\n/ship it\n") && !page.contains("## User\n\nShip"), "{page}");
}

#[tokio::test]
async fn keys_are_taken_out_of_what_people_see_and_of_what_a_text_brings() {
    const KEY: &str = "sk-0123456789abcdef";
    let folder = tempfile::tempdir().unwrap();
    let slash = command(folder.path(), "look", "Look at @notes.md for $1. !`cat notes.md`");
    let script = rules("  - answer: [say: seen]\n");
    let scenario = scenario().script(&script).slash(slash).allow_all().secret(KEY).file("notes.md", KEY);
    let mut driver = scenario.ready().open(SessionStart::New).await;
    let made = prompt(&driver, &format!("/look {KEY}")).await;
    assert_eq!(made.text.matches(KEY).count(), 1, "only what was typed: {}", made.text);
    driver.session().post(made.message()).await.unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    let log = serde_json::to_string(run.events()).unwrap();
    assert!(!log.contains(KEY) && log.contains("/look"), "{log}");
}

#[tokio::test]
async fn a_command_in_a_text_that_does_not_end_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let slash = command(folder.path(), "slow", "!`echo begun; sleep 600` !`sleep 600` after");
    let limits = tools::ToolLimits { shell_max: Duration::from_secs(1), ..tools::ToolLimits::default() };
    let driver = scenario().allow_all().tools(limits).slash(slash).ready().open(SessionStart::New).await;
    let made = prompt(&driver, "/slow").await.text;
    assert!(made.ends_with("after") && made.contains("> begun") && made.matches("did not end").count() == 2, "{made}");
    driver.leave().await;
}
