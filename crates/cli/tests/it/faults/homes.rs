//! Unusable homes and settings.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use testkit::binary::{BinaryFixture, PATIENCE, is_root, within};

use super::{path_text, restore};
use crate::scripts::HELLO;
use crate::{BOSUN, fixture};

#[test]
fn unusable_home_is_named_with_a_remedy() {
    let fixture = fixture();
    fixture.script(HELLO);
    fs::write(fixture.home(), "a file").unwrap();
    fixture.prompt("hi").run().expect(2).says(&[path_text(&fixture.home()), "is not a directory", "BOSUN_HOME"]);
    let below = fixture.home().join("below");
    let output = fixture.prompt("hi").env("BOSUN_HOME", &below).run().expect(2);
    output.says(&["is not a directory", "BOSUN_HOME"]);
    let long = fixture.path(&"long".repeat(30));
    fixture.prompt("hi").env("BOSUN_HOME", long).run().expect(2).says(&["too long a path", "BOSUN_HOME"]);
    let nowhere = fixture.prompt("hi").without_env("BOSUN_HOME").without_env("HOME").run().expect(2);
    nowhere.says(&["neither BOSUN_HOME nor HOME is set", "hint:"]);
}

/// Sets the mode of a path.
fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn missing_permissions_are_named_with_a_remedy() {
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    fixture.script(HELLO).prompt("hi").run().expect(0);
    let id = fixture.newest();
    let (db, folder) = (fixture.session_db(&id), fixture.session_dir(&id));

    mode(&db, 0o000);
    fixture.bosun(["sessions", "show", &id]).run().expect(1).says(&[path_text(&db), "permission denied", "BOSUN_HOME"]);
    mode(&db, 0o400);
    fixture.bosun(["--resume", &id, "-p", "hi"]).run().expect(1).says(&[path_text(&db), "read-only"]);
    mode(&db, 0o600);
    restore(&db, &fs::read(&db).unwrap());
    mode(&folder, 0o500);
    fixture.bosun(["--resume", &id, "-p", "hi"]).run().expect(1).says(&[path_text(&db), "read-only"]);
    mode(&folder, 0o700);
    fixture.bosun(["--resume", &id, "-p", "hi"]).run().expect(0);

    let theirs = fixture.path("theirs");
    fs::create_dir(&theirs).unwrap();
    mode(&theirs, 0o555);
    let output = fixture.prompt("hi").env("BOSUN_HOME", theirs.join("home")).run().expect(2);
    output.says(&[path_text(&theirs), "no permission", "BOSUN_HOME"]);
    let output = fixture.prompt("hi").env("BOSUN_HOME", "/").run().expect(2);
    output.says(&["/ is open to other users and contains other files", "BOSUN_HOME"]);
}

#[test]
fn home_of_another_user_is_named_with_a_remedy() {
    if !is_root() {
        return println!("skipped: only root can give a home to another user");
    }
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    fixture.script(HELLO).prompt("hi").run().expect(0);
    chown(fixture.home(), Some(0), Some(0)).unwrap();
    for readable in [0o755, 0o700] {
        mode(&fixture.home(), readable);
        for args in [&["-p", "hi"][..], &["sessions"], &["gc"]] {
            fixture.bosun(args).run().expect(2).says(&[path_text(&fixture.home()), "no permission", "BOSUN_HOME"]);
        }
    }
}

#[test]
fn invalid_settings_are_named_with_file_and_line() {
    let fixture = fixture();
    fixture.script(HELLO).prompt("hi").run().expect(0);
    let config = fixture.home().join("config.toml");
    fs::write(&config, "model = 'script/x'\nturns = 3\n").unwrap();
    let output = fixture.bosun(["sessions"]).run().expect(2);
    output.says(&[path_text(&config), "line 2", "unknown field `turns`", "max-turns"]);
    fs::write(&config, "[limits]\nlive = 0\n").unwrap();
    fixture.prompt("hi").run().expect(2).says(&[path_text(&config), "limits.live", "between 1 and 4096"]);
    fs::write(&config, [0xff, 0xfe]).unwrap();
    fixture.prompt("hi").run().expect(2).says(&[path_text(&config)]);
    fs::write(&config, "max-turns = 50\n").unwrap();
    fixture.prompt("hi").run().expect(0);
}

/// The run stops when its session cannot be written any more, and its text is not lost.
#[test]
fn run_of_a_removed_session_stops_and_prints_its_text() {
    let script = r#"
version: 1
rules:
  - when: { turn: 1 }
    answer:
      - say: The first half is done.
      - call: { tool: shell, input: { command: "touch started; while [ ! -e go ]; do sleep 0.01; done" } }
  - answer: [ { say: Nobody asked for this any more. } ]
"#;
    let fixture = fixture();
    let running = fixture.script(script).prompt("go").start();
    within(PATIENCE, "the command runs", || fixture.path("started").exists());
    fs::remove_dir_all(fixture.home().join("sessions")).unwrap();
    fs::create_dir(fixture.home().join("sessions")).unwrap();
    fs::write(fixture.path("go"), "").unwrap();
    let ended = running.wait().expect(1);
    assert_eq!(ended.stdout, "The first half is done.\n");
    ended.says(&["was removed while the session ran"]);
}
