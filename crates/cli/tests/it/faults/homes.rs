//! Homes and settings that cannot be used.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use testkit::binary::{BinaryFixture, PATIENCE, is_root, within};

use super::{restore, shown};
use crate::scripts::HELLO;
use crate::{BOSUN, stage};

#[test]
fn a_home_that_cannot_be_used_is_named_with_the_remedy() {
    let stage = stage();
    stage.script(HELLO);
    fs::write(stage.home(), "a file").unwrap();
    stage.prompt("hi").run().expect(2).says(&[shown(&stage.home()), "is not a directory", "BOSUN_HOME"]);
    let below = stage.home().join("below");
    let said = stage.prompt("hi").env("BOSUN_HOME", &below).run().expect(2);
    said.says(&["is not a directory", "BOSUN_HOME"]);
    let long = stage.path(&"long".repeat(30));
    stage.prompt("hi").env("BOSUN_HOME", long).run().expect(2).says(&["too long a path", "BOSUN_HOME"]);
    let nowhere = stage.prompt("hi").without_env("BOSUN_HOME").without_env("HOME").run().expect(2);
    nowhere.says(&["neither BOSUN_HOME nor HOME is set", "hint:"]);
}

/// Sets the mode of a path.
fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_an_ordinary_user_may_not_use_is_named_with_the_remedy() {
    let stage = BinaryFixture::of_ordinary_user(BOSUN);
    stage.script(HELLO).prompt("hi").run().expect(0);
    let id = stage.newest();
    let (db, folder) = (stage.session_db(&id), stage.session_dir(&id));

    mode(&db, 0o000);
    stage.bosun(["sessions", "show", &id]).run().expect(1).says(&[shown(&db), "permission denied", "BOSUN_HOME"]);
    mode(&db, 0o400);
    stage.bosun(["--resume", &id, "-p", "hi"]).run().expect(1).says(&[shown(&db), "read-only"]);
    mode(&db, 0o600);
    restore(&db, &fs::read(&db).unwrap());
    mode(&folder, 0o500);
    stage.bosun(["--resume", &id, "-p", "hi"]).run().expect(1).says(&[shown(&db), "read-only"]);
    mode(&folder, 0o700);
    stage.bosun(["--resume", &id, "-p", "hi"]).run().expect(0);

    let theirs = stage.path("theirs");
    fs::create_dir(&theirs).unwrap();
    mode(&theirs, 0o555);
    let said = stage.prompt("hi").env("BOSUN_HOME", theirs.join("home")).run().expect(2);
    said.says(&[shown(&theirs), "no permission", "BOSUN_HOME"]);
    let said = stage.prompt("hi").env("BOSUN_HOME", "/").run().expect(2);
    said.says(&["/ is open to other users and contains other files", "BOSUN_HOME"]);
}

#[test]
fn a_home_that_belongs_to_somebody_else_is_named_with_the_remedy() {
    if !is_root() {
        return println!("skipped: only root can give a home to somebody else");
    }
    let stage = BinaryFixture::of_ordinary_user(BOSUN);
    stage.script(HELLO).prompt("hi").run().expect(0);
    chown(stage.home(), Some(0), Some(0)).unwrap();
    for readable in [0o755, 0o700] {
        mode(&stage.home(), readable);
        for args in [&["-p", "hi"][..], &["sessions"], &["gc"]] {
            stage.bosun(args).run().expect(2).says(&[shown(&stage.home()), "no permission", "BOSUN_HOME"]);
        }
    }
}

#[test]
fn settings_that_make_no_sense_are_named_with_file_and_line() {
    let stage = stage();
    stage.script(HELLO).prompt("hi").run().expect(0);
    let config = stage.home().join("config.toml");
    fs::write(&config, "model = 'script/x'\nturns = 3\n").unwrap();
    let said = stage.bosun(["sessions"]).run().expect(2);
    said.says(&[shown(&config), "line 2", "unknown field `turns`", "max-turns"]);
    fs::write(&config, "[limits]\nlive = 0\n").unwrap();
    stage.prompt("hi").run().expect(2).says(&[shown(&config), "limits.live", "between 1 and 4096"]);
    fs::write(&config, [0xff, 0xfe]).unwrap();
    stage.prompt("hi").run().expect(2).says(&[shown(&config)]);
    fs::write(&config, "max-turns = 50\n").unwrap();
    stage.prompt("hi").run().expect(0);
}

/// D11: what cannot be written any more is not done, and what was said is not lost.
#[test]
fn a_run_whose_session_is_removed_stops_and_prints_what_was_said() {
    let script = r#"
version: 1
rules:
  - when: { turn: 1 }
    answer:
      - say: The first half is done.
      - call: { tool: shell, input: { command: "touch started; while [ ! -e go ]; do sleep 0.01; done" } }
  - answer: [ { say: Nobody asked for this any more. } ]
"#;
    let stage = stage();
    let running = stage.script(script).prompt("go").start();
    within(PATIENCE, "the command runs", || stage.path("started").exists());
    fs::remove_dir_all(stage.home().join("sessions")).unwrap();
    fs::create_dir(stage.home().join("sessions")).unwrap();
    fs::write(stage.path("go"), "").unwrap();
    let ended = running.wait().expect(1);
    assert_eq!(ended.stdout, "The first half is done.\n");
    ended.says(&["was removed while the session ran"]);
}
