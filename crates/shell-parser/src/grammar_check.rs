//! Compares our parser's result with tree-sitter's bash grammar.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::UnclearPart;

/// How often the parser may report progress before it is stopped. The longest texts need a few thousand reports.
const MAX_PROGRESS_REPORTS: usize = 50_000;

/// The first part that the grammar parses differently than our parser, which found commands at the positions `starts`.
pub(super) fn disagreements(text: &str, starts: &BTreeSet<usize>) -> Vec<UnclearPart> {
    let Some(tree) = parse(text) else {
        return vec![UnclearPart { part: text.to_owned(), why: "it takes too long to parse".to_owned() }];
    };
    let mut doubts = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if let Some(why) = disagreement(node, starts) {
            let part = text.get(node.byte_range()).unwrap_or_default().chars().take(200).collect();
            doubts.push(UnclearPart { part, why: why.to_owned() });
            return doubts;
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return doubts;
            }
        }
    }
}

fn disagreement(node: Node<'_>, starts: &BTreeSet<usize>) -> Option<&'static str> {
    if node.is_error() || node.is_missing() {
        return Some("it cannot be parsed reliably");
    }
    let command = matches!(node.kind(), "command_name" | "declaration_command" | "unset_command")
        || node.kind() == "[" && node.parent().is_some_and(|parent| parent.kind() == "test_command");
    (command && !starts.contains(&node.start_byte())).then_some("two parsers find different commands in it")
}

fn parse(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let mut reports = 0_usize;
    let mut progress = |_: &ParseState| {
        reports += 1;
        if reports > MAX_PROGRESS_REPORTS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    parser.parse_with_options(&mut |at, _| text.as_bytes().get(at..).unwrap_or_default(), None, Some(options))
}
