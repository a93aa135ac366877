//! What one look at something found.

use serde::Serialize;

use crate::{log, print};

/// One thing that was looked at.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Check {
    /// What it is about, in one word.
    pub(super) topic: &'static str,
    pub(super) status: Status,
    /// What was found.
    pub(super) text: String,
    /// What to do about it; whatever is not right has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

/// How it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Status {
    /// As it should be.
    Ok,
    /// Something works less well than it could, or is ignored.
    Warn,
    /// Something does not work.
    Fail,
}

impl Status {
    pub(super) fn word(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Fail => "fail",
        }
    }
}

impl Check {
    pub(super) fn ok(topic: &'static str, text: impl Into<String>) -> Check {
        Check { topic, status: Status::Ok, text: clean(text), remedy: None }
    }

    pub(super) fn warn(topic: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> Check {
        Check { topic, status: Status::Warn, text: clean(text), remedy: Some(clean(remedy)) }
    }

    pub(super) fn fail(topic: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> Check {
        Check { topic, status: Status::Fail, text: clean(text), remedy: Some(clean(remedy)) }
    }
}

/// A text on one line that drives no terminal and shows no key: names of files and models are others' words.
fn clean(text: impl Into<String>) -> String {
    print::plain(&log::without_secrets(text.into())).replace(['\n', '\t'], " ")
}

/// Everything that was looked at.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    version: &'static str,
    pub(super) ok: usize,
    pub(super) warn: usize,
    pub(super) fail: usize,
    pub(super) checks: Vec<Check>,
}

impl Report {
    pub(super) fn new(checks: Vec<Check>) -> Report {
        let count = |status| checks.iter().filter(|check| check.status == status).count();
        Report {
            version: env!("CARGO_PKG_VERSION"),
            ok: count(Status::Ok),
            warn: count(Status::Warn),
            fail: count(Status::Fail),
            checks,
        }
    }

    pub(super) fn failed(&self) -> bool {
        self.fail > 0
    }
}
