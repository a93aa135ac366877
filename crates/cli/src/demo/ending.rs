//! What is left when the demo is over: the change, the answer, the figures, and what to try next.

use std::path::Path;

use super::folder::Folder;
use super::pace::Pace;
use super::stage::{MODEL, Proof};
use super::story::Story;
use super::tree;
use crate::args::Format;
use crate::exit::Exit;
use crate::print;
use crate::run::{Report, Show};

/// Tells the end of the demo.
pub(super) fn tell(folder: &Folder, story: &Story, report: &Report, proof: &Proof, pace: Pace) {
    tell_changes(folder);
    tell_answer(folder, report);
    tell_tree(report);
    tell_figures(folder, story, proof, pace);
    tell_next(folder, story, proof);
}

fn tell_changes(folder: &Folder) {
    let changes = folder.changes();
    print::answer(if changes.is_empty() { "\nNothing changed." } else { "\nWhat changed:\n" });
    changes.iter().map(|line| print::plain(line)).for_each(print::answer);
}

fn tell_answer(folder: &Folder, report: &Report) {
    let succeeded = matches!(report.exit(), Exit::Success | Exit::Partial);
    print::answer(if succeeded { "\nThe answer:\n" } else { "\nHow it ended:\n" });
    report.write(Format::Text, Show::Nothing);
    if !succeeded {
        print::note(format_args!("hint: put BOSUN_HOME={} in front of such a command", quoted(&folder.home())));
    }
}

fn tell_tree(report: &Report) {
    print::answer("\nWho did it:\n");
    tree::table(report.tasks()).iter().for_each(print::answer);
}

fn tell_figures(folder: &Folder, story: &Story, proof: &Proof, pace: Pace) {
    let Story { session, took, turns, calls, usage, .. } = story;
    let verdict = print::plain(&proof.verdict);
    print::answer(format_args!("\nTests     {verdict}, run once more without the agent"));
    let (seconds, pauses) = (took.as_secs_f64(), pace.remark());
    print::answer(format_args!("Work      {turns} turns, {calls} tool calls, {seconds:.1} s{pauses}"));
    print::answer(format_args!("Tokens    {} as the script counts and prices them, none paid for", usage.total()));
    print::answer(format_args!("Session   {session}, every step of it kept"));
    print::answer(format_args!("Folder    {}", folder.root().display()));
}

/// Commands that work as they are printed.
fn tell_next(folder: &Folder, story: &Story, proof: &Proof) {
    let (project, home) = (folder.project(), quoted(&folder.home()));
    let bosun = std::env::args_os().next().map_or_else(|| "bosun".into(), |name| quoted(Path::new(&name)));
    let (tests, session) = (quoted(&project.join("tests/run.sh")), short(&story.session.to_string()));
    let bosun = format!("BOSUN_HOME={home} \\\n    {bosun}");
    print::answer("\nRun the tests yourself:");
    print::answer(format_args!("  sh {tests}"));
    print::answer("See every agent again, and read what one of them said, called and got:");
    print::answer(format_args!("  {bosun} tasks list --session {session}"));
    print::answer(format_args!("  {bosun} tasks tail dates --session {session}"));
    print::answer("Read everything that was said, called and answered:");
    print::answer(format_args!("  {bosun} sessions export {session}"));
    let finds = if proof.exit() == Exit::Success { "; this time it finds nothing to repair" } else { "" };
    print::answer(format_args!("Ask the scripted agent again{finds}:"));
    print::answer(format_args!("  {bosun} -C {} \\", quoted(&project)));
    print::answer(format_args!("    --model {MODEL} --allow-all -p \"do the tests pass?\""));
}

/// Enough of a session's id: its kind and the millisecond it began in.
fn short(id: &str) -> String {
    id.chars().take("ses-".len() + 12).collect()
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
