//! The text report: one line per check, with the remedy below each warning and failure.

use super::check::{DoctorCheck, DoctorReport};
use crate::print;

pub(super) fn print_report(report: &DoctorReport) {
    let topics = report.checks.iter().map(|check| check.topic.len()).max().unwrap_or(0);
    for check in &report.checks {
        for (number, line) in lines(check, topics, print::width()).into_iter().enumerate() {
            print::output(if number == 0 { print::coloured(&line, print::style()) } else { line });
        }
    }
    let DoctorReport { ok, warn, fail, .. } = report;
    print::note(format_args!("\n{ok} ok, {warn} warnings, {fail} failed"));
}

/// Wraps a check to the terminal width, with an indent.
fn lines(check: &DoctorCheck, topics: usize, width: Option<usize>) -> Vec<String> {
    let head = format!("{:<4}  {:<topics$}  ", check.status.as_str(), check.topic);
    let indent = " ".repeat(head.len());
    let room = width.map(|width| width.saturating_sub(head.len()));
    let mut lines = print::wrap(&check.text, room);
    if let Some(remedy) = &check.remedy {
        lines.extend(print::wrap(&format!("→ {remedy}"), room));
    }
    let with_head =
        |(number, line): (usize, String)| if number == 0 { head.clone() + &line } else { indent.clone() + &line };
    lines.into_iter().enumerate().map(with_head).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_wrap_below_themselves_on_a_terminal_and_never_in_a_pipe() {
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
