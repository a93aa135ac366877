//! Runs programs for checks, each with a short timeout. They end with this process.

use protocol::text::one_line;
use std::path::PathBuf;
use std::time::Duration;

use host::{ExitStatus, Guardian, Program, SpawnError, Stderr};
use tokio::io::AsyncReadExt;

use super::DoctorContext;

/// How long a program may take.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(2);

/// Most bytes of its output.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// Starts programs that end with this process.
pub(super) struct ProgramRunner<'a> {
    guardian: Guardian,
    pub(super) context: &'a DoctorContext,
}

/// Output of a program, including stderr.
pub(super) struct ProgramOutput {
    pub(super) status: ExitStatus,
    pub(super) text: String,
}

/// Why there is no output.
pub(super) enum ProgramFailure {
    /// There is no such program.
    Missing,
    /// It failed for this reason.
    Other(String),
}

impl ProgramRunner<'_> {
    pub(super) fn new(context: &DoctorContext) -> ProgramRunner<'_> {
        ProgramRunner { guardian: Guardian::new(PathBuf::from("/proc/self/exe")), context }
    }

    /// Runs a program in the working folder, for a short time.
    pub(super) async fn run(&self, name: &str, args: &[&str]) -> Result<ProgramOutput, ProgramFailure> {
        // Programs get no variable that may hold a key; git may neither write the index nor use the network.
        let env = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name, self.context.env.text(name)?)));
        let mut program = Program::new(name, &self.context.cwd).args(args.iter().copied());
        program = env.fold(program, |program, (name, value)| program.env(name, value));
        program = program.env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0").env("GIT_ALLOW_PROTOCOL", "none");
        program.stderr = Stderr::Merge;
        match tokio::time::timeout(PROGRAM_TIMEOUT, self.spawn_and_read(program)).await {
            Ok(output) => output,
            Err(_elapsed) => Err(ProgramFailure::Other(format!("no output within {} s", PROGRAM_TIMEOUT.as_secs()))),
        }
    }

    async fn spawn_and_read(&self, program: Program) -> Result<ProgramOutput, ProgramFailure> {
        let mut process = self.guardian.spawn(program).await.map_err(|error| match error {
            SpawnError::ProgramMissing(_) => ProgramFailure::Missing,
            error => ProgramFailure::Other(error.to_string()),
        })?;
        let mut output = Vec::new();
        let other = |error: &dyn std::fmt::Display| ProgramFailure::Other(error.to_string());
        (&mut process.output).take(MAX_OUTPUT_BYTES).read_to_end(&mut output).await.map_err(|error| other(&error))?;
        let exit = process.wait().await.map_err(|error| other(&error))?;
        Ok(ProgramOutput { status: exit.status, text: String::from_utf8_lossy(&output).into_owned() })
    }
}

/// The first line of an output, shortened.
pub(super) fn first_line(text: &str) -> String {
    one_line(text.lines().next().unwrap_or_default(), 100)
}
