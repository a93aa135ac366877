//! Results of checks.

use protocol::api::{DoctorCheckView, DoctorResult, DoctorStatus};
use serde::Serialize;
use tui::print;

use crate::log;

/// The result of one check.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DoctorCheck {
    /// Its topic, in one word.
    pub(super) topic: &'static str,
    pub(super) status: DoctorStatus,
    /// The finding.
    pub(super) text: String,
    /// How to fix it; every warning and failure has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

impl DoctorCheck {
    pub(super) fn ok(topic: &'static str, text: impl Into<String>) -> DoctorCheck {
        DoctorCheck { topic, status: DoctorStatus::Ok, text: clean_text(text), remedy: None }
    }

    pub(super) fn note(topic: &'static str, text: impl Into<String>) -> DoctorCheck {
        DoctorCheck { status: DoctorStatus::Note, ..DoctorCheck::ok(topic, text) }
    }

    pub(super) fn warn(topic: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> DoctorCheck {
        DoctorCheck { topic, status: DoctorStatus::Warn, text: clean_text(text), remedy: Some(clean_text(remedy)) }
    }

    pub(super) fn fail(topic: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> DoctorCheck {
        DoctorCheck { topic, status: DoctorStatus::Fail, text: clean_text(text), remedy: Some(clean_text(remedy)) }
    }
}

/// Cleans a text: one line, no terminal control characters, no keys. Names of files and models are untrusted.
fn clean_text(text: impl Into<String>) -> String {
    print::sanitize(&log::redact(text.into())).replace(['\n', '\t'], " ")
}

/// The results of all checks.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DoctorReport {
    version: &'static str,
    pub(super) ok: usize,
    pub(super) note: usize,
    pub(super) warn: usize,
    pub(super) fail: usize,
    pub(super) checks: Vec<DoctorCheck>,
}

impl DoctorReport {
    pub(super) fn new(checks: Vec<DoctorCheck>) -> DoctorReport {
        let count = |status| checks.iter().filter(|check| check.status == status).count();
        DoctorReport {
            version: env!("CARGO_PKG_VERSION"),
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
}

impl From<DoctorReport> for DoctorResult {
    fn from(report: DoctorReport) -> DoctorResult {
        DoctorResult {
            version: report.version.to_owned(),
            checks: report.checks.into_iter().map(DoctorCheckView::from).collect(),
        }
    }
}

impl From<DoctorCheck> for DoctorCheckView {
    fn from(DoctorCheck { topic, status, text, remedy }: DoctorCheck) -> DoctorCheckView {
        DoctorCheckView { topic: topic.to_owned(), status, text, remedy }
    }
}
