//! The text report: one line per check, with the remedy below each warning and failure.

use tui::print;

use super::check::{DoctorCheck, DoctorReport};

pub(super) fn print_report(report: &DoctorReport) {
    let topic_width = report.checks.iter().map(|check| check.topic.len()).max().unwrap_or(0);
    for check in &report.checks {
        for (number, line) in lines(check, topic_width, print::width()).into_iter().enumerate() {
            print::output(if number == 0 { print::colour_state(&line, print::style()) } else { line });
        }
    }
    let DoctorReport { ok, note, warn, fail, .. } = report;
    let [notes, warnings] = [(note, "note"), (warn, "warning")].map(|(count, noun)| print::pluralize(*count, noun));
    print::note(format_args!("\n{ok} ok, {notes}, {warnings}, {fail} failed"));
}

/// Wraps a check to the terminal width, with an indent.
fn lines(check: &DoctorCheck, topic_width: usize, width: Option<usize>) -> Vec<String> {
    let prefix = format!("{:<4}  {:<topic_width$}  ", check.status.as_str(), check.topic);
    let indent = " ".repeat(prefix.len());
    let text_width = width.map(|width| width.saturating_sub(prefix.len()));
    let mut lines = print::wrap(&check.text, text_width);
    if let Some(remedy) = &check.remedy {
        lines.extend(print::wrap(&format!("→ {remedy}"), text_width));
    }
    let with_prefix =
        |(number, line): (usize, String)| if number == 0 { prefix.clone() + &line } else { indent.clone() + &line };
    lines.into_iter().enumerate().map(with_prefix).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_on_a_terminal_but_not_in_a_pipe() {
        let check = DoctorCheck::warn("keys", "one two three four", "set something somewhere");
        assert_eq!(
            lines(&check, 5, None),
            ["warn  keys   one two three four", "             → set something somewhere"]
        );
        let narrow = lines(&check, 5, Some(24));
        assert_eq!(narrow[..2], ["warn  keys   one two", "             three four"]);
        assert!(narrow.iter().all(|line| line.chars().count() <= 24), "{narrow:?}");
    }
}
