//! Runs `systemctl --user`.

use std::time::Duration;

use host::{Guardian, Program, SpawnError, Stderr};
use tokio::io::AsyncReadExt;
use tui::print;

use super::unit::UNIT_NAME;
use crate::error::CliError;
use crate::setup::Setup;

/// How long it may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Most bytes of its output.
const MAX_OUTPUT_BYTES: u64 = 64 << 10;

/// The variables that it needs to reach the user's service manager.
const VARIABLES: [&str; 4] = ["PATH", "HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/// Runs `systemctl --user`.
pub(super) struct Systemctl<'a> {
    guardian: Guardian,
    setup: &'a Setup,
}

/// Its output, and whether it succeeded.
struct SystemctlOutput {
    text: String,
    is_success: bool,
}

impl Systemctl<'_> {
    pub(super) fn new(setup: &Setup) -> Systemctl<'_> {
        Systemctl { guardian: Guardian::new("/proc/self/exe".into()), setup }
    }

    /// Fails if systemd does not run services for this user.
    pub(super) async fn require(&self) -> Result<(), CliError> {
        let refusal = |why: String| {
            CliError::usage(format!("systemd does not run services for this user: {why}")).with_hint(
                "`bosun service install --no-start` only writes the unit; without systemd, run `bosun serve`",
            )
        };
        match self.run(&["show-environment"]).await {
            Ok(output) if output.is_success => Ok(()),
            Ok(output) => Err(refusal(print::one_line(&output.text, 200))),
            Err(why) => Err(refusal(why)),
        }
    }

    /// Runs a command after showing it; fails if it fails.
    pub(super) async fn run_shown(&self, args: &[&str]) -> Result<(), CliError> {
        print::note(format_args!("systemctl --user {}", args.join(" ")));
        match self.run(args).await {
            Ok(output) if output.is_success => Ok(()),
            Ok(output) => Err(CliError::failed(format!("systemctl failed: {}", print::one_line(&output.text, 500)))),
            Err(why) => Err(CliError::failed(format!("systemctl failed: {why}"))),
        }
    }

    /// The one-word answer to a question about the unit. A negative answer is not a failure.
    pub(super) async fn answer(&self, question: &str) -> Option<String> {
        let output = self.run(&[question, UNIT_NAME]).await.ok()?;
        Some(print::one_line(output.text.lines().next()?, 40))
    }

    async fn run(&self, args: &[&str]) -> Result<SystemctlOutput, String> {
        let mut program = Program::new("systemctl", self.setup.home.root()).args(["--user"]).args(args.iter().copied());
        for name in VARIABLES {
            if let Some(value) = self.setup.env.text(name) {
                program = program.env(name, value);
            }
        }
        program.stderr = Stderr::Merge;
        match tokio::time::timeout(TIMEOUT, self.spawn_and_read(program)).await {
            Ok(output) => output,
            Err(_elapsed) => Err(format!("no answer within {} s", TIMEOUT.as_secs())),
        }
    }

    async fn spawn_and_read(&self, program: Program) -> Result<SystemctlOutput, String> {
        let mut process = self.guardian.spawn(program).await.map_err(|error| match error {
            SpawnError::ProgramMissing(_) => "there is no systemctl".to_owned(),
            error => error.to_string(),
        })?;
        let mut output = Vec::new();
        let read = (&mut process.output).take(MAX_OUTPUT_BYTES).read_to_end(&mut output).await;
        read.map_err(|error| error.to_string())?;
        let exit = process.wait().await.map_err(|error| error.to_string())?;
        Ok(SystemctlOutput {
            text: String::from_utf8_lossy(&output).into_owned(),
            is_success: exit.status.is_success(),
        })
    }
}
