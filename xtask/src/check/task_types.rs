//! Only the table of task types may depend on a task's type; other code asks the table. Only one file builds the start
//! of a task.

use crate::sources::{ByteKind, SourceFile, only, shipped, words};

/// The table.
const TABLE: &str = "crates/protocol/src/task_type.rs";

/// The files that may name types: the table, and the registration of executors.
const HOMES: [&str; 2] = [TABLE, "crates/runtime/src/executors/mod.rs"];

/// The file that builds the start of every task.
const SPAWNS: &str = "crates/runtime/src/spawn.rs";

/// A file that names one of these has tasks, so a `kind` in it may be a task's type.
const TASKS: [&str; 4] = ["TaskType", "TaskSpec", "TaskView", "KernelTask"];

/// Every place outside the table that depends on a task's type.
pub(super) fn faults(sources: &[SourceFile]) -> Vec<String> {
    let mut faults = Vec::new();
    for source in shipped(sources) {
        if HOMES.iter().any(|home| source.path == std::path::Path::new(home)) {
            continue;
        }
        let code = only(&source.text, &[ByteKind::Code]);
        let place = |at: usize| format!("{}:{}", source.path.display(), code[..at].matches('\n').count() + 1);
        for (at, what) in named_types(&code).into_iter().chain(compared_kinds(&code)) {
            faults.push(format!("task type: {} {what}: ask the table in {TABLE}", place(at)));
        }
        if source.owner() != "kernel" && source.path != std::path::Path::new(SPAWNS) {
            let built = code.match_indices("TaskSpawn {").map(|(at, _)| at);
            faults.extend(built.map(|at| format!("spawn: {} builds a TaskSpawn: use {SPAWNS}", place(at))));
        }
    }
    faults
}

/// Variants of `TaskType`, and aliases that would hide them.
fn named_types(code: &str) -> Vec<(usize, String)> {
    let found = code.match_indices("TaskType").filter_map(|(at, name)| {
        let rest = &code[at + name.len()..];
        if let Some(path) = rest.strip_prefix("::") {
            let word = words(path).next().filter(|word| path.starts_with(word)).unwrap_or_default();
            let is_variant = word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase);
            return match word {
                "" => Some((at, "imports the types themselves".to_owned())),
                word if is_variant => Some((at, format!("names TaskType::{word}"))),
                _item => None,
            };
        }
        rest.trim_start().starts_with("as ").then(|| (at, "gives TaskType another name".to_owned()))
    });
    found.collect()
}

/// Comparisons of a `kind` with another value than a variant of another enum or a literal.
fn compared_kinds(code: &str) -> Vec<(usize, String)> {
    if !TASKS.iter().any(|name| words(code).any(|word| word == *name)) {
        return Vec::new();
    }
    let operators = ["==", "!="].into_iter().flat_map(|operator| code.match_indices(operator));
    let compared = operators.filter(|(at, operator)| {
        let (left, right) = (last_operand(&code[..*at]), first_operand(&code[at + operator.len()..]));
        let may_be_type = |operand: &str| !operand.is_empty() && !operand.contains("::");
        (is_kind(left) && may_be_type(right)) || (is_kind(right) && may_be_type(left))
    });
    compared.map(|(at, _)| (at, "compares kinds of tasks".to_owned())).collect()
}

fn is_kind(operand: &str) -> bool {
    words(operand).last() == Some("kind")
}

fn is_operand(letter: char) -> bool {
    letter.is_alphanumeric() || "_.*&:".contains(letter)
}

fn last_operand(code: &str) -> &str {
    let code = code.trim_end();
    &code[code.trim_end_matches(is_operand).len()..]
}

fn first_operand(code: &str) -> &str {
    let code = code.trim_start();
    &code[..code.len() - code.trim_start_matches(is_operand).len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_in(path: &str, text: &str) -> Vec<String> {
        faults(&[SourceFile { path: path.into(), text: text.into() }])
    }

    #[test]
    fn code_that_depends_on_a_task_type_is_named() {
        let path = "crates/cli/src/a.rs";
        let fault = |line: u32, what: &str| {
            format!("task type: {path}:{line} {what}: ask the table in crates/protocol/src/task_type.rs")
        };
        let named = fault(2, "names TaskType::Shell");
        for text in [
            "\nif task.kind == TaskType::Shell {}",
            "\nmatch kind { protocol::TaskType::Shell => 1 }",
            "\nmatches!(task.kind, TaskType::Shell)",
            "\nkinds.get(&task) != Some(&TaskType::Shell)",
        ] {
            assert_eq!(faults_in(path, text), [named.as_str()], "{text}");
        }
        let alias = fault(1, "gives TaskType another name");
        assert_eq!(faults_in(path, "use protocol::TaskType as Kind;"), [alias]);
        let imported = fault(1, "imports the types themselves");
        assert_eq!(faults_in(path, "use protocol::TaskType::*;"), [imported.as_str()]);
        assert_eq!(faults_in(path, "use protocol::TaskType::{Main, Shell};"), [imported.as_str()]);
        let compared = fault(2, "compares kinds of tasks");
        for text in ["TaskView\na.kind == b.kind", "TaskView\nwanted != *task.kind"] {
            assert_eq!(faults_in(path, text), [compared.as_str()], "{text}");
        }
        let over_two_lines = "KernelTask\ntask.kind\n    == wanted";
        assert_eq!(faults_in(path, over_two_lines), [fault(3, "compares kinds of tasks")]);
    }

    #[test]
    fn a_start_of_a_task_that_is_built_elsewhere_is_named() {
        let text = "let spawn = TaskSpawn { id, spec };";
        let fault = "spawn: crates/runtime/src/a.rs:1 builds a TaskSpawn: use crates/runtime/src/spawn.rs";
        assert_eq!(faults_in("crates/runtime/src/a.rs", text), [fault]);
        for path in [SPAWNS, "crates/kernel/src/input.rs", "crates/runtime/tests/it/a.rs"] {
            assert_eq!(faults_in(path, text), Vec::<String>::new(), "{path}");
        }
    }

    #[test]
    fn code_that_asks_the_table_and_code_of_tests_is_not_named() {
        let shell = "fn f() { task.kind == TaskType::Shell; a.kind == b.kind }";
        for path in
            HOMES.into_iter().chain(["crates/cli/tests/it/a.rs", "crates/cli/src/live/tests.rs", "xtask/src/a.rs"])
        {
            assert_eq!(faults_in(path, shell), Vec::<String>::new(), "{path}");
        }
        for text in [
            "TaskType::ALL.into_iter().find(|kind| kind.is_root())",
            "// TaskType::Shell\nlet a = \"TaskType::Shell\";",
            "#[cfg(test)]\nmod tests {\n fn f() { TaskType::Shell; if a { b } }\n}\n",
            "TaskView { .. }; *kind == FailKind::Stalled; kind == \"command\"",
            "fault.kind == kind",
        ] {
            assert_eq!(faults_in("crates/cli/src/a.rs", text), Vec::<String>::new(), "{text}");
        }
        let after = "#[cfg(test)]\nmod tests { fn f() { a } }\nfn g() { TaskType::Shell }";
        assert_eq!(faults_in("crates/cli/src/a.rs", after).len(), 1, "code after the tests is shipped");
    }
}
