//! The sections of the system message that a client changes, and the client that rewrites some of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use runtime::{SectionEdit, SystemEdits, SystemSection, SystemTextEditor, SystemTextError};
use serde_json::{Map, Value, json};
use tools::BoxFuture;

use super::session_clients::SessionClients;

/// The SDK's names of the sections.
const SECTIONS: [(&str, SystemSection); 12] = [
    ("preamble", SystemSection::Preamble),
    ("identity", SystemSection::Identity),
    ("tone", SystemSection::Tone),
    ("tool_efficiency", SystemSection::ToolEfficiency),
    ("environment_context", SystemSection::EnvironmentContext),
    ("code_change_rules", SystemSection::CodeChangeRules),
    ("guidelines", SystemSection::Guidelines),
    ("safety", SystemSection::Safety),
    ("tool_instructions", SystemSection::ToolInstructions),
    ("custom_instructions", SystemSection::CustomInstructions),
    ("runtime_instructions", SystemSection::RuntimeInstructions),
    ("last_instructions", SystemSection::LastInstructions),
];

/// The changes that a client requests, with texts that follow all sections. Texts for unknown sections follow them too.
pub(crate) fn section_edits(message: &Value, appended: impl Iterator<Item = String>) -> SystemEdits {
    let mut edits = SystemEdits::default();
    let mut texts: Vec<String> = appended.collect();
    for (name, section) in message["sections"].as_object().into_iter().flatten() {
        let content = section["content"].as_str().unwrap_or_default().to_owned();
        let edit = match section["action"].as_str() {
            Some("remove") => SectionEdit::Remove,
            Some("preserve") => SectionEdit::Keep,
            Some("replace") => SectionEdit::Replace(content.clone()),
            Some("append") => SectionEdit::Append(content.clone()),
            Some("prepend") => SectionEdit::Prepend(content.clone()),
            Some("transform") => SectionEdit::Transform,
            Some(_) | None => continue,
        };
        match section_of(name) {
            Some(section) => drop(edits.sections.insert(section, edit)),
            None => texts.push(content),
        }
    }
    texts.push(message["content"].as_str().unwrap_or_default().to_owned());
    texts.retain(|text| !text.trim().is_empty());
    edits.appended = texts.join("\n\n");
    edits
}

/// One line for each change without an effect.
pub(crate) fn ignored_sections(message: &Value) -> impl Iterator<Item = String> {
    let sections = message["sections"].as_object().into_iter().flatten();
    sections.filter_map(|(name, section)| match section["action"].as_str() {
        Some("transform") if section_of(name).is_none() => {
            Some(format!("the system message has no section {name} to transform"))
        }
        Some("remove" | "preserve" | "replace" | "append" | "prepend" | "transform") => None,
        Some(other) => Some(format!("the section {name} stays as it is: `{other}` is not an action")),
        None => Some(format!("the section {name} stays as it is: it has no action")),
    })
}

fn section_of(name: &str) -> Option<SystemSection> {
    SECTIONS.iter().find(|(known, _)| *known == name).map(|(_, section)| *section)
}

fn name_of(section: SystemSection) -> Option<&'static str> {
    SECTIONS.iter().find(|(_, known)| *known == section).map(|(name, _)| *name)
}

/// The client of a session that rewrites sections.
pub(crate) struct ClientSectionEditor {
    /// The session's name for clients.
    session: String,
    clients: Arc<SessionClients>,
}

impl ClientSectionEditor {
    pub(crate) fn new(session: String, clients: Arc<SessionClients>) -> ClientSectionEditor {
        ClientSectionEditor { session, clients }
    }

    async fn ask(
        &self,
        sections: BTreeMap<SystemSection, String>,
    ) -> Result<BTreeMap<SystemSection, String>, SystemTextError> {
        let refused = |why: &str| SystemTextError::NotRewritten(why.to_owned());
        let client = self.clients.newest_with(|capabilities| capabilities.transforms_system_message);
        let client = client
            .ok_or_else(|| refused("the client that rewrites the system message has left; resume the session"))?;
        let named = |(section, content): (SystemSection, String)| {
            Some((name_of(section)?.to_owned(), json!({ "content": content })))
        };
        let named: Map<String, Value> = sections.into_iter().filter_map(named).collect();
        let params = json!({ "sessionId": self.session, "sections": named });
        let answer = client.peer.request("systemMessage.transform", params).await;
        let answer = answer.map_err(|error| SystemTextError::NotRewritten(error.message))?;
        let rewritten =
            answer["sections"].as_object().ok_or_else(|| refused("the client's answer has no `sections`"))?;
        let read =
            |(name, section): (&String, &Value)| Some((section_of(name)?, section["content"].as_str()?.to_owned()));
        Ok(rewritten.iter().filter_map(read).collect())
    }
}

impl fmt::Debug for ClientSectionEditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the client of {}", self.session)
    }
}

impl SystemTextEditor for ClientSectionEditor {
    fn transform(
        &self,
        sections: BTreeMap<SystemSection, String>,
    ) -> BoxFuture<'_, Result<BTreeMap<SystemSection, String>, SystemTextError>> {
        Box::pin(self.ask(sections))
    }
}
