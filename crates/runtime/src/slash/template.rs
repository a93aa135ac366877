//! Parses the text of a command, with placeholders for arguments, for the output of shell commands and for files.
//!
//! The text is parsed before anything is inserted, so inserted text is never parsed. The syntax is that of existing
//! command files, which no template engine reads.

use std::collections::BTreeMap;

use protocol::Hinted;

/// A part of a command's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlashTextPiece<'a> {
    /// Plain text.
    Text(&'a str),
    /// `` !`…` ``: the output of a shell command.
    Shell(&'a str),
    /// `@…`: the content of a file.
    File(&'a str),
}

/// Splits a command's text into its pieces.
pub(super) fn pieces(text: &str) -> Vec<SlashTextPiece<'_>> {
    let (mut pieces, mut text_start, mut position) = (Vec::new(), 0, 0);
    while let Some(offset) = text[position..].find(['!', '@']) {
        let start = position + offset;
        let Some((piece, end)) = special_piece(text, start) else {
            position = start + 1;
            continue;
        };
        pieces.extend((text_start < start).then(|| SlashTextPiece::Text(&text[text_start..start])));
        pieces.push(piece);
        (text_start, position) = (end, end);
    }
    pieces.extend((text_start < text.len()).then(|| SlashTextPiece::Text(&text[text_start..])));
    pieces
}

/// The piece that starts at a `!` or an `@`, and where it ends; `None` if the character is plain text.
fn special_piece(text: &str, start: usize) -> Option<(SlashTextPiece<'_>, usize)> {
    let (before, rest) = (text[..start].chars().next_back(), &text[start + 1..]);
    if text[start..].starts_with('!') {
        // An exclamation mark after a word only ends a sentence before some code.
        let (command, _) = rest.strip_prefix('`')?.split_once('`')?;
        let is_word = before.is_some_and(|c| c.is_alphanumeric() || c == '`');
        return (!is_word && !command.contains('\n') && !command.trim().is_empty())
            .then(|| (SlashTextPiece::Shell(command.trim()), start + 2 + command.len() + 1));
    }
    if before.is_some_and(|c| !c.is_whitespace() && c != '(') {
        return None;
    }
    let end = rest.find(|c: char| c.is_whitespace() || ",;:!?()\"'`<>|*".contains(c)).unwrap_or(rest.len());
    let path = rest[..end].trim_end_matches('.');
    // A mention of a person or a keyword such as `@override` is not a file.
    let is_path = path.starts_with('$') || path.contains(['/', '.']);
    (is_path && !path.is_empty()).then(|| (SlashTextPiece::File(path), start + 1 + path.len()))
}

/// The arguments of a command.
#[derive(Debug, Default)]
pub(super) struct TemplateArguments<'a> {
    /// The arguments as typed.
    typed: &'a str,
    /// The arguments, split into words.
    words: Vec<String>,
    /// The values of named inputs.
    inputs: BTreeMap<String, String>,
}

/// An input of the text that has no value.
#[derive(Debug, thiserror::Error)]
#[error("`{name}`{} is missing", in_parentheses(about))]
pub(super) struct MissingArgument {
    name: String,
    about: String,
}

impl Hinted for MissingArgument {
    fn hint(&self) -> Option<String> {
        Some(format!("write {}=… after the command", self.name))
    }
}

fn in_parentheses(about: &str) -> String {
    if about.is_empty() { String::new() } else { format!(" ({about})") }
}

/// A placeholder for arguments.
enum TemplatePlaceholder<'a> {
    All,
    /// Counted from 1.
    Nth(usize),
    Input(&'a str),
}

