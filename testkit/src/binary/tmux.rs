//! A terminal in which the binary runs and the test types.

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use super::{BinaryInvocation, PATIENCE, within};

/// A tmux server with one window, stopped when dropped.
#[derive(Debug)]
pub struct Tmux {
    name: String,
    folder: TempDir,
}

impl Tmux {
    /// Starts the binary in a terminal of this size.
    #[track_caller]
    pub fn start(invocation: &BinaryInvocation, columns: u32, rows: u32) -> Tmux {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bosun-{}-{count}", std::process::id());
        let folder = tempfile::Builder::new().prefix("tmux-").tempdir().unwrap();
        // Keep the screen after the program ends.
        let settings = "set -g remain-on-exit on\nset -g history-limit 20000\nset -g escape-time 0\n";
        std::fs::write(folder.path().join("conf"), settings).unwrap();
        let tmux = Tmux { name, folder };
        let conf = tmux.folder.path().join("conf").display().to_string();
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let mut command = tmux.command();
        command.args(["-f", &conf, "new-session", "-d", "-x", &columns, "-y", &rows, "env", "-i", "TERM=screen"]);
        invocation.in_words(&mut command);
        let started = command.output().unwrap();
        assert!(started.status.success(), "{started:?}");
        tmux
    }

    /// Types a text, key by key.
    #[track_caller]
    pub fn types(&self, text: &str) -> &Tmux {
        self.run(&["send-keys", "-l", "--", text]);
        self
    }

    /// Types a text and Enter.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Tmux {
        self.types(text).press("Enter")
    }

    /// Presses a key by its name in tmux, such as `C-c` or `M-Enter`.
    #[track_caller]
    pub fn press(&self, key: &str) -> &Tmux {
        self.run(&["send-keys", key]);
        self
    }

    /// Pastes a text as a terminal does.
    #[track_caller]
    pub fn pastes(&self, text: &str) -> &Tmux {
        let mut command = self.command();
        let mut load = command.args(["load-buffer", "-"]).stdin(Stdio::piped()).spawn().unwrap();
        load.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(load.wait().unwrap().success());
        self.run(&["paste-buffer", "-p"]);
        self
    }

    /// Makes the terminal larger or smaller.
    #[track_caller]
    pub fn resize(&self, columns: u32, rows: u32) {
        self.run(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// The text on the screen.
    #[track_caller]
    pub fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    /// The text on the screen and what has scrolled away.
    #[track_caller]
    pub fn history(&self) -> String {
        self.run(&["capture-pane", "-p", "-S", "-"])
    }

    /// The same with colour codes.
    #[track_caller]
    pub fn colours(&self) -> String {
        self.run(&["capture-pane", "-p", "-e", "-S", "-"])
    }

    /// Waits until the screen shows this text.
    #[track_caller]
    pub fn shows(&self, text: &str) -> &Tmux {
        self.until(text, |screen| screen.contains(text))
    }

    /// Waits until `done` accepts the screen.
    #[track_caller]
    pub fn until(&self, what: &str, mut done: impl FnMut(&str) -> bool) -> &Tmux {
        let mut screen = String::new();
        let began = std::time::Instant::now();
        while !done(&screen) {
            assert!(began.elapsed() < PATIENCE, "the screen never shows `{what}`:\n{}", self.history());
            std::thread::sleep(std::time::Duration::from_millis(10));
            screen = self.screen();
        }
        self
    }

    /// Waits for the end of the binary; returns its exit code.
    #[track_caller]
    pub fn ends(&self) -> i32 {
        let mut code = String::new();
        within(PATIENCE, "the end of the process", || {
            code = self.run(&["display-message", "-p", "#{pane_dead}#{pane_dead_status}"]);
            if code.trim() == "1" {
                // It has ended without an exit code: tmux misses a child that ends at the wrong moment, and looks again
                // when another one ends.
                self.run(&["run-shell", "true"]);
            }
            code.trim().len() > 1
        });
        code.trim()[1..].parse().unwrap_or_else(|error| panic!("{error}: {code}\n{}", self.history()))
    }

    /// Waits for the end of the binary without its exit code: what tmux writes on the screen then comes late or never
    /// if it misses the end of its child.
    #[track_caller]
    pub fn is_over(&self) {
        within(PATIENCE, "the end of the process", || {
            self.run(&["display-message", "-p", "#{pane_dead}"]).trim() == "1"
        });
    }

    /// Sends the binary a signal by its name, such as `TERM`.
    #[track_caller]
    pub fn signal(&self, name: &str) {
        let pid = self.run(&["display-message", "-p", "#{pane_pid}"]);
        let sent = Command::new("sh").args(["-c", r#"kill -s "$0" "$1""#, name, pid.trim()]).status().unwrap();
        assert!(sent.success(), "{name} could not be sent to {pid}");
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> String {
        let Output { status, stdout, stderr } = self.command().args(args).output().unwrap();
        assert!(status.success(), "{args:?}: {}", String::from_utf8_lossy(&stderr));
        String::from_utf8_lossy(&stdout).into_owned()
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.env_remove("TMUX").env("TMUX_TMPDIR", self.folder.path()).env("LC_ALL", "C.UTF-8");
        command.args(["-u", "-L", &self.name]);
        command
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // A server whose only window is closed has already ended.
        let _ended = self.command().args(["kill-server"]).output();
    }
}
