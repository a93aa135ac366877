//! Colours. They only repeat what the text says.

use std::io::IsTerminal;

use crate::terminal_settings::TerminalSettings;

/// The role of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRole {
    /// Normal text.
    Plain,
    /// Emphasised text.
    Strong,
    /// A section heading.
    Heading,
    /// Code.
    Code,
    /// Secondary information.
    Dim,
    /// A success.
    Good,
    /// A failure.
    Bad,
    /// Something that needs attention.
    Accent,
}

/// Whether a stream supports colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without colour.
    Plain,
    /// With colour.
    Colour,
}

impl Style {
    /// The style of a stream: colour only on a capable terminal, and if the user has not disabled it.
    pub fn of(stream: &impl IsTerminal, settings: TerminalSettings) -> Style {
        let colour = stream.is_terminal() && settings.allows_colour && !settings.is_dumb;
        if colour { Style::Colour } else { Style::Plain }
    }

    /// The text in the style of the stream.
    pub fn paint(self, role: TextRole, text: &str) -> String {
        match (self, colour_code(role)) {
            (Style::Colour, Some(code)) if !text.is_empty() => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            (Style::Colour | Style::Plain, _) => text.to_owned(),
        }
    }
}

/// The role of a state in lists of tasks, sessions, todos and checks.
pub fn role_of_state(word: &str) -> Option<TextRole> {
    Some(match word {
        "ok" | "done" | "reused" | "completed" => TextRole::Good,
        "fail" | "failed" | "blocked" | "lost" | "timed_out" | "budget_exhausted" | "damaged" | "unreadable" => {
            TextRole::Bad
        }
        "warn" | "needs you" | "interrupted" | "parked" | "newer" => TextRole::Accent,
        "running" | "at work" | "in_progress" => TextRole::Strong,
        "idle" | "queued" | "pending" | "waiting" | "cancelled" => TextRole::Dim,
        _other => return None,
    })
}

fn colour_code(role: TextRole) -> Option<&'static str> {
    match role {
        TextRole::Plain => None,
        TextRole::Strong => Some("1"),
        TextRole::Heading => Some("1;4"),
        TextRole::Code => Some("36"),
        TextRole::Dim => Some("2"),
        TextRole::Good => Some("32"),
        TextRole::Bad => Some("31"),
        TextRole::Accent => Some("1;33"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_colour_is_the_text() {
        assert_eq!(Style::Plain.paint(TextRole::Bad, "no"), "no");
        assert_eq!(Style::Colour.paint(TextRole::Plain, "no"), "no");
        assert_eq!(Style::Colour.paint(TextRole::Bad, "no"), "\u{1b}[31mno\u{1b}[0m");
        assert_eq!(Style::Colour.paint(TextRole::Bad, ""), "");
    }
}
