//! Checks the session host.

use client::HostClient;
use host::Home;
use protocol::api::HostView;
use protocol::text::pluralize;

use super::{DoctorCheck, DoctorContext};

pub(super) async fn checks(context: &DoctorContext) -> Vec<DoctorCheck> {
    let home = context.home.as_ref().and_then(|root| Home::open_as_is(root));
    let Some(home) = home else { return Vec::new() };
    match HostClient::running(&home).await {
        Ok(Some((_client, view))) => vec![describe(&view)],
        Ok(None) => Vec::new(),
        Err(error) => vec![DoctorCheck::fail(
            "host",
            error.to_string(),
            "end it with `bosun serve --stop`, or kill that process: its sessions are resumed by the next one",
        )],
    }
}

fn describe(view: &HostView) -> DoctorCheck {
    let HostView { pid, sessions, not_adopted, url, .. } = view;
    let served = url.as_ref().map_or_else(String::new, |url| format!(", {url}"));
    let text = format!("process {pid} keeps {}{served}", pluralize(sessions.len(), "session"));
    match not_adopted.first() {
        None => DoctorCheck::ok("host", text),
        Some(first) => DoctorCheck::warn(
            "host",
            format!("{text}; {} could not be resumed: {}", pluralize(not_adopted.len(), "session"), first.why),
            format!("bosun --resume {}", first.id),
        ),
    }
}
