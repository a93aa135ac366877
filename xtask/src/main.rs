//! `cargo xtask`: the one front adapter for people who work on Bosun.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a development tool that talks to a terminal, runs cargo, and reads its environment"
)]

mod bench;
mod chaos;
mod check;
mod measure;
mod memory;
mod oracle;
mod run;
mod schema;
mod sdks;
mod sources;
mod stamp;
mod test;
mod venv;
mod web;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  check   layers, formatting, lints, and the rules that no lint knows
  test    check, then every test
  oracle  the Python SDKs that tests compare the wires with, which `test` installs too
  web     Schemathesis and Chromium, which try the HTTP adapter, and which `test` installs too
  sdks    the SDKs that drive the adapters in tests, which `test` installs too
  chaos   kills the command at work, 200 times or as `--runs N`, `--seed S`, `--events` say; `--fleet` kills a fleet of 1,000 todos
  bench   what the release binary needs, as a Markdown table
  bench fanout [--workers 1,10,…]
          what so many agents at once need, against a program that does only what they must
  bench fleet
          what a todo of a fleet takes in the kernel, and in a whole run
  bench checkouts [--binary PATH]
          what isolated workers take in a repository of 100,000 files, against `git worktree add`
  bench adapters
          how soon programs that use an SDK are answered, against an adapter with nothing behind it
  bench growth [--binary PATH]
          what turns, lists, background results, ended agents and searches take as they become many
  bench watchers [--binary PATH]
          what a run costs that 0, 32 and 120 clients watch over HTTP
  schema  writes the checked-in JSON Schemas anew";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["check"] => check::check(),
        ["test"] => test::test(),
        ["oracle"] => oracle::install().map(|place| println!("oracle: {}", place.display())),
        ["web"] => web::install().map(|place| println!("web: {}", place.display())),
        ["sdks"] => sdks::install().map(|place| println!("sdks: {}", place.display())),
        ["chaos", options @ ..] => chaos::chaos(options),
        ["bench"] => bench::bench(),
        ["bench", "fanout"] => bench::fanout(bench::WORKERS),
        ["bench", "fanout", "--workers", workers] => bench::fanout(workers),
        ["bench", "fleet"] => bench::fleet(),
        ["bench", "checkouts"] => bench::checkouts(None),
        ["bench", "checkouts", "--binary", binary] => bench::checkouts(Some(binary)),
        ["bench", "adapters"] => bench::adapters(),
        ["bench", "growth"] => bench::growth(None),
        ["bench", "growth", "--binary", binary] => bench::growth(Some(binary)),
        ["bench", "watchers"] => bench::watchers(None),
        ["bench", "watchers", "--binary", binary] => bench::watchers(Some(binary)),
        ["schema"] => schema::schema(),
        [measure::ONCE, program, rest @ ..] => measure::once(program, rest),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
