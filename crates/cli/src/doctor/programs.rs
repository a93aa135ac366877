//! Asking programs something. They end with this process, and none is waited for long.

use std::path::PathBuf;
use std::time::Duration;

use host::{ExitStatus, Guardian, Program, SpawnError, Stderr};
use tokio::io::AsyncReadExt;

use super::Scene;

/// How long a program may take.
const LIMIT: Duration = Duration::from_secs(2);

/// Most bytes of its answer.
const MOST: u64 = 1 << 20;

/// Starts programs that end with this process.
pub(super) struct Starter<'a> {
    guardian: Guardian,
    pub(super) scene: &'a Scene,
}

/// What a program said, complaints included.
pub(super) struct Answer {
    pub(super) status: ExitStatus,
    pub(super) text: String,
}

/// Why it said nothing.
pub(super) enum Silence {
    /// There is no such program.
    Missing,
    /// It could not be heard, for this reason.
    Other(String),
}

impl Starter<'_> {
    pub(super) fn new(scene: &Scene) -> Starter<'_> {
        Starter { guardian: Guardian::new(PathBuf::from("/proc/self/exe")), scene }
    }

    /// Runs a program in the folder to work in, for a short time.
    pub(super) async fn run(&self, name: &str, args: &[&str]) -> Result<Answer, Silence> {
        // Programs get nothing that may be a key; git is told to write no index and to ask no other machine.
        let env = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name, self.scene.env.text(name)?)));
        let mut program = Program::new(name, &self.scene.cwd).args(args.iter().copied());
        program = env.fold(program, |program, (name, value)| program.env(name, value));
        program = program.env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0").env("GIT_ALLOW_PROTOCOL", "none");
        program.stderr = Stderr::Merge;
        match tokio::time::timeout(LIMIT, self.hear(program)).await {
            Ok(answer) => answer,
            Err(_elapsed) => Err(Silence::Other(format!("nothing for {} s", LIMIT.as_secs()))),
        }
    }

    async fn hear(&self, program: Program) -> Result<Answer, Silence> {
        let mut process = self.guardian.spawn(program).await.map_err(|error| match error {
            SpawnError::ProgramMissing(_) => Silence::Missing,
            error => Silence::Other(error.to_string()),
        })?;
        let mut said = Vec::new();
        let other = |error: &dyn std::fmt::Display| Silence::Other(error.to_string());
        (&mut process.output).take(MOST).read_to_end(&mut said).await.map_err(|error| other(&error))?;
        let exit = process.wait().await.map_err(|error| other(&error))?;
        Ok(Answer { status: exit.status, text: String::from_utf8_lossy(&said).into_owned() })
    }
}

/// What it said first, in one short line.
pub(super) fn first_line(text: &str) -> String {
    crate::print::one_line(text.lines().next().unwrap_or_default(), 100)
}
