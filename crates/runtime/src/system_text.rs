//! The root's system prompt as a program changes it: as a whole, or section by section.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use tools::BoxFuture;

/// How the program changes the root's system prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SystemText {
    /// The built-in text.
    #[default]
    BuiltIn,
    /// The built-in text, followed by this one.
    Appended(String),
    /// Exactly this text instead of the built-in one.
    Replaced(String),
    /// The built-in text with changed sections.
    Customized(SystemEdits),
}

/// Changes of sections, and a text that follows all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SystemEdits {
    /// The change of each section; the others stay as they are.
    pub sections: BTreeMap<SystemSection, SectionEdit>,
    /// The text after the last section.
    pub appended: String,
}

/// A section of the root's system prompt. Some are empty unless a program fills them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SystemSection {
    /// What the agent is.
    Preamble,
    /// The preamble with the sections on how the agent speaks and uses tools.
    Identity,
    /// How files are changed.
    CodeChangeRules,
    /// How tools are used well.
    ToolEfficiency,
    /// What the agent must not do or follow.
    Safety,
    /// Habits for longer work.
    Guidelines,
    /// How answers are written.
    Tone,
    /// Texts for features that are enabled.
    LastInstructions,
    /// How single tools are used.
    ToolInstructions,
    /// The text of the root's own agent definition.
    RuntimeInstructions,
    /// The folder in which the agent works.
    EnvironmentContext,
    /// The instruction files.
    CustomInstructions,
}

impl SystemSection {
    /// The sections that form the identity.
    const IDENTITY: [SystemSection; 3] = [SystemSection::Preamble, SystemSection::ToolEfficiency, SystemSection::Tone];
}

/// The change of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SectionEdit {
    /// It is left out.
    Remove,
    /// It stays even if its group is left out.
    Keep,
    /// This text is there instead.
    Replace(String),
    /// This text precedes it.
    Prepend(String),
    /// This text follows it.
    Append(String),
    /// The program rewrites it when an agent is about to use it.
    Transform,
}

/// Why sections were not rewritten.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SystemTextError {
    /// The program that did it is gone.
    #[error("no program rewrites the system prompt")]
    NoEditor,
    /// The program did not do it.
    #[error("{0}")]
    NotRewritten(String),
}

/// The program that rewrites sections.
pub trait SystemTextEditor: Send + Sync + fmt::Debug {
    /// Rewrites these sections.
    fn transform(
        &self,
        sections: BTreeMap<SystemSection, String>,
    ) -> BoxFuture<'_, Result<BTreeMap<SystemSection, String>, SystemTextError>>;
}

/// The sections of a system prompt, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SystemSections(pub(crate) Vec<(SystemSection, String)>);

impl SystemSections {
    /// The whole text.
    pub(crate) fn into_text(self) -> String {
        self.0.into_iter().map(|(_, text)| text).collect()
    }

    fn text_of(&self, section: SystemSection) -> String {
        let has_section = |known: SystemSection| match section {
            SystemSection::Identity => SystemSection::IDENTITY.contains(&known),
            single => single == known,
        };
        self.0.iter().filter(|(known, _)| has_section(*known)).map(|(_, text)| text.as_str()).collect()
    }

    /// Replaces a section. The text of a group takes the place of its first member.
    fn replace(&mut self, section: SystemSection, text: String) {
        let members = match section {
            SystemSection::Identity => SystemSection::IDENTITY.to_vec(),
            single => vec![single],
        };
        let mut text = Some(text);
        for (_, old) in self.0.iter_mut().filter(|(known, _)| members.contains(known)) {
            *old = text.take().unwrap_or_default();
        }
    }

    /// Leaves out the sections of a group but for those that are kept.
    fn remove_group(&mut self, is_kept: impl Fn(SystemSection) -> bool) {
        let is_member = |section: SystemSection| SystemSection::IDENTITY.contains(&section) && !is_kept(section);
        self.0.iter_mut().filter(|(known, _)| is_member(*known)).for_each(|(_, text)| text.clear());
    }
}

/// The sections that the program has rewritten, by their original texts.
#[derive(Debug, Default)]
pub(crate) struct TransformedSections(Mutex<BTreeMap<(SystemSection, String), String>>);

impl TransformedSections {
    fn get(&self, section: SystemSection, original: &str) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(section, original.to_owned())).cloned()
    }

    fn insert(&self, section: SystemSection, original: String, result: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((section, original), result);
    }
}

impl SystemText {
    /// Applies the change to the built-in sections.
    pub(crate) fn apply(&self, built_in: SystemSections, transformed: &TransformedSections) -> String {
        match self {
            SystemText::BuiltIn => built_in.into_text(),
            SystemText::Appended(text) => format!("{}\n{}\n", built_in.into_text(), text.trim()),
            SystemText::Replaced(text) => text.clone(),
            SystemText::Customized(edits) => {
                let mut sections = built_in;
                edits.apply(&mut sections, |section, text| transformed.get(section, text));
                let text = sections.into_text();
                match edits.appended.trim() {
                    "" => text,
                    appended => format!("{text}\n{appended}\n"),
                }
            }
        }
    }

    /// Has the program rewrite the sections that it wants to, unless it has done so; returns whether any is new.
    pub(crate) async fn transform(
        &self,
        built_in: &SystemSections,
        editor: Option<&dyn SystemTextEditor>,
        transformed: &TransformedSections,
    ) -> Result<bool, SystemTextError> {
        let SystemText::Customized(edits) = self else { return Ok(false) };
        let mut is_new = false;
        loop {
            let missing = edits.untransformed(built_in.clone(), transformed);
            if missing.is_empty() {
                return Ok(is_new);
            }
            let editor = editor.ok_or(SystemTextError::NoEditor)?;
            let mut results = editor.transform(missing.clone()).await?;
            for (section, original) in missing {
                // A section that the program leaves out stays as it is.
                let result = results.remove(&section).unwrap_or_else(|| original.clone());
                transformed.insert(section, original, result);
            }
            is_new = true;
        }
    }
}

