//! Results of checks.

use serde::Serialize;

use crate::{log, print};

/// The result of one check.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DoctorCheck {
    /// Its topic, in one word.
    pub(super) topic: &'static str,
    pub(super) status: CheckStatus,
    /// The finding.
    pub(super) text: String,
    /// How to fix it; every warning and failure has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

/// Status of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum CheckStatus {
    /// No problem.
    Ok,
    /// Neither good nor bad: something is absent that nothing needs.
    Note,
    /// Something works less well than it could, or is ignored.
    Warn,
    /// Something does not work.
    Fail,
}

impl CheckStatus {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            CheckStatus::Ok => "ok",
            CheckStatus::Note => "note",
            CheckStatus::Warn => "warn",
            CheckStatus::Fail => "fail",
        }
    }
}

impl DoctorCheck {
    pub(super) fn ok(topic: &'static str, text: impl Into<String>) -> DoctorCheck {
        DoctorCheck { topic, status: CheckStatus::Ok, text: clean_text(text), remedy: None }
    }

    pub(super) fn note(topic: &'static str, text: impl Into<String>) -> DoctorCheck {
        DoctorCheck { status: CheckStatus::Note, ..DoctorCheck::ok(topic, text) }
    }

    pub(super) fn warn(topic: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> DoctorCheck {
        DoctorCheck { topic, status: CheckStatus::Warn, text: clean_text(text), remedy: Some(clean_text(remedy)) }
    }

    pub(super) fn fail(topic: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> DoctorCheck {
        DoctorCheck { topic, status: CheckStatus::Fail, text: clean_text(text), remedy: Some(clean_text(remedy)) }
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
            ok: count(CheckStatus::Ok),
            note: count(CheckStatus::Note),
            warn: count(CheckStatus::Warn),
            fail: count(CheckStatus::Fail),
            checks,
        }
    }

    pub(super) fn has_failures(&self) -> bool {
        self.fail > 0
    }
}
