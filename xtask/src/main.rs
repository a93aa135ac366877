//! `cargo xtask`: the commands for people who work on Bosun.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a development tool that talks to a terminal, runs cargo, and reads its environment"
)]

mod bench;
mod chaos;
mod check;
mod mcp;
mod measure;
mod memory;
mod npm;
mod oracle;
mod picture;
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

  check   checks layers, formatting, lints, and rules without a lint
  test    runs check, then every test
  oracle  installs the Python SDKs that tests compare the wire formats with; `test` does this too
  web     installs Schemathesis and Chromium for tests of the HTTP adapter; `test` does this too
  sdks    installs the SDKs that drive the adapters in tests; `test` does this too
  mcp     installs the conformance suite of MCP, its inspector, SDKs and servers; `test` does this too
  chaos   kills working processes, 200 times or as set by `--runs N`, `--seed S`, `--events`; `--fleet` kills a fleet of 1,000 todos
  bench   measures the release binary and prints Markdown tables
  bench compare BEFORE [AFTER]
          measures two binaries alternately, the release binary as the second unless named
  bench fanout [--workers 1,10,…]
          measures concurrent agents, compared with a program that does only the necessary work
  bench fleet
          measures the cost of a fleet's todo in the kernel and in a whole run
  bench checkouts [--binary PATH]
          measures isolated workers in a repository of 100,000 files, compared with `git worktree add`
  bench adapters [--binary PATH] [--claude PATH] [--copilot PATH]
          measures the response time of programs that use an SDK, compared with an empty adapter and with real agents
  bench growth [--binary PATH]
          measures how the cost of turns, lists, background results, ended agents and searches grows
  bench mcp [BEFORE]
          measures agents that share an MCP server, and sessions without one, also of another binary
  bench sessions [--binary PATH]
          measures what a server keeps of 200 sessions, one after another and at once
  bench watchers [--binary PATH]
          measures a run watched by 0, 32 and 120 HTTP clients
  picture the picture in the README, recorded from a fleet of the demo that is killed and resumed
  schema  rewrites the checked-in JSON Schemas";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["check"] => check::check(),
        ["test"] => test::test(),
        ["oracle"] => oracle::install().map(|place| println!("oracle: {}", place.display())),
        ["web"] => web::install().map(|place| println!("web: {}", place.display())),
        ["sdks"] => sdks::install().map(|place| println!("sdks: {}", place.display())),
        ["mcp"] => mcp::install().map(|place| println!("mcp: {}", place.display())),
        ["chaos", options @ ..] => chaos::chaos(options),
        ["bench"] => bench::bench(),
        ["bench", "compare", before] => bench::compare(before, None),
        ["bench", "compare", before, after] => bench::compare(before, Some(after)),
        ["bench", "fanout"] => bench::fanout(bench::WORKERS),
        ["bench", "fanout", "--workers", workers] => bench::fanout(workers),
        ["bench", "fleet"] => bench::fleet(),
        ["bench", "checkouts"] => bench::checkouts(None),
        ["bench", "checkouts", "--binary", binary] => bench::checkouts(Some(binary)),
        ["bench", "adapters", agents @ ..] => bench::adapters(agents),
        ["bench", "growth"] => bench::growth(None),
        ["bench", "growth", "--binary", binary] => bench::growth(Some(binary)),
        ["bench", "mcp"] => bench::mcp(None),
        ["bench", "mcp", before] => bench::mcp(Some(before)),
        ["bench", "sessions"] => bench::sessions(None),
        ["bench", "sessions", "--binary", binary] => bench::sessions(Some(binary)),
        ["bench", "watchers"] => bench::watchers(None),
        ["bench", "watchers", "--binary", binary] => bench::watchers(Some(binary)),
        ["picture"] => picture::picture(),
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