impl SystemEdits {
    /// The sections that the program must rewrite next. A group contains what its members have become, so they are
    /// first.
    fn untransformed(
        &self,
        mut sections: SystemSections,
        transformed: &TransformedSections,
    ) -> BTreeMap<SystemSection, String> {
        let mut missing = BTreeMap::new();
        self.apply(&mut sections, |section, text| {
            let known = transformed.get(section, text);
            if known.is_none() {
                missing.insert(section, text.to_owned());
            }
            known
        });
        if missing.len() > 1 {
            missing.remove(&SystemSection::Identity);
        }
        missing
    }

    /// Applies all changes, those of groups last. A section that is not transformed yet stays as it is.
    fn apply(&self, sections: &mut SystemSections, mut transformed: impl FnMut(SystemSection, &str) -> Option<String>) {
        let (groups, single): (Vec<_>, Vec<_>) =
            self.sections.iter().partition(|(section, _)| **section == SystemSection::Identity);
        for (section, edit) in single.into_iter().chain(groups) {
            let original = sections.text_of(*section);
            let changed = match edit {
                SectionEdit::Keep => continue,
                SectionEdit::Remove if *section == SystemSection::Identity => {
                    sections.remove_group(|section| self.sections.get(&section) == Some(&SectionEdit::Keep));
                    continue;
                }
                SectionEdit::Remove => String::new(),
                SectionEdit::Replace(text) => paragraph(text),
                SectionEdit::Prepend(text) => format!("{}{}", paragraph(text), original.trim_start_matches('\n')),
                SectionEdit::Append(text) => format!("{}{}", ended(&original), paragraph(text)),
                SectionEdit::Transform => match transformed(*section, &original) {
                    Some(text) => ended(&text),
                    None => continue,
                },
            };
            sections.replace(*section, changed);
        }
    }
}

/// A text on lines of its own.
fn paragraph(text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        text => format!("\n{text}\n"),
    }
}

/// A text that ends with a line break, unless it is empty.
fn ended(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built_in() -> SystemSections {
        let section = |section, text: &str| (section, text.to_owned());
        SystemSections(vec![
            section(SystemSection::Preamble, "You are a tester.\n"),
            section(SystemSection::Safety, "- Be safe.\n"),
            section(SystemSection::Tone, "- Be brief.\n"),
            section(SystemSection::ToolInstructions, ""),
        ])
    }

    fn customized(sections: impl IntoIterator<Item = (SystemSection, SectionEdit)>) -> SystemText {
        SystemText::Customized(SystemEdits { sections: sections.into_iter().collect(), appended: " Be kind. ".into() })
    }

    #[test]
    fn sections_are_changed_one_by_one_and_groups_as_a_whole() {
        let apply = |text: &SystemText| text.apply(built_in(), &TransformedSections::default());
        let changed = customized([
            (SystemSection::Safety, SectionEdit::Remove),
            (SystemSection::Tone, SectionEdit::Append("Sing.".into())),
            (SystemSection::Preamble, SectionEdit::Prepend("Hello.".into())),
            (SystemSection::ToolInstructions, SectionEdit::Replace("Use tools.".into())),
        ]);
        assert_eq!(apply(&changed), "\nHello.\nYou are a tester.\n- Be brief.\n\nSing.\n\nUse tools.\n\nBe kind.\n");
        let replaced = customized([(SystemSection::Identity, SectionEdit::Replace("You are a bird.".into()))]);
        assert_eq!(apply(&replaced), "\nYou are a bird.\n- Be safe.\n\nBe kind.\n");
        let kept =
            customized([(SystemSection::Identity, SectionEdit::Remove), (SystemSection::Tone, SectionEdit::Keep)]);
        assert_eq!(apply(&kept), "- Be safe.\n- Be brief.\n\nBe kind.\n");
        assert_eq!(apply(&SystemText::BuiltIn), built_in().into_text());
    }

    /// Puts a section into brackets.
    #[derive(Debug)]
    struct BracketEditor;

    impl SystemTextEditor for BracketEditor {
        fn transform(
            &self,
            sections: BTreeMap<SystemSection, String>,
        ) -> BoxFuture<'_, Result<BTreeMap<SystemSection, String>, SystemTextError>> {
            let bracketed = sections.into_iter().map(|(section, text)| (section, format!("[{}]", text.trim())));
            let bracketed = bracketed.collect();
            Box::pin(async { Ok(bracketed) })
        }
    }

    #[tokio::test]
    async fn a_program_rewrites_each_section_once_and_groups_last() {
        let text = customized([
            (SystemSection::Tone, SectionEdit::Transform),
            (SystemSection::Identity, SectionEdit::Transform),
        ]);
        let transformed = TransformedSections::default();
        assert!(text.transform(&built_in(), None, &transformed).await.is_err());
        assert_eq!(text.transform(&built_in(), Some(&BracketEditor), &transformed).await, Ok(true));
        assert_eq!(
            text.apply(built_in(), &transformed),
            "[You are a tester.\n[- Be brief.]]\n- Be safe.\n\nBe kind.\n"
        );
        assert_eq!(text.transform(&built_in(), None, &transformed).await, Ok(false), "nothing is left to rewrite");
    }
}
