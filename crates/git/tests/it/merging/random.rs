//! Random branches: nothing of an accepted one is lost.

use std::collections::BTreeSet;

use git::{Commit, MergePart};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::branches::{Branch, import, write};
use super::kinds::merged_by_hand;
use super::{file, head, queue, take, tree};
use crate::stage::Stage;

const FILES: usize = 3;
const LINES: usize = 12;

/// An edit of one line of one file: replaced, or followed by another.
#[derive(Debug, Clone)]
struct Touch {
    file: usize,
    line: usize,
    instead: bool,
}

fn touches() -> impl Strategy<Value = Vec<Vec<Touch>>> {
    let touch = (0..FILES, 0..LINES, any::<bool>()).prop_map(|(file, line, instead)| Touch { file, line, instead });
    prop::collection::vec(prop::collection::vec(touch, 1..4), 1..8)
}

/// The files of a branch, and the lines that only it has.
fn written(branch: usize, touches: &[Touch]) -> (Vec<Vec<String>>, BTreeSet<(usize, String)>) {
    let mut files: Vec<Vec<String>> = (0..FILES).map(original).collect();
    let mut own = BTreeSet::new();
    let mut touched = BTreeSet::new();
    for touch in touches.iter().filter(|touch| touched.insert((touch.file, touch.line))) {
        let line = format!("branch {branch} at {}", touch.line);
        let at = files[touch.file].iter().position(|known| *known == format!("line {}", touch.line)).unwrap();
        if touch.instead {
            files[touch.file][at] = line.clone();
        } else {
            files[touch.file].insert(at + 1, line.clone());
        }
        own.insert((touch.file, line));
    }
    (files, own)
}

fn original(_file: usize) -> Vec<String> {
    (0..LINES).map(|line| format!("line {line}")).collect()
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

async fn tried(all: Vec<Vec<Touch>>) {
    let stage = Stage::new().await;
    for n in 0..FILES {
        stage.write(&format!("f{n}"), &text(&original(n)));
    }
    stage.git.run_checked(&["add", "-A"], &[]).await.unwrap();
    stage.git.run_checked(&["commit", "-q", "-m", "files"], &[]).await.unwrap();
    let base = head(&stage).await;
    let (mut branches, mut own) = (Vec::new(), Vec::new());
    for (n, touches) in all.iter().enumerate() {
        let (files, lines) = written(n, touches);
        let edits = files.iter().enumerate().map(|(f, lines)| write(&format!("f{f}"), text(lines))).collect();
        branches.push(Branch { name: format!("b{n}"), from: base.clone(), edits });
        own.push(lines);
    }
    let parts = import(&stage, &branches).await;
    let tip = merged(&stage, &base, &parts, &own).await;
    assert_eq!(merged(&stage, &base, &parts, &own).await, tip);
    let (git, _clean) = merged_by_hand(&stage, "hand", &base, &parts).await;
    let hand = super::named(&git, "HEAD").await;
    assert_eq!(tree(&stage.git, &tip).await, tree(&git, &hand).await);
}

async fn merged(stage: &Stage, base: &Commit, parts: &[MergePart], own: &[BTreeSet<(usize, String)>]) -> Commit {
    let mut queue = queue(stage, base).await;
    let mut accepted = BTreeSet::new();
    for (part, own) in parts.iter().zip(own) {
        match take(&mut queue, part).await {
            Ok(_commit) => accepted.extend(own.iter().cloned()),
            Err(files) => assert!(!files.is_empty()),
        }
    }
    for n in 0..FILES {
        let lines = file(&stage.git, queue.tip(), &format!("f{n}")).await;
        let lines: BTreeSet<&str> = lines.lines().collect();
        let mut missing = accepted.iter().filter(|(file, line)| *file == n && !lines.contains(line.as_str()));
        assert_eq!(missing.next(), None);
        let foreign = |line: &&&str| line.starts_with("branch") && !accepted.contains(&(n, (**line).to_string()));
        assert_eq!(lines.iter().find(foreign), None);
    }
    queue.tip().clone()
}

#[test]
fn random_merges_lose_no_lines_and_match_git() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = Config { cases: 8, failure_persistence: None, ..Config::default() };
    let run = |all| {
        runtime.block_on(tried(all));
        Ok(())
    };
    TestRunner::new(config).run(&touches(), run).unwrap();
}
