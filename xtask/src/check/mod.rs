//! `cargo xtask check`: all checks of the sources that do not run them.

mod layers;
mod longest;
mod names;
mod option_flags;
mod rules;
mod session_owners;
mod task_types;
mod tool_names;
mod typed_errors;

use anyhow::{Result, bail};

use crate::run::{cargo, output, run};
use crate::sources;

/// Checks layers, rules, formatting and lints, cheapest first.
pub(crate) fn check() -> Result<()> {
    println!("check: layers, rules and names");
    let metadata = output(&mut cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
    let packages = layers::read(&metadata)?;
    let sources = sources::all()?;
    let locked = rules::locked(&std::fs::read_to_string("Cargo.lock")?);
    let names = names::faults(&sources, &std::fs::read_to_string("docs/glossary.md")?);
    let task_types = task_types::faults(&sources);
    let tool_names = tool_names::faults(&sources);
    let options = option_flags::faults(&sources);
    let owners = session_owners::faults(&sources);
    let errors = typed_errors::faults(&sources);
    let rules = rules::faults(&packages, &sources);
    let uses = [task_types, tool_names, options, owners, errors].concat();
    report([layers::faults(&packages), rules, locked, names, uses].concat())?;
    println!("check: formatting");
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    println!("check: lints");
    run(&mut cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    longest::show(&sources);
    Ok(())
}

fn report(faults: Vec<String>) -> Result<()> {
    if faults.is_empty() {
        return Ok(());
    }
    bail!("{} broken:\n  {}", if faults.len() == 1 { "a rule is" } else { "rules are" }, faults.join("\n  "))
}
