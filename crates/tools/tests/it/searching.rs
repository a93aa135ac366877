//! `grep` and `glob`.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::time::Duration;

use bosun_tools::ToolLimits;
use serde_json::json;

use crate::fixture::Agent;
use crate::viewing::make_fifo;

fn project() -> Agent {
    let agent = Agent::new();
    agent.put(".gitignore", "target/\n");
    agent.put(".hidden", "needle\n");
    agent.put("target/out.txt", "needle\n");
    agent.put("b/two.rs", "one\nNeedle\nthree\nneedle\n");
    agent.put("a.txt", "needle in a\n");
    agent.put("binary.bin", b"needle\0needle\n");
    agent.put("b/latin.txt", b"caf\xe9 needle\r\n");
    symlink("a.txt", agent.path("link.txt")).unwrap();
    agent
}

#[tokio::test]
async fn matching_lines_come_under_their_file_sorted_by_path() {
    let agent = project();
    let text = agent.done("grep", json!({ "pattern": "needle" })).await;
    assert_eq!(text, "a.txt\n1: needle in a\n\nb/latin.txt\n1: caf\u{fffd} needle\n\nb/two.rs\n4: needle\n");
    let text = agent.done("grep", json!({ "pattern": "NEEDLE$", "ignore_case": true, "path": "b/two.rs" })).await;
    assert_eq!(text, "b/two.rs\n2: Needle\n4: needle\n");
    let text = agent.done("grep", json!({ "pattern": "three", "context": 1, "glob": "*.rs" })).await;
    assert_eq!(text, "b/two.rs\n2- Needle\n3: three\n4- needle\n");
    let text = agent.done("grep", json!({ "pattern": "e", "files_only": true, "glob": "b/**" })).await;
    assert_eq!(text, "b/latin.txt\nb/two.rs\n");
    assert_eq!(agent.done("grep", json!({ "pattern": "absent" })).await, "no matches in 4 files");
    assert_eq!(
        agent.done("grep", json!({ "pattern": "needle", "path": "target" })).await,
        "target/out.txt\n1: needle\n"
    );
    assert_eq!(agent.done("grep", json!({ "pattern": "needle", "glob": ".hidden" })).await, ".hidden\n1: needle\n");
}

#[tokio::test]
async fn results_are_bounded() {
    let agent = Agent::with(ToolLimits { output_bytes: 4096, ..ToolLimits::default() });
    agent.put("many.txt", "needle\n".repeat(10_000));
    let text = agent.done("grep", json!({ "pattern": "needle", "limit": 2 })).await;
    assert!(text.ends_with("2: needle\n[stopped at 2 matches; narrow the search or raise `limit`]\n"), "{text}");
    let text = agent.done("grep", json!({ "pattern": "needle", "limit": 999_999 })).await;
    assert!(text.contains("[stopped at ") && !text.contains("left out"), "{text}");
    agent.put("wide.txt", format!("needle {}", "x".repeat(1 << 20)));
    let text = agent.done("grep", json!({ "pattern": "needle", "path": "wide.txt" })).await;
    assert!(text.len() < 1000 && text.contains("bytes more]"), "{text}");
    for n in 0..300 {
        agent.put(&format!("d/{n:03}"), "");
    }
    let text = agent.done("glob", json!({ "pattern": "*", "path": "d", "limit": 2 })).await;
    assert_eq!(text, "d/000\nd/001\n[stopped at 2 files; narrow the pattern or raise `limit`]\n");
    let text = agent.done("glob", json!({ "pattern": "d/*" })).await;
    assert!(text.contains("d/199\n[stopped at 200 files"), "{text}");
}

#[tokio::test]
async fn invalid_pattern_is_refused_with_its_position() {
    let agent = project();
    let text = agent.refused("grep", json!({ "pattern": "a(b" })).await;
    assert!(text.contains("a(b\n") && text.contains("^") && text.contains("unclosed group"), "{text}");
    agent.done("grep", json!({ "pattern": "(?-u)caf\\xe9" })).await;
    for pattern in ["[", "*", "a{1000}{1000}{1000}", "\n", "\\"] {
        agent.refused("grep", json!({ "pattern": pattern })).await;
    }
    agent.refused("grep", json!({ "pattern": "a", "glob": "[" })).await;
    agent.refused("grep", json!({ "pattern": "a", "path": "missing" })).await;
    agent.refused("grep", json!({ "pattern": "a", "path": ".." })).await;
    agent.refused("glob", json!({ "pattern": "/etc/*" })).await;
    assert_eq!(agent.done("glob", json!({ "pattern": "*.none" })).await, "no files match");
}

#[tokio::test]
async fn files_are_found_by_name() {
    let agent = project();
    assert_eq!(agent.done("glob", json!({ "pattern": "*.txt" })).await, "a.txt\nb/latin.txt\n");
    assert_eq!(agent.done("glob", json!({ "pattern": "b/*" })).await, "b/latin.txt\nb/two.rs\n");
    assert_eq!(agent.done("glob", json!({ "pattern": "*.rs", "path": "b" })).await, "b/two.rs\n");
    assert_eq!(agent.done("glob", json!({ "pattern": ".git*" })).await, ".gitignore\n");
}

#[tokio::test]
async fn searching_never_hangs_or_leaves_the_workspace() {
    let agent = project();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.txt"), "needle").unwrap();
    symlink(outside.path(), agent.path("out")).unwrap();
    symlink(".", agent.path("loop")).unwrap();
    make_fifo(&agent, "pipe").await;
    File::create(agent.path("sparse")).unwrap().set_len(5 << 30).unwrap();
    assert!(!agent.done("grep", json!({ "pattern": "needle" })).await.contains("secret"));
    assert!(!agent.done("glob", json!({ "pattern": "**/*" })).await.contains("secret"));
    agent.refused("grep", json!({ "pattern": "needle", "path": "out" })).await;
}

