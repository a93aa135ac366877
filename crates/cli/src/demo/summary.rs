//! The end of the demo: the history, the diff, the test result and commands to try next.

use std::path::{Path, PathBuf};

use tui::print;

use super::folder::DemoFolder;
use super::history::SampleHistory;
use super::runner::{DemoRunner, MODEL, PLAN, SampleTestResult};
use crate::error::CliError;
use crate::exit::CommandExit;

/// Prints the end of the demo.
pub(super) async fn print_summary(
    folder: &DemoFolder,
    runner: &DemoRunner,
    run: CommandExit,
    tests: &SampleTestResult,
) -> Result<(), CliError> {
    if let (Ok(history), CommandExit::Success) = (&runner.git_history, run) {
        print_history(history).await?;
    }
    print::output(format_args!(
        "\nThe tests, run once more without the agents: {}.\n\
         Tokens and costs are simulated by the script; nothing was paid.",
        print::sanitize(&tests.last_line)
    ));
    print_next_steps(folder, runner, run);
    Ok(())
}

async fn print_history(history: &SampleHistory) -> Result<(), CliError> {
    let graph = history.graph().await.map_err(CliError::failed)?;
    print::output(format_args!("History of the branch:\n\n{}\n", print::sanitize(&graph)));
    let changes = history.changes().await.map_err(CliError::failed)?;
    print::output(format_args!("What changed:\n\n{}", print::sanitize(&changes)));
    Ok(())
}

/// Prints commands that the user can copy.
fn print_next_steps(folder: &DemoFolder, runner: &DemoRunner, run: CommandExit) {
    let bosun = quoted(&own_program());
    let merge = if runner.git_history.is_ok() { "--merge" } else { "--isolation none" };
    print::output("\nEvery step is stored. To look around:\n");
    print::output(format_args!("  cd {}", quoted(&folder.project())));
    print::output(format_args!("  export BOSUN_HOME={}", quoted(&folder.home())));
    if run != CommandExit::Success {
        print::output("\nResume it:\n");
        print::output(format_args!("  {bosun} fleet resume --allow-all"));
        return;
    }
    print::output("\nThe todos, their dependencies, and the messages and calls of one worker:\n");
    for command in ["fleet status", "todos graph", "tasks tail sums"] {
        print::output(format_args!("  {bosun} {command}"));
    }
    print::output("\nThe same plan again; nothing changed, so no todo is done again:\n");
    print::output(format_args!("  {bosun} fleet run {PLAN} {merge} \\\n    --model {MODEL} --allow-all"));
    print::output("\nWhen you are done: unset BOSUN_HOME");
}

/// The path of this program, usable from any folder.
fn own_program() -> PathBuf {
    let program = std::env::args_os().next().map(PathBuf::from).unwrap_or_else(|| "bosun".into());
    if program.components().count() > 1 { std::env::current_exe().unwrap_or(program) } else { program }
}

/// A path quoted for a shell.
fn quoted(path: &Path) -> String {
    print::shell_quote(&path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_a_shell() {
        let shown = ["/tmp/bosun-demo-a1", "/my files", "/it's", "/a$b"].map(|path| quoted(Path::new(path)));
        assert_eq!(shown, ["/tmp/bosun-demo-a1", "'/my files'", r"'/it'\''s'", "'/a$b'"]);
    }
}
