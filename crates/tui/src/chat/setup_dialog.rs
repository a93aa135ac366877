//! Asks the questions before the first conversation.

use super::draft::InputDraft;
use super::editor::EditorAction;
use super::history::InputHistory;
use super::key::KeyPress;
use super::panel::Panel;
use super::setup_questions::{InputEcho, SetupAnswerResult, SetupAnswers, SetupQuestions};
use super::terminal::{ChatTerminal, TerminalEvent};
use super::text::{LinePrefix, StyledSpan, wrap};
use crate::style::TextRole;
use crate::terminal_settings::{TerminalError, TerminalSettings};

/// Asks the questions in turn; returns none if the user leaves.
pub async fn ask_questions(
    settings: TerminalSettings,
    mut questions: SetupQuestions,
) -> Result<Option<SetupAnswers>, TerminalError> {
    let mut terminal = ChatTerminal::open(settings, InputHistory::disabled())?;
    show_lines(&mut terminal, &questions.question_lines(), TextRole::Plain);
    loop {
        draw_question(&mut terminal, &questions);
        match terminal.next().await {
            TerminalEvent::Key(KeyPress::Escape) | TerminalEvent::Closed | TerminalEvent::Signal(_) => return Ok(None),
            TerminalEvent::Key(key) => match terminal.editor.press(key) {
                EditorAction::Submitted(line) => {
                    if let Some(answers) = take_answer(&mut terminal, &mut questions, &line) {
                        return Ok(Some(answers));
                    }
                }
                EditorAction::Interrupt | EditorAction::Leave => return Ok(None),
                EditorAction::Redraw => terminal.screen.clear(),
                EditorAction::Edited | EditorAction::Complete | EditorAction::Expand | EditorAction::TooLong => {}
            },
            TerminalEvent::Resized => terminal.screen.resize(),
            TerminalEvent::Continued => terminal.screen.take_over(),
        }
        if terminal.screen.is_closed() {
            return Ok(None);
        }
    }
}

/// Takes an answer, and shows the next question or the problem.
fn take_answer(terminal: &mut ChatTerminal, questions: &mut SetupQuestions, line: &str) -> Option<SetupAnswers> {
    let shown = if questions.echo() == InputEcho::Hidden { "" } else { line };
    show_lines(terminal, &[format!("{}{shown}", questions.prompt())], TextRole::Dim);
    match questions.answer(line) {
        SetupAnswerResult::Next => show_lines(terminal, &questions.question_lines(), TextRole::Plain),
        SetupAnswerResult::Unclear(problem) => show_lines(terminal, &[problem], TextRole::Bad),
        SetupAnswerResult::Done(answers) => return Some(answers),
    }
    None
}

fn show_lines(terminal: &mut ChatTerminal, lines: &[String], role: TextRole) {
    let columns = terminal.screen.columns();
    let rows: Vec<_> =
        lines.iter().flat_map(|line| wrap(&[StyledSpan::new(role, line)], columns, &LinePrefix::default())).collect();
    terminal.screen.show(rows);
}

fn draw_question(terminal: &mut ChatTerminal, questions: &SetupQuestions) {
    let prompt = questions.prompt();
    let typed = terminal.editor.draft();
    let masked = InputDraft::new(&"•".repeat(typed.text().chars().count()));
    let draft = if questions.echo() == InputEcho::Hidden { &masked } else { typed };
    let layout = Panel { tail: Vec::new(), notes: Vec::new(), prompt: &prompt, draft }.layout(terminal.screen.size());
    terminal.screen.draw(&layout, Some(&prompt));
}
