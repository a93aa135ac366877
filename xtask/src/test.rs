//! `cargo xtask test`: runs the check, then every test.

use std::num::NonZero;
use std::time::Instant;

use anyhow::Result;

use crate::run::{cargo, run, works};
use crate::sources::{self, ByteKind, only};
use crate::{oracle, sdks, web};

/// The test runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TestRunner {
    /// One process per test.
    Nextest,
    /// Included in every toolchain; runs doc tests too.
    Cargo,
}

/// Runs the check and every test.
pub(crate) fn test() -> Result<()> {
    let runner = runner();
    let start = Instant::now();
    crate::check::check()?;
    println!("check: passed in {:.0?}", start.elapsed());
    if runner == TestRunner::Nextest && has_doc_tests()? {
        run(&mut cargo(&["test", "--workspace", "--doc", "--quiet"]))?;
    }
    let threads = test_threads().to_string();
    let mut tests = match runner {
        TestRunner::Nextest => cargo(&["nextest", "run", "--workspace", "--no-fail-fast", "--test-threads", &threads]),
        TestRunner::Cargo => cargo(&["test", "--workspace", "--no-fail-fast"]),
    };
    tests.env(oracle::VARIABLE, oracle::install()?).env(sdks::VARIABLE, sdks::install()?);
    run(tests.env(web::VARIABLE, web::install()?))?;
    println!("test: check and tests passed in {:.0?}", start.elapsed());
    Ok(())
}

/// How many tests run at once: more than there are processors, because many of them wait for a process or a timer.
fn test_threads() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    processors + processors.div_ceil(2)
}

/// Nextest if it is installed or can be installed, else cargo.
fn runner() -> TestRunner {
    if works(&mut cargo(&["nextest", "--version"])) {
        return TestRunner::Nextest;
    }
    println!("test: installing cargo-nextest");
    match run(&mut cargo(&["install", "cargo-nextest", "--locked"])) {
        Ok(()) => TestRunner::Nextest,
        Err(error) => {
            eprintln!("test: {error:#}; `cargo test` runs the tests instead");
            TestRunner::Cargo
        }
    }
}

/// Whether any doc comment has an example; building them all to run none takes a while.
fn has_doc_tests() -> Result<bool> {
    let fence = |source: &sources::SourceFile| {
        only(&source.text, &[ByteKind::Comment]).lines().any(|line| {
            let line = line.trim_start();
            line.starts_with("/// ```") || line.starts_with("//! ```")
        })
    };
    Ok(sources::all()?.iter().any(fence))
}
