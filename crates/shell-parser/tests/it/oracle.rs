//! Compares our parser with brush's parser, bash's syntax check, and bash itself.

use std::collections::BTreeSet;
use std::process::Command;

use bosun_shell_parser::{ShellScript, ShellWord, parse};
use proptest::prelude::*;

use crate::generate::{Dice, command, soup, words};
use crate::second;
use crate::shims::ran;

/// Every program that a script names, including wrappers.
pub(crate) fn named(script: &ShellScript) -> BTreeSet<String> {
    let names = script.commands.iter().map(|command| &command.name);
    names.chain(script.commands.iter().flat_map(|command| &command.wrappers)).cloned().collect()
}

#[test]
fn second_parser_finds_no_program_that_ours_misses() {
    let mut dice = Dice::new(4);
    let mut compared = 0;
    for _ in 0..5000 {
        let text = command(&mut dice);
        let script = parse(&text);
        // With several here-documents, the other parser treats some bodies as commands.
        let documents = text.matches("<<").count() - text.matches("<<<").count();
        let comparable = documents < 2 && script.unclear.is_empty();
        let Some(names) = comparable.then(|| second::names(&text)).flatten() else { continue };
        compared += 1;
        let ours = named(&script);
        let missed: Vec<&String> = names.iter().filter(|name| !ours.contains(*name)).collect();
        assert!(missed.is_empty(), "{text:?}: {missed:?} beside {ours:?}");
    }
    assert!(compared > 1500, "only {compared} were clear");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests stand outside what they test")]
fn commands_that_bash_rejects_are_unclear() {
    let mut dice = Dice::new(5);
    let clear = std::iter::repeat_with(|| command(&mut dice)).filter(|text| parse(text).unclear.is_empty());
    for text in clear.take(400) {
        let checked = Command::new("/bin/bash").args(["-n", "-c", &text]).output().unwrap();
        let complaint = String::from_utf8_lossy(&checked.stderr);
        // A condition that bash refuses starts nothing.
        let accepted = checked.status.success() || complaint.contains("conditional");
        assert!(accepted, "{text:?}: {complaint}");
    }
}

/// Runs this many clear scripts and counts the programs that they start.
fn run(texts: impl Iterator<Item = String>, most: usize) -> usize {
    let clear = texts.filter(|text| parse(text).unclear.is_empty()).take(most);
    let run = |text: String| {
        let (script, ran) = (parse(&text), ran(&text));
        let ours = named(&script);
        let missed: Vec<&String> = ran.started.iter().filter(|name| !ours.contains(*name)).collect();
        assert!(missed.is_empty(), "{text:?}: {missed:?} beside {ours:?}");
        let opens = |made: &String| script.files.iter().any(|file| file.file == ShellWord::Known(made.clone()));
        let all_known = script.files.iter().all(|file| matches!(file.file, ShellWord::Known(_)));
        assert!(!all_known || ran.made.iter().all(opens), "{text:?}: {:?} beside {:?}", ran.made, script.files);
        ran.started.len()
    };
    clear.map(run).sum()
}

#[test]
fn bash_starts_only_programs_that_we_name() {
    let mut dice = Dice::new(6);
    let programs = run(std::iter::repeat_with(|| command(&mut dice)), 300);
    assert!(programs > 200, "only {programs} programs were started");
}

#[test]
fn random_characters_start_only_programs_that_we_name() {
    let mut dice = Dice::new(7);
    let programs = run(std::iter::repeat_with(|| soup(&mut dice)), 300);
    assert!(programs > 100, "only {programs} programs were started");
}

/// The words of a command, if all of them are known.
fn known(text: &str) -> Option<Vec<String>> {
    let script = parse(text);
    let [command] = script.commands.as_slice() else { return None };
    let word = |word: &ShellWord| match word {
        ShellWord::Known(text) => Some(text.clone()),
        ShellWord::Glob(_) | ShellWord::Unknown(_) => None,
    };
    script.unclear.is_empty().then(|| command.args.iter().map(word).collect()).flatten()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests stand outside what they test")]
fn known_words_match_the_expansion_of_bash() {
    let mut dice = Dice::new(8);
    let texts =
        std::iter::repeat_with(|| format!("printf '%s\\0' {}", words(&mut dice))).filter(|text| known(text).is_some());
    let texts: Vec<String> = texts.take(2000).collect();
    // Files that a glob pattern would match, if it were wrongly treated as a plain word.
    let folder = tempfile::tempdir().unwrap();
    ["a", "b", "ab", "c"].iter().for_each(|name| std::fs::write(folder.path().join(name), "").unwrap());
    let script: String = texts.iter().map(|text| format!("{text}\nprintf '\\1'\n")).collect();
    let run = Command::new("/bin/bash").args(["-c", &script]).env_clear().current_dir(folder.path()).output().unwrap();
    let output = String::from_utf8(run.stdout).unwrap();
    assert_eq!(output.matches('\u{1}').count(), texts.len());
    for (text, printed) in texts.iter().zip(output.split('\u{1}')) {
        let expected: String = known(text).unwrap_or_default().iter().skip(1).map(|word| format!("{word}\0")).collect();
        // Without words the format is printed once.
        let printed = if printed == "\0" && expected.is_empty() { "" } else { printed };
        assert_eq!(printed, expected, "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_parsed_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..4096)) {
        parse(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_shell_characters_are_parsed_without_panic(text in "[a-c '\"\\\\$`(){}\\[\\];&|<>#\n~*?!=]{0,400}") {
        parse(&text);
    }
}

#[test]
fn deep_nesting_is_unclear_and_does_not_overflow() {
    for (open, close) in
        [("$(", ")"), ("(", ")"), ("{ ", ";}"), ("\"$(", ")\""), ("${x:-", "}"), ("<(", ")"), ("if ", "")]
    {
        let text = format!("{}true{}", open.repeat(5000), close.repeat(5000));
        assert!(!parse(&text).unclear.is_empty(), "{open}");
    }
}
