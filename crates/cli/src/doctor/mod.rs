//! `bosun doctor`: checks the installation and suggests fixes. It never writes, and reports anything broken instead of
//! stopping at it.

mod agents;
mod check;
mod context;
mod git;
mod home;
mod limits;
mod machine;
mod mcp_servers;
mod models;
mod programs;
mod project;
mod sandbox;
mod session_host;
mod settings;
mod show;

use protocol::api::DoctorResult;

use crate::args::DoctorArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use check::{DoctorCheck, DoctorReport};
use context::DoctorContext;
pub(crate) use git::is_too_old as is_old_git;
use programs::ProgramRunner;

pub(crate) async fn run_doctor(args: &DoctorArgs) -> Result<CommandExit, CliError> {
    let report = check_installation().await;
    if args.json {
        tui::print::json(&report);
    } else {
        show::print_report(&report);
    }
    Ok(if report.has_failures() { CommandExit::Failed } else { CommandExit::Success })
}

/// All checks, for other clients.
pub(crate) async fn view() -> DoctorResult {
    check_installation().await.into()
}

async fn check_installation() -> DoctorReport {
    let (context, setting_problems) = DoctorContext::read();
    let runner = ProgramRunner::new(&context);
    // Wait for servers and programs at the same time.
    let (models, git, sandbox) = tokio::join!(models::checks(&context), git::check(&runner), sandbox::checks(&runner));
    // What a first run needs comes first.
    let mut checks = models;
    checks.push(git);
    checks.extend(setting_problems);
    checks.extend(settings::checks(&context));
    checks.extend(home::checks(&context));
    checks.extend(session_host::checks(&context).await);
    checks.extend(project::checks(&context));
    checks.extend(mcp_servers::checks(&context));
    checks.extend(agents::checks(&context));
    checks.extend(sandbox);
    checks.extend(machine::checks(&context));
    checks.extend(limits::checks());
    DoctorReport::new(checks)
}