#[tokio::test]
async fn search_ends_when_cancelled_or_timed_out() {
    let agent = Agent::with(ToolLimits { search_time: Duration::ZERO, ..ToolLimits::default() });
    agent.put("a.txt", "needle");
    assert!(agent.done("grep", json!({ "pattern": "needle" })).await.contains("stopped before the end"));
    let agent = Agent::new();
    agent.put("a.txt", "needle");
    agent.cx.cancel.cancel();
    assert!(agent.done("grep", json!({ "pattern": "needle" })).await.contains("stopped before the end"));
    assert!(agent.done("glob", json!({ "pattern": "*" })).await.contains("stopped before the end"));
}

#[tokio::test]
async fn expensive_pattern_is_refused_early() {
    let agent = project();
    let deep = |depth: usize| format!("{}a{}", "{".repeat(depth), "}".repeat(depth));
    for glob in [deep(300), deep(100_000), "[a-z]".repeat(500_000), "{a,b}".repeat(200_000)] {
        let text = agent.refused("glob", json!({ "pattern": glob })).await;
        assert!(text.contains("glob") && text.len() < 1000, "{text:.2000}");
        agent.refused("grep", json!({ "pattern": "needle", "glob": glob })).await;
    }
    for pattern in ["(\\w{100}){10}".to_owned(), "a|".repeat(1 << 20), "(".repeat(1 << 20)] {
        let text = agent.refused("grep", json!({ "pattern": pattern })).await;
        assert!(text.starts_with("invalid pattern: ") && text.len() < 1000, "{text:.2000}");
    }
}

#[tokio::test]
async fn files_that_could_not_be_searched_are_counted() {
    let agent = Agent::new();
    agent.put("a.txt", "needle\n");
    agent.put("long.txt", format!("{}\nneedle\n", "x".repeat(9 << 20)));
    let text = agent.done("grep", json!({ "pattern": "absent" })).await;
    assert_eq!(text, "no matches in 1 files\n[1 files could not be read completely: long.txt]\n");
    let text = agent.done("grep", json!({ "pattern": "needle" })).await;
    assert_eq!(text, "a.txt\n1: needle\n[1 files could not be read completely: long.txt]\n");
}

/// Small files are searched at once and large ones in parts, with the same results.
#[tokio::test]
async fn small_and_large_files_give_the_same_matches() {
    let line = "an ordinary line\n";
    for lines in [0, 3, 3855, 3856, 20_000] {
        let agent = Agent::new();
        let (before, at) = (line.repeat(lines), lines + 1);
        agent.put("last.txt", format!("{before}needle"));
        agent.put("bom.txt", format!("\u{feff}needle\n{before}"));
        agent.put("invalid.txt", [before.as_bytes(), b"\xe8\xff needle \xe9\n"].concat());
        agent.put("binary.bin", [b"needle\0\n", before.as_bytes(), b"needle\n"].concat());
        let wide: Vec<u8> = format!("\u{feff}{before}needle\n").encode_utf16().flat_map(u16::to_le_bytes).collect();
        agent.put("wide.txt", wide);
        let text = agent.done("grep", json!({ "pattern": "^needle$", "limit": 9 })).await;
        let expected = format!("bom.txt\n1: needle\n\nlast.txt\n{at}: needle\n\nwide.txt\n{at}: needle\n");
        assert_eq!(text, expected, "{lines} lines before");
        let text = agent.done("grep", json!({ "pattern": "(?-u:\\xe9)", "context": 1, "path": "invalid.txt" })).await;
        let around = if lines == 0 { String::new() } else { format!("{lines}- {line}") };
        assert_eq!(text, format!("invalid.txt\n{around}{at}: \u{fffd}\u{fffd} needle \u{fffd}\n"));
        let text = agent.done("grep", json!({ "pattern": "absent" })).await;
        assert_eq!(text, "no matches in 5 files");
    }
}

#[tokio::test]
async fn control_characters_in_file_names_are_escaped() {
    let agent = Agent::new();
    agent.put("a\nb.txt", "needle\n");
    agent.put("\u{1b}[31mred", "needle\n");
    let shown = "\\u{1b}[31mred\na\\nb.txt\n";
    assert_eq!(agent.done("glob", json!({ "pattern": "*" })).await, shown);
    assert_eq!(agent.done("grep", json!({ "pattern": "needle", "files_only": true })).await, shown);
    assert_eq!(agent.done("view", json!({ "path": "." })).await, format!("./ has 2 entries\n{shown}"));
    assert!(agent.done("view", json!({ "path": "a\nb.txt" })).await.contains("needle"));
}

#[tokio::test]
async fn hostile_ignore_file_is_harmless() {
    let deep = format!("{}a{}\n", "{".repeat(100_000), "}".repeat(100_000));
    for name in [".gitignore", ".ignore", "sub/.gitignore", "sub/.ignore", ".git/info/exclude"] {
        let agent = Agent::new();
        agent.put("a.txt", "needle\n");
        agent.put("sub/b.txt", "nothing\n");
        agent.put(name, &deep);
        assert_eq!(agent.done("grep", json!({ "pattern": "needle" })).await, "a.txt\n1: needle\n", "{name}");
    }
    let agent = Agent::new();
    agent.put("a.txt", "needle\n");
    make_fifo(&agent, ".gitignore").await;
    assert_eq!(agent.done("glob", json!({ "pattern": "*.txt" })).await, "a.txt\n");
}
