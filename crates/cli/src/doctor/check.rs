//! What one look at something found.

use serde::Serialize;

use crate::{log, print};

/// One thing that was looked at.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DoctorCheck {
    /// What it is about, in one word.
    pub(super) topic: &'static str,
    pub(super) status: CheckStatus,
    /// What was found.
    pub(super) text: String,
    /// What to do about it; whatever is not right has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

/// How it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum CheckStatus {
    /// As it should be.
    Ok,
    /// Something works less well than it could, or is ignored.
    Warn,
    /// Something does not work.
    Fail,
}

impl CheckStatus {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            CheckStatus::Ok => "ok",
            CheckStatus::Warn => "warn",
            CheckStatus::Fail => "fail",
        }
    }
}

impl DoctorCheck {
    pub(super) fn ok(topic: &'static str, text: impl Into<String>) -> DoctorCheck {
        DoctorCheck { topic, status: CheckStatus::Ok, text: clean(text), remedy: None }
    }

    pub(super) fn warn(topic: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> DoctorCheck {
        DoctorCheck { topic, status: CheckStatus::Warn, text: clean(text), remedy: Some(clean(remedy)) }
    }

    pub(super) fn fail(topic: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> DoctorCheck {
        DoctorCheck { topic, status: CheckStatus::Fail, text: clean(text), remedy: Some(clean(remedy)) }
    }
}

/// A text on one line that drives no terminal and shows no key: names of files and models are others' words.
fn clean(text: impl Into<String>) -> String {
    print::sanitize(&log::redact(text.into())).replace(['\n', '\t'], " ")
}

/// Everything that was looked at.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DoctorReport {
    version: &'static str,
    pub(super) ok: usize,
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
            warn: count(CheckStatus::Warn),
            fail: count(CheckStatus::Fail),
            checks,
        }
    }

    pub(super) fn has_failures(&self) -> bool {
        self.fail > 0
    }
}
