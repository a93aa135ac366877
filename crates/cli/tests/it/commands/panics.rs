//! A panic leaves a report without private data, and a resumable session.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::Command;

use testkit::binary::{BinaryFixture, PATIENCE, is_root, unique_sleep, within};

use crate::scripts::{HELLO, turns};
use crate::{BOSUN, fixture};

fn reports(fixture: &BinaryFixture) -> Vec<PathBuf> {
    let files = fs::read_dir(fixture.home().join("logs")).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("panic-")).collect()
}

#[test]
fn uncontained_panic_names_its_report_and_the_session_can_be_resumed() {
    let fixture = fixture();
    fixture.script(&turns(5));
    let ended = fixture.prompt("my words").env("BOSUN_FAULT", "panic-at:9").env("ANTHROPIC_API_KEY", "my words").run();
    let ended = ended.expect(1);
    let [report] = <[PathBuf; 1]>::try_from(reports(&fixture)).unwrap();
    let id = fixture.newest();
    let output: Vec<&str> = ended.stderr.lines().filter(|line| !line.starts_with("- ")).collect();
    assert_eq!(output.len(), 2, "{ended:#?}");
    assert_eq!(output[0], format!("error: Bosun stopped because of a bug; the report is in {}", report.display()));
    assert_eq!(output[1], format!("hint: no work is lost; resume with: bosun --resume {id}"));

    assert_eq!(fs::metadata(&report).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&report).unwrap();
    for expected in [
        "version   bosun ",
        "time      20",
        &format!("session   {id}"),
        "thread    main",
        "backtrace",
        "last lines of the log",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(text.contains("command   bosun -p … --allow-all\n"), "{text}");
    assert!(text.contains("message   an injected panic\n") && text.contains("fault_injection.rs"), "{text}");
    assert!(!text.contains("my words"), "{text}");

    assert_eq!(fixture.bosun(["--resume", &id, "--allow-all"]).run().expect(0).stdout, "Done.\n");
}

#[test]
fn writer_panic_ends_the_run_with_a_report_and_the_session_can_be_resumed() {
    let fixture = fixture();
    fixture.script(&turns(5));
    let ended = fixture.prompt("go").env("BOSUN_FAULT", "panic-commit:9").run().expect(1);
    let [report] = <[PathBuf; 1]>::try_from(reports(&fixture)).unwrap();
    assert!(ended.stderr.contains(&format!("the report is in {}", report.display())), "{ended:#?}");
    assert!(fs::read_to_string(&report).unwrap().contains("thread    store-writer"));
    assert_eq!(fixture.bosun(["--continue", "--allow-all"]).run().expect(0).stdout, "Done.\n");
}

#[test]
fn unwritable_report_is_reported() {
    if !is_root() {
        return println!("skipped: only root can give a folder to another user");
    }
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    fixture.script(HELLO).prompt("hi").run().expect(0);
    chown(fixture.home().join("logs"), Some(0), Some(0)).unwrap();
    let ended = fixture.prompt("hi").env("BOSUN_FAULT", "panic-at:3").run().expect(1);
    ended.says(&["no report could be written", "it was: an injected panic at ", "bosun --resume"]);
}

#[test]
fn terminal_is_usable_after_a_panic() {
    let fixture = fixture();
    fixture.script(&turns(5));
    let screen =
        match Screen::open(&fixture, "printf '\\033[?25l\\033[?2004h'; BOSUN_FAULT=panic-at:9 BIN -p hi --allow-all") {
            Some(screen) => screen,
            None => return println!("skipped: tmux is not installed"),
        };
    within(PATIENCE, "the panic is told", || {
        screen.tmux(&["capture-pane", "-p"]).contains("resume with: bosun --resume")
    });
    assert_eq!(screen.tmux(&["display-message", "-p", "#{cursor_flag}"]).trim(), "1", "the cursor is visible");
}

/// A terminal that runs a program.
struct Screen {
    name: String,
}

impl Screen {
    /// Runs a command with the fixture's home and script; `BIN` stands for the binary. None without tmux.
    fn open(fixture: &BinaryFixture, command: &str) -> Option<Screen> {
        let screen = Screen { name: format!("bosun-{}", unique_sleep()) };
        let home = format!("BOSUN_HOME={}", fixture.home().display());
        let model = format!("BOSUN_MODEL=script/{}", fixture.script_path().display());
        let command = format!("export {home} {model}; {}; sleep 1000", command.replace("BIN", BOSUN));
        let folder = fixture.folder();
        let size = ["new-session", "-d", "-x", "80", "-y", "24", "-c", folder.to_str()?, &command];
        screen.run(&size).map(|_said| screen)
    }

    fn tmux(&self, args: &[&str]) -> String {
        self.run(args).unwrap()
    }

    #[expect(clippy::disallowed_methods, reason = "tests start programs directly")]
    fn run(&self, args: &[&str]) -> Option<String> {
        let ended = Command::new("tmux").args(["-L", &self.name, "-f", "/dev/null"]).args(args).output().ok()?;
        assert!(ended.status.success(), "{args:?}: {ended:?}");
        String::from_utf8(ended.stdout).ok()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that never started cannot be ended.
        let _ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.run(&["kill-server"])));
    }
}
