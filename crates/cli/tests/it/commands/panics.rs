//! A panic leaves a report that can be shown to others, and a session that can be resumed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;

use testkit::binary::{Stage, is_root};

use crate::scripts::{HELLO, turns};
use crate::{BOSUN, stage};

fn reports(stage: &Stage) -> Vec<PathBuf> {
    let files = fs::read_dir(stage.home().join("logs")).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("panic-")).collect()
}

#[test]
fn a_panic_that_nobody_contains_tells_where_its_report_is_and_the_session_goes_on() {
    let stage = stage();
    stage.script(&turns(5));
    let ended = stage.prompt("my words").env("BOSUN_FAULT", "panic-at:9").env("ANTHROPIC_API_KEY", "my words").run();
    let ended = ended.expect(1);
    let [report] = <[PathBuf; 1]>::try_from(reports(&stage)).unwrap();
    let id = stage.newest();
    let told: Vec<&str> = ended.stderr.lines().filter(|line| !line.starts_with("- ")).collect();
    assert_eq!(told.len(), 2, "{ended:#?}");
    assert_eq!(told[0], format!("error: Bosun has a defect and had to stop; the report is in {}", report.display()));
    assert_eq!(told[1], format!("hint: nothing that was done is lost; go on with: bosun --resume {id}"));

    assert_eq!(fs::metadata(&report).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&report).unwrap();
    for words in [
        "version   bosun ",
        "time      20",
        &format!("session   {id}"),
        "thread    main",
        "backtrace",
        "last lines of the log",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(text.contains("command   bosun -p … --allow-all\n"), "{text}");
    assert!(text.contains("message   a panic on order\n") && text.contains("fault.rs"), "{text}");
    assert!(!text.contains("my words"), "{text}");

    assert_eq!(stage.bosun(["--resume", &id, "--allow-all"]).run().expect(0).stdout, "Done.\n");
}

#[test]
fn a_panic_of_the_writer_ends_the_run_with_a_report_and_the_session_goes_on() {
    let stage = stage();
    stage.script(&turns(5));
    let ended = stage.prompt("go").env("BOSUN_FAULT", "panic-commit:9").run().expect(1);
    let [report] = <[PathBuf; 1]>::try_from(reports(&stage)).unwrap();
    assert!(ended.stderr.contains(&format!("its report is in {}", report.display())), "{ended:#?}");
    assert!(fs::read_to_string(&report).unwrap().contains("thread    store-writer"));
    assert_eq!(stage.bosun(["--continue", "--allow-all"]).run().expect(0).stdout, "Done.\n");
}

#[test]
fn a_report_that_cannot_be_written_is_said_and_nothing_else_changes() {
    if !is_root() {
        return println!("skipped: only root can give a folder to somebody else");
    }
    let stage = Stage::of_ordinary_user(BOSUN);
    stage.script(HELLO).prompt("hi").run().expect(0);
    chown(stage.home().join("logs"), Some(0), Some(0)).unwrap();
    let ended = stage.prompt("hi").env("BOSUN_FAULT", "panic-at:3").run().expect(1);
    ended.says(&["no report could be written", "it was: a panic on order at ", "bosun --resume"]);
}
