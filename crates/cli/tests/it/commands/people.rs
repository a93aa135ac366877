//! Help, shell completions and the manual.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::{BOSUN, fixture};

#[expect(clippy::disallowed_methods, reason = "tests start programs directly")]
fn run(program: &str, args: &[&str]) -> Option<Output> {
    Command::new(program).args(args).env("LC_ALL", "C.UTF-8").output().ok()
}

fn bash(script: &str) -> Output {
    run("bash", &["--norc", "--noprofile", "-c", script, "bash", BOSUN]).unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn bash_completes_commands_and_flags() {
    let complete = |line: &str| {
        let script = format!(
            r#"source <("$1" completions bash) || exit 1
               [[ $(complete -p bosun) =~ -F\ ([^ ]+) ]] || exit 2; function=${{BASH_REMATCH[1]}}
               COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
               "$function" bosun "${{COMP_WORDS[$COMP_CWORD]}}" "${{COMP_WORDS[$COMP_CWORD-1]}}"
               printf '%s\n' "${{COMPREPLY[@]}}""#
        );
        let ended = bash(&script);
        assert!(ended.status.success(), "{ended:?}");
        text(&ended.stdout)
    };
    assert_eq!(complete("bosun sess"), "sessions\n");
    assert_eq!(complete("bosun sessions exp"), "export\n");
    assert_eq!(complete("bosun --max-t"), "--max-turns\n--max-tokens-total\n--max-total-agents\n");
    assert_eq!(complete("bosun completions el"), "elvish\n");
}

#[test]
fn every_shell_has_completions_and_no_home_is_needed() {
    let fixture = fixture();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = fixture.bosun(["completions", shell]).without_env("HOME").without_env("BOSUN_HOME").run().expect(0);
        assert!(ended.stdout.contains("sessions") && ended.stderr.is_empty(), "{shell}");
    }
    assert!(!fixture.home().exists());
    fixture.bosun(["completions", "tcsh"]).run().expect(2).says(&["possible values", "bash", "zsh"]);
}

#[test]
fn the_manual_is_rendered_without_a_warning() {
    let fixture = fixture();
    let pages = fixture.path("man");
    fixture.bosun(["man", "--dir", pages.to_str().unwrap()]).run().expect(0);
    fs::write(pages.join("printed.1"), fixture.bosun(["man"]).run().expect(0).stdout).unwrap();
    let names: Vec<_> = fs::read_dir(&pages).unwrap().map(|page| page.unwrap().path()).collect();
    assert!(names.len() > 10 && pages.join("bosun-sessions-export.1").exists(), "{names:?}");
    for page in names {
        let Some(ended) = run("groff", &["-Kutf8", "-man", "-ww", "-Tutf8", page.to_str().unwrap()]) else {
            return println!("skipped: groff is not installed");
        };
        assert!(ended.status.success(), "{page:?}: {ended:?}");
        assert_eq!(text(&ended.stderr), "", "{page:?}");
    }
}

#[test]
fn uncreatable_manual_folder_is_named() {
    let fixture = fixture();
    fs::write(fixture.path("file"), "").unwrap();
    fixture.bosun(["man", "--dir", "file"]).run().expect(1).says(&["cannot write manual pages to file", "hint:"]);
}

#[test]
fn help_fits_a_terminal_and_groups_its_flags() {
    let help = fixture().bosun(["--help"]).run().expect(0).stdout;
    let run = ["Prompt and workspace:", "Model:", "Continuing a session:", "Permissions:", "Limits:", "Output:"];
    for heading in ["Commands:"].into_iter().chain(run) {
        assert!(help.lines().any(|line| line == heading), "{heading}: {help}");
    }
    assert_eq!(help.matches("Exit codes:").count(), 1);
    assert!(help.contains("  a conversation; it asks before"), "what `bosun` alone does: {help}");
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
}

#[test]
fn closed_streams_do_not_break_commands() {
    for command in ["--help", "--version", "doctor", "man", "completions bash", "sessions", "models", "nonsense", ""] {
        for closed in [">&-", "2>&-", ">&- 2>&- <&-", "| head -c 1 >/dev/null"] {
            let home = unique_home();
            let script = format!(
                r#"BOSUN_HOME="{}" OLLAMA_HOST=http://10.0.0.1 timeout 60 "$1" {command} {closed}; echo "${{PIPESTATUS[0]}}""#,
                home.display()
            );
            let ended = bash(&script);
            let code = text(&ended.stdout).lines().last().unwrap_or_default().to_owned();
            assert!(matches!(&*code, "0" | "1" | "2"), "{command} {closed}: {ended:?}");
            assert!(!text(&ended.stderr).contains("panicked"), "{command} {closed}: {ended:?}");
            let _gone = fs::remove_dir_all(home);
        }
    }
}

/// A unique home folder.
fn unique_home() -> std::path::PathBuf {
    let number = testkit::binary::unique_sleep();
    Path::new("/tmp").join(format!("bosun-closed-{number}"))
}
