//! `cargo xtask test`: runs the check, then every test.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::time::Instant;

use anyhow::Result;

use crate::run::{cargo, run, works};
use crate::sources::{self, ByteKind, SourceFile, only};
use crate::{mcp, oracle, sdks, web};

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
    if runner == TestRunner::Nextest {
        for package in packages_with_doc_tests(&sources::all()?) {
            run(&mut cargo(&["test", "--package", &package, "--doc", "--quiet"]))?;
        }
    }
    let threads = test_threads().to_string();
    let mut tests = match runner {
        TestRunner::Nextest => cargo(&["nextest", "run", "--workspace", "--no-fail-fast", "--test-threads", &threads]),
        TestRunner::Cargo => cargo(&["test", "--workspace", "--no-fail-fast"]),
    };
    tests.env(oracle::VARIABLE, oracle::install()?).env(sdks::VARIABLE, sdks::install()?);
    run(tests.env(web::VARIABLE, web::install()?).env(mcp::VARIABLE, mcp::install()?))?;
    println!("test: check and tests passed in {:.0?}", start.elapsed());
    Ok(())
}

/// How many tests run at once: two per processor, because many of them wait for a process or a timer.
fn test_threads() -> usize {
    2 * std::thread::available_parallelism().map_or(1, NonZero::get)
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

/// The packages with examples in doc comments. Building the examples of every crate to run none takes a minute.
fn packages_with_doc_tests(sources: &[SourceFile]) -> BTreeSet<String> {
    let has_example = |source: &&SourceFile| {
        let comments = only(&source.text, &[ByteKind::Comment]);
        let fences = comments.lines().filter_map(|line| {
            let line = line.trim_start();
            line.strip_prefix("/// ```").or_else(|| line.strip_prefix("//! ```"))
        });
        // Every second fence closes a block.
        fences.step_by(2).any(|language| language != "text")
    };
    sources.iter().filter(has_example).map(|source| format!("bosun-{}", source.owner())).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn only_packages_with_examples_in_doc_comments_are_named() {
        let source = |path: &str, text: &str| SourceFile { path: PathBuf::from(path), text: text.to_owned() };
        let named = packages_with_doc_tests(&[
            source("crates/host/src/lib.rs", "//! ```text\n//! a ─ b\n//! ```\n"),
            source(
                "crates/sdk/src/lib.rs",
                "/// ```text\n/// a\n/// ```\n/// ```\n/// let a = 1;\n/// ```\nfn a() {}\n",
            ),
            source("crates/cli/src/main.rs", "const TEXT: &str = \"\n/// ```\n\";\n"),
        ]);
        assert_eq!(named.into_iter().collect::<Vec<_>>(), ["bosun-sdk"]);
    }
}
