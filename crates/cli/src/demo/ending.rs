//! What is left when the demo is over: the history, the change, the tests, and what to try next.

use std::path::{Path, PathBuf};

use super::folder::Folder;
use super::history::History;
use super::stage::{MODEL, PLAN, Proof, Stage};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;

/// Tells the end of the demo.
pub(super) async fn tell(folder: &Folder, stage: &Stage, run: Exit, proof: &Proof) -> Result<(), Failure> {
    if let (Ok(history), Exit::Success) = (&stage.history, run) {
        tell_history(history).await?;
    }
    print::answer(format_args!(
        "\nThe tests, run once more without the agents: {}.\n\
         Tokens are as the script counts and prices them; none was paid for.",
        print::plain(&proof.verdict)
    ));
    tell_next(folder, stage, run);
    Ok(())
}

async fn tell_history(history: &History) -> Result<(), Failure> {
    let graph = history.graph().await.map_err(Failure::failed)?;
    print::answer(format_args!("What became of the branch:\n\n{}\n", print::plain(&graph)));
    let changes = history.changes().await.map_err(Failure::failed)?;
    print::answer(format_args!("What changed:\n\n{}", print::plain(&changes)));
    Ok(())
}

/// Commands that work as they are printed.
fn tell_next(folder: &Folder, stage: &Stage, run: Exit) {
    let bosun = quoted(&itself());
    let merge = if stage.history.is_ok() { "--merge" } else { "--isolation none" };
    print::answer("\nEvery step is kept. To look around, tell your shell where:\n");
    print::answer(format_args!("  cd {}", quoted(&folder.project())));
    print::answer(format_args!("  export BOSUN_HOME={}", quoted(&folder.home())));
    if run != Exit::Success {
        print::answer("\nGo on where it was:\n");
        print::answer(format_args!("  {bosun} fleet resume --allow-all"));
        return;
    }
    print::answer("\nThe todos, what waited for what, and what one worker said, called and heard:\n");
    for command in ["fleet status", "todos graph", "tasks tail sums"] {
        print::answer(format_args!("  {bosun} {command}"));
    }
    print::answer("\nThe same plan once more; nothing changed, so nothing is done again:\n");
    print::answer(format_args!("  {bosun} fleet run {PLAN} {merge} \\\n    --model {MODEL} --allow-all"));
    print::answer("\nWhen you have seen enough: unset BOSUN_HOME");
}

/// The command as a shell in any folder finds it.
fn itself() -> PathBuf {
    let typed = std::env::args_os().next().map(PathBuf::from).unwrap_or_else(|| "bosun".into());
    if typed.components().count() > 1 { std::env::current_exe().unwrap_or(typed) } else { typed }
}

/// A path as a shell reads it.
fn quoted(path: &Path) -> String {
    print::word(&path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_where_a_shell_would_take_it_apart() {
        let shown = ["/tmp/bosun-demo-a1", "/my files", "/it's", "/a$b"].map(|path| quoted(Path::new(path)));
        assert_eq!(shown, ["/tmp/bosun-demo-a1", "'/my files'", r"'/it'\''s'", "'/a$b'"]);
    }
}