impl<'a> TemplateArguments<'a> {
    /// Parses the arguments for a text.
    pub(super) fn parse(all: &'a str, text: &str) -> Result<TemplateArguments<'a>, MissingArgument> {
        let mut arguments = TemplateArguments { typed: all, words: split_words(all), inputs: BTreeMap::new() };
        let wanted = named_inputs(text);
        let mut rest = arguments.words.clone();
        for (name, _) in &wanted {
            let prefix = format!("{name}=");
            if let Some(index) = rest.iter().position(|word| word.starts_with(&prefix)) {
                arguments.inputs.insert((*name).to_owned(), rest.remove(index).split_off(prefix.len()));
            }
        }
        let unfilled: Vec<_> =
            wanted.iter().filter(|(name, _)| !arguments.inputs.contains_key(*name)).copied().collect();
        // The last input takes all remaining words, so that a single one needs no quotes.
        for (index, (name, about)) in unfilled.iter().enumerate() {
            let value = match index + 1 == unfilled.len() {
                true => rest.join(" "),
                false if rest.is_empty() => String::new(),
                false => rest.remove(0),
            };
            if value.is_empty() {
                return Err(MissingArgument { name: (*name).to_owned(), about: (*about).to_owned() });
            }
            arguments.inputs.insert((*name).to_owned(), value);
        }
        Ok(arguments)
    }

    /// Fills the placeholders in a text. `convert` converts each argument, or says why it may not be inserted.
    pub(super) fn fill<E>(&self, text: &str, convert: impl Fn(&str) -> Result<String, E>) -> Result<String, E> {
        let (mut filled, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(position) = rest.find('$') {
            let (before, from) = rest.split_at(position);
            filled.push_str(before);
            let Some((target, length)) = placeholder(from) else {
                filled.push('$');
                rest = &from[1..];
                continue;
            };
            let word = match target {
                TemplatePlaceholder::All => self.typed,
                TemplatePlaceholder::Nth(number) => self.words.get(number - 1).map_or("", String::as_str),
                TemplatePlaceholder::Input(name) => self.inputs.get(name).map_or("", String::as_str),
            };
            filled.push_str(&convert(word)?);
            rest = &from[length..];
        }
        filled.push_str(rest);
        Ok(filled)
    }
}

/// Whether a text has placeholders for arguments.
pub(super) fn takes_arguments(text: &str) -> bool {
    text.match_indices('$').any(|(at, _)| placeholder(&text[at..]).is_some())
}

/// The placeholder at the beginning of a text, and its length. Sums of money are not placeholders.
fn placeholder(text: &str) -> Option<(TemplatePlaceholder<'_>, usize)> {
    if let Some(rest) = text.strip_prefix("${input:") {
        let (inner, _) = rest.split_once('}')?;
        let name = inner.split(':').next().unwrap_or(inner);
        let length = text.len() - rest.len() + inner.len() + 1;
        return is_name(name).then_some((TemplatePlaceholder::Input(name), length));
    }
    let is_end = |length: usize| {
        let mut after = text[length..].chars();
        match (after.next(), after.next()) {
            (Some('.' | ','), Some(c)) => !c.is_ascii_digit(),
            (Some(c), _) => !(c.is_alphanumeric() || c == '_'),
            (None, _) => true,
        }
    };
    const ALL: &str = "$ARGUMENTS";
    if text.starts_with(ALL) && is_end(ALL.len()) {
        return Some((TemplatePlaceholder::All, ALL.len()));
    }
    let number = text[1..].chars().next()?.to_digit(10).filter(|digit| *digit > 0)?;
    is_end(2).then_some((TemplatePlaceholder::Nth(number as usize), 2))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
}

/// The named inputs of a text with their descriptions, without duplicates.
fn named_inputs(text: &str) -> Vec<(&str, &str)> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for (at, prefix) in text.match_indices("${input:") {
        let Some((inner, _)) = text[at + prefix.len()..].split_once('}') else { continue };
        let (name, about) = inner.split_once(':').unwrap_or((inner, ""));
        if is_name(name) && !found.iter().any(|(known, _)| *known == name) {
            found.push((name, about));
        }
    }
    found
}

/// Splits a line into words; quotes hold words together.
fn split_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') if word.is_none() => {
                quote = Some(c);
                word = Some(String::new());
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str, typed: &str) -> String {
        let arguments = TemplateArguments::parse(typed, text).unwrap();
        arguments.fill(text, |word| Ok::<_, ()>(word.to_owned())).unwrap()
    }

    #[test]
    fn a_text_is_split_into_pieces() {
        let text = "Look at !`git diff $1` and @src/lib.rs, wow!`x` me@mail.org @team (@a.md). @$1";
        let expected = [
            SlashTextPiece::Text("Look at "),
            SlashTextPiece::Shell("git diff $1"),
            SlashTextPiece::Text(" and "),
            SlashTextPiece::File("src/lib.rs"),
            SlashTextPiece::Text(", wow!`x` me@mail.org @team ("),
            SlashTextPiece::File("a.md"),
            SlashTextPiece::Text("). "),
            SlashTextPiece::File("$1"),
        ];
        assert_eq!(pieces(text), expected);
        for text in ["", "!", "@", "!`open", "!`two\nlines`", "!` `", "@.", "é!é@é"] {
            assert!(pieces(text).iter().all(|piece| matches!(piece, SlashTextPiece::Text(_))), "{text}");
        }
    }

    #[test]
    fn arguments_fill_the_placeholders() {
        assert_eq!(filled("Fix $1 in $2: $ARGUMENTS!", "bug \"a b\""), "Fix bug in a b: bug \"a b\"!");
        assert_eq!(filled("It costs $10, $5.50 and $ARGUMENTSX $", "x"), "It costs $10, $5.50 and $ARGUMENTSX $");
        assert_eq!(filled("[$3]", "one"), "[]");
        assert_eq!(filled("${input:what} by ${input:who:a name}", "who=me the roof"), "the roof by me");
        assert_eq!(filled("${input:a}/${input:b}", "x y z"), "x/y z");
        let missing = TemplateArguments::parse("", "${input:who:a name}").unwrap_err();
        assert_eq!(missing.in_one_line(), "`who` (a name) is missing; write who=… after the command");
    }

    #[test]
    fn arguments_are_not_expanded_again() {
        assert_eq!(filled("<$ARGUMENTS>", "$1 ${input:x} !`rm` @f.md"), "<$1 ${input:x} !`rm` @f.md>");
        assert_eq!(filled("<$1|$2>", "$2 $ARGUMENTS"), "<$2|$ARGUMENTS>");
    }

    #[test]
    fn any_text_can_be_split_and_filled() {
        let parts = ["!`", "`", "@", "$", "$1", "${input:", "}", "é", "\n", "ARGUMENTS", "\"", "'", "a", "."];
        for seed in 0..20_000_usize {
            let pick = |n: usize| parts[(seed / parts.len().pow(n as u32 % 4) + n * seed) % parts.len()];
            let text: String = (0..6).map(pick).collect();
            let whole: usize = pieces(&text).len();
            assert!(whole <= text.len());
            if let Ok(arguments) = TemplateArguments::parse(&text, &text) {
                arguments.fill(&text, |word| Ok::<_, ()>(word.to_owned())).unwrap();
            }
        }
    }
}
