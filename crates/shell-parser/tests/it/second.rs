//! A second opinion on which programs a text names: brush's parser.

use std::collections::BTreeSet;

use brush_parser::ast::{
    AndOr, AndOrList, AssignmentValue, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList,
    ExtendedTestExpr, IoFileRedirectTarget, IoRedirect, Pipeline, RedirectList, SimpleCommand, Word,
};
use brush_parser::word::{self, ParameterExpr, WordPiece, WordPieceWithSource};
use brush_parser::{Parser, ParserOptions};

/// The names of the programs in a text, as far as they are plain; nothing where the parser refuses the text.
pub(crate) fn names(text: &str) -> Option<BTreeSet<String>> {
    let mut names = Names::default();
    names.text(text).then_some(names.found)
}

#[derive(Default)]
struct Names {
    found: BTreeSet<String>,
}

impl Names {
    fn text(&mut self, text: &str) -> bool {
        let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
        let Ok(program) = Parser::new(text.as_bytes(), &options).parse_program() else { return false };
        program.complete_commands.iter().for_each(|list| self.list(list));
        true
    }

    fn list(&mut self, list: &CompoundList) {
        list.0.iter().for_each(|item| self.and_or(&item.0));
    }

    fn and_or(&mut self, list: &AndOrList) {
        self.pipeline(&list.first);
        for further in &list.additional {
            let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = further;
            self.pipeline(pipeline);
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        pipeline.seq.iter().for_each(|command| self.command(command));
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.compound(compound);
                self.redirects(redirects.as_ref());
            }
            Command::Function(function) => {
                self.compound(&function.body.0);
                self.redirects(function.body.1.as_ref());
            }
            Command::ExtendedTest(test, redirects) => {
                self.test(&test.expr);
                self.redirects(redirects.as_ref());
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::Arithmetic(_) | CompoundCommand::ArithmeticForClause(_) => {}
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(shell) => self.list(&shell.list),
            CompoundCommand::ForClause(each) => {
                each.values.iter().flatten().for_each(|word| self.word(word));
                self.list(&each.body.list);
            }
            CompoundCommand::CaseClause(case) => {
                self.word(&case.value);
                for item in &case.cases {
                    item.patterns.iter().for_each(|word| self.word(word));
                    item.cmd.iter().for_each(|list| self.list(list));
                }
            }
            CompoundCommand::IfClause(branch) => {
                self.list(&branch.condition);
                self.list(&branch.then);
                for other in branch.elses.iter().flatten() {
                    other.condition.iter().for_each(|list| self.list(list));
                    self.list(&other.body);
                }
            }
            CompoundCommand::WhileClause(repeat) | CompoundCommand::UntilClause(repeat) => {
                self.list(&repeat.0);
                self.list(&repeat.1.list);
            }
            CompoundCommand::Coprocess(coprocess) => self.command(&coprocess.body),
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr) {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(_, word) => self.word(word),
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.word(left);
                self.word(right);
            }
        }
    }

    fn simple(&mut self, simple: &SimpleCommand) {
        simple.prefix.iter().flat_map(|prefix| &prefix.0).for_each(|item| self.item(item));
        if let Some(name) = &simple.word_or_name {
            self.word(name);
            self.found.extend(plain(&name.value));
        }
        simple.suffix.iter().flat_map(|suffix| &suffix.0).for_each(|item| self.item(item));
    }

    fn item(&mut self, item: &CommandPrefixOrSuffixItem) {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect),
            CommandPrefixOrSuffixItem::Word(word) => self.word(word),
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => match &assignment.value {
                AssignmentValue::Scalar(word) => self.word(word),
                AssignmentValue::Array(items) => items.iter().for_each(|(_, word)| self.word(word)),
            },
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, shell) => self.list(&shell.list),
        }
    }

    fn redirects(&mut self, redirects: Option<&RedirectList>) {
        redirects.iter().flat_map(|list| &list.0).for_each(|redirect| self.redirect(redirect));
    }

    fn redirect(&mut self, redirect: &IoRedirect) {
        match redirect {
            IoRedirect::File(_, _, IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word)) => {
                self.word(word)
            }
            IoRedirect::File(_, _, IoFileRedirectTarget::ProcessSubstitution(_, shell)) => self.list(&shell.list),
            IoRedirect::File(_, _, IoFileRedirectTarget::Fd(_)) => {}
            IoRedirect::HereDocument(_, document) if document.requires_expansion => {
                let pieces = word::parse_heredoc(&document.doc.value, &ParserOptions::default());
                self.pieces(&pieces.unwrap_or_default());
            }
            IoRedirect::HereDocument(..) => {}
            IoRedirect::HereString(_, word) | IoRedirect::OutputAndError(word, _) => self.word(word),
        }
    }

    fn word(&mut self, word: &Word) {
        self.word_text(&word.value);
    }

    fn word_text(&mut self, text: &str) {
        let pieces = word::parse(text, &ParserOptions::default()).unwrap_or_default();
        self.pieces(&pieces);
    }

    fn pieces(&mut self, pieces: &[WordPieceWithSource]) {
        for piece in pieces {
            match &piece.piece {
                WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                    self.pieces(inner)
                }
                WordPiece::CommandSubstitution(text) | WordPiece::BackquotedCommandSubstitution(text) => {
                    self.text(text);
                }
                WordPiece::ParameterExpansion(expansion) => self.parameter(expansion),
                WordPiece::Text(_)
                | WordPiece::SingleQuotedText(_)
                | WordPiece::AnsiCQuotedText(_)
                | WordPiece::TildeExpansion(_)
                | WordPiece::EscapeSequence(_)
                | WordPiece::ArithmeticExpression(_) => {}
            }
        }
    }

    fn parameter(&mut self, expansion: &ParameterExpr) {
        match expansion {
            ParameterExpr::UseDefaultValues { default_value: Some(text), .. }
            | ParameterExpr::UseAlternativeValue { alternative_value: Some(text), .. }
            | ParameterExpr::RemoveSmallestSuffixPattern { pattern: Some(text), .. }
            | ParameterExpr::RemoveLargestPrefixPattern { pattern: Some(text), .. } => self.word_text(text),
            _ => {}
        }
    }
}

/// The text of a word without expansions, quotes removed.
fn plain(text: &str) -> Option<String> {
    let pieces = word::parse(text, &ParserOptions::default()).ok()?;
    pieces.iter().map(|piece| literal(&piece.piece)).collect()
}

fn literal(piece: &WordPiece) -> Option<String> {
    match piece {
        WordPiece::Text(text) if text.contains(['*', '?', '[', '{', '~']) => None,
        WordPiece::Text(text) | WordPiece::SingleQuotedText(text) => Some(text.clone()),
        WordPiece::EscapeSequence(text) => Some(text.strip_prefix('\\').unwrap_or(text).to_owned()),
        WordPiece::DoubleQuotedSequence(inner) => inner.iter().map(|piece| literal(&piece.piece)).collect(),
        WordPiece::AnsiCQuotedText(_)
        | WordPiece::GettextDoubleQuotedSequence(_)
        | WordPiece::TildeExpansion(_)
        | WordPiece::ParameterExpansion(_)
        | WordPiece::CommandSubstitution(_)
        | WordPiece::BackquotedCommandSubstitution(_)
        | WordPiece::ArithmeticExpression(_) => None,
    }
}
