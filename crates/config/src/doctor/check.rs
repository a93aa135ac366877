//! Results of checks.

use protocol::api::{DoctorCheckView, DoctorStatus};
use protocol::text::sanitize;
use runtime::Redactor;

/// The result of one check. Its texts may name untrusted files and models.
#[derive(Debug)]
pub(super) struct DoctorCheck {
    /// Its topic, in one word.
    pub(super) topic: &'static str,
    pub(super) status: DoctorStatus,
    /// The finding.
    pub(super) text: String,
    /// How to fix it; every warning and failure has one.
    pub(super) remedy: Option<String>,
}

impl DoctorCheck {
    pub(super) fn ok(topic: &'static str, text: impl Into<String>) -> DoctorCheck {
        DoctorCheck { topic, status: DoctorStatus::Ok, text: text.into(), remedy: None }
    }

    pub(super) fn note(topic: &'static str, text: impl Into<String>) -> DoctorCheck {
        DoctorCheck { status: DoctorStatus::Note, ..DoctorCheck::ok(topic, text) }
    }

    pub(super) fn warn(topic: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> DoctorCheck {
        DoctorCheck { topic, status: DoctorStatus::Warn, text: text.into(), remedy: Some(remedy.into()) }
    }

    pub(super) fn fail(topic: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> DoctorCheck {
        DoctorCheck { topic, status: DoctorStatus::Fail, text: text.into(), remedy: Some(remedy.into()) }
    }

    /// The check as clients see it: each text is one line, without terminal control characters and keys.
    pub(super) fn view(self, redactor: &Redactor) -> DoctorCheckView {
        let clean = |mut text: String| {
            redactor.redact_text(&mut text);
            sanitize(&text).replace(['\n', '\t'], " ")
        };
        let DoctorCheck { topic, status, text, remedy } = self;
        DoctorCheckView { topic: topic.to_owned(), status, text: clean(text), remedy: remedy.map(clean) }
    }
}
