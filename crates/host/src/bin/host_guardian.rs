//! The guardian executable for this crate's tests, and an owner that they can kill.

use std::io::{self, Write};
use std::process::ExitCode;

use bosun_host::{ExitGrace, Guardian, Home, Lineage, Process, Program, guardian_main};
use protocol::SessionId;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some(bosun_host::guardian::GUARDIAN_ARGUMENT) => guardian_main(),
        Some("owner") => own(Ok, ExitGrace::Brief, args.collect()).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
        Some("patient-owner") => {
            own(Ok, ExitGrace::Patient, args.collect()).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
        }
        Some("owner-of") => {
            let home = args.next().unwrap_or_default();
            own(|guardian| holding(guardian, home.into()), ExitGrace::Brief, args.collect())
                .map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
        }
        Some("lineage") => {
            writeln!(io::stdout(), "{:?}", Lineage::of_this_process()).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
        }
        Some(_) | None => ExitCode::FAILURE,
    }
}

/// Runs each script in a shell under a guardian, prints `ready`, and waits until it is killed.
fn own(
    prepare: impl FnOnce(Guardian) -> TestOutcome<Guardian>,
    grace: ExitGrace,
    scripts: Vec<String>,
) -> TestOutcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let guardian = prepare(Guardian::new(std::env::current_exe()?))?;
        let mut running: Vec<Process> = Vec::new();
        for script in scripts {
            let program = Program::new("/bin/sh", "/").args(["-c", &script]).env("PATH", "/usr/bin:/bin");
            running.push(guardian.spawn(Program { exit_grace: grace, ..program }).await?);
        }
        writeln!(io::stdout(), "ready")?;
        io::stdout().flush()?;
        std::future::pending().await
    })
}

type TestOutcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Makes the guardian hold the lock of a session in this home.
fn holding(guardian: Guardian, home: std::path::PathBuf) -> TestOutcome<Guardian> {
    let (home, session) = (Home::open(home)?, SessionId::new(uuid::Uuid::from_u128(1)));
    home.make_session(session)?;
    Ok(guardian.with_lock(home.take_idle_session(session)?.lock))
}
