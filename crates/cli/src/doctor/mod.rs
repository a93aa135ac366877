//! `bosun doctor`: checks the installation and suggests fixes.

mod report;
mod terminal;

use config::{Env, check_installation};
use tui::print;
use tui::style::Style;

use crate::args::DoctorArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::terminal_settings;
use report::DoctorReport;

pub(crate) async fn run_doctor(args: &DoctorArgs) -> Result<CommandExit, CliError> {
    let env = Env::read();
    print::set_style(Style::of(&std::io::stdout(), terminal_settings(&env)));
    let mut installation = check_installation(&env).await;
    installation.checks.push(terminal::check(&env));
    let report = DoctorReport::new(installation);
    if args.json {
        print::json(&report);
    } else {
        report.print();
    }
    Ok(if report.has_failures() { CommandExit::Failed } else { CommandExit::Success })
}
