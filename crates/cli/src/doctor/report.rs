//! The report: as JSON, or one line per check, with the remedy below each warning and failure.

use protocol::api::{DoctorCheckView, DoctorResult, DoctorStatus};
use serde::Serialize;
use tui::print;

/// The results of all checks.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DoctorReport {
    version: String,
    ok: usize,
    note: usize,
    warn: usize,
    fail: usize,
    checks: Vec<DoctorCheckView>,
}

impl DoctorReport {
    pub(super) fn new(DoctorResult { version, checks }: DoctorResult) -> DoctorReport {
        let count = |status| checks.iter().filter(|check| check.status == status).count();
        DoctorReport {
            version,
            ok: count(DoctorStatus::Ok),
            note: count(DoctorStatus::Note),
            warn: count(DoctorStatus::Warn),
            fail: count(DoctorStatus::Fail),
            checks,
        }
    }

    pub(super) fn has_failures(&self) -> bool {
        self.fail > 0
    }

    pub(super) fn print(&self) {
        let DoctorReport { version: _, ok, note, warn, fail, checks } = self;
        let topic_width = checks.iter().map(|check| check.topic.len()).max().unwrap_or(0);
        for check in checks {
            for (number, line) in lines(check, topic_width, print::width()).into_iter().enumerate() {
                print::output(if number == 0 { print::colour_state(&line, print::style()) } else { line });
            }
        }
        let [notes, warnings] = [(note, "note"), (warn, "warning")].map(|(count, noun)| print::pluralize(*count, noun));
        print::note(format_args!("\n{ok} ok, {notes}, {warnings}, {fail} failed"));
    }
}

/// Wraps a check to the terminal width, with an indent.
fn lines(check: &DoctorCheckView, topic_width: usize, width: Option<usize>) -> Vec<String> {
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
        let check = DoctorCheckView {
            topic: "keys".into(),
            status: DoctorStatus::Warn,
            text: "one two three four".into(),
            remedy: Some("set something somewhere".into()),
        };
        assert_eq!(
            lines(&check, 5, None),
            ["warn  keys   one two three four", "             → set something somewhere"]
        );
        let narrow = lines(&check, 5, Some(24));
        assert_eq!(narrow[..2], ["warn  keys   one two", "             three four"]);
        assert!(narrow.iter().all(|line| line.chars().count() <= 24), "{narrow:?}");
    }
}
