//! What is left when the demo is over: the change, the answer, the figures, and what to try next.

use std::path::Path;

use super::folder::Folder;
use super::stage::{MODEL, Proof};
use super::story::Story;
use crate::args::Format;
use crate::exit::Exit;
use crate::print;
use crate::run::Report;

/// Tells the end of the demo.
pub(super) fn tell(folder: &Folder, story: &Story, report: &Report, proof: &Proof) {
    tell_changes(folder);
    print::answer("\nThe agent's answer:\n");
    report.write(Format::Text);
    if report.exit() != Exit::Success {
        print::note(format_args!("hint: the demo's session needs BOSUN_HOME={} for that", quoted(&folder.home())));
    }
    tell_figures(folder, story, proof);
    tell_next(folder, story);
}

fn tell_changes(folder: &Folder) {
    let changes = folder.changes();
    print::answer(if changes.is_empty() { "\nNothing changed." } else { "\nWhat changed:\n" });
    changes.iter().map(|line| print::plain(line)).for_each(print::answer);
}

fn tell_figures(folder: &Folder, story: &Story, proof: &Proof) {
    let Story { session, took, turns, calls, usage, .. } = story;
    let verdict = print::plain(&proof.verdict);
    print::answer(format_args!("\nTests     {verdict}, run once more without the agent"));
    print::answer(format_args!("Work      {turns} turns, {calls} tool calls, {:.1} s", took.as_secs_f64()));
    print::answer(format_args!("Tokens    {} as the script counts them, none paid for", usage.total()));
    print::answer(format_args!("Session   {session}, every step of it kept"));
    print::answer(format_args!("Folder    {}", folder.root().display()));
}

/// Commands that work as they are printed.
fn tell_next(folder: &Folder, story: &Story) {
    let (project, home) = (folder.project(), quoted(&folder.home()));
    let bosun = std::env::args_os().next().map_or_else(|| "bosun".into(), |name| quoted(Path::new(&name)));
    let (tests, session) = (quoted(&project.join("tests/run.sh")), short(&story.session.to_string()));
    print::answer("\nRun the tests yourself:");
    print::answer(format_args!("  sh {tests}"));
    print::answer("Read everything that was said, called and answered:");
    print::answer(format_args!("  BOSUN_HOME={home} {bosun} sessions export {session}"));
    print::answer("Ask the same scripted agent again; this time it finds nothing to repair:");
    print::answer(format_args!("  BOSUN_HOME={home} {bosun} -C {} \\", quoted(&project)));
    print::answer(format_args!("    --model {MODEL} --allow-all -p \"do the tests pass?\""));
}

/// Enough of a session's id: its kind and the millisecond it began in.
fn short(id: &str) -> String {
    id.chars().take("ses-".len() + 12).collect()
}

/// A path as a shell reads it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let bare = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,".contains(c);
    if !text.is_empty() && text.chars().all(bare) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
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
