//! The guardian's executable for this crate's tests, and an owner that they may kill.

use std::io::{self, Write};
use std::process::ExitCode;

use bosun_host::{Guardian, Process, Program, guardian_main};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some(bosun_host::guardian::GUARDIAN_ARGUMENT) => guardian_main(),
        Some("owner") => own(args.collect()).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
        Some(_) | None => ExitCode::FAILURE,
    }
}

/// Runs each script in a shell, says `ready`, and holds them until it is killed.
fn own(scripts: Vec<String>) -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let guardian = Guardian::new(std::env::current_exe()?);
        let mut running: Vec<Process> = Vec::new();
        for script in scripts {
            let program = Program::new("/bin/sh", "/").args(["-c", &script]).env("PATH", "/usr/bin:/bin");
            running.push(guardian.spawn(program).await?);
        }
        writeln!(io::stdout(), "ready")?;
        io::stdout().flush()?;
        std::future::pending().await
    })
}
