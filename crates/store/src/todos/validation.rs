//! Validation of the texts of todos.

use protocol::{TodoId, TodoStatus};

use super::TodoError;

/// Maximum bytes of an id that is not generated.
const ID: usize = 100;

/// Maximum characters of an id generated from a title.
const MAX_SLUG_CHARS: usize = 32;

/// Maximum bytes of each text of a todo.
const TEXT: usize = 64 * 1024;

/// The reason to store with this status: only a blocked todo has one.
pub(super) fn stored_reason(status: TodoStatus, given: Option<&str>) -> Result<Option<String>, TodoError> {
    match status {
        TodoStatus::Blocked => given.map(|given| checked_text("reason", given)).transpose(),
        TodoStatus::Pending | TodoStatus::InProgress | TodoStatus::Done => Ok(None),
    }
}

pub(super) fn checked_id(id: &TodoId) -> Result<TodoId, TodoError> {
    let invalid = |problem: &str| Err(TodoError::Invalid(format!("the id {:?} {problem}", id.0)));
    match &*id.0 {
        "" => invalid("is empty; leave it out to have one generated"),
        text if text.len() > ID => invalid(&format!("is longer than {ID} bytes")),
        text if text.chars().any(|c| c.is_control() || c.is_whitespace()) => {
            invalid("contains spaces or control characters; use letters, digits and dashes")
        }
        _valid => Ok(id.clone()),
    }
}

/// Generates an id from a title.
pub(super) fn slug(title: &str) -> String {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = String::new();
    for word in words {
        let length = slug.chars().count() + 1 + word.chars().count();
        if !slug.is_empty() && length > MAX_SLUG_CHARS {
            break;
        }
        slug += if slug.is_empty() { "" } else { "-" };
        slug.extend(word.to_lowercase().chars().take(MAX_SLUG_CHARS));
    }
    if slug.is_empty() { "todo".into() } else { slug }
}

pub(super) fn checked_title(given: &str) -> Result<String, TodoError> {
    let title = checked_text("title", given)?;
    if title.trim().is_empty() {
        return Err(TodoError::Invalid("the title is empty; say what is to be done".into()));
    }
    Ok(title)
}

pub(super) fn checked_text(field: &str, given: &str) -> Result<String, TodoError> {
    if given.len() > TEXT {
        return Err(TodoError::Invalid(format!("the {field} is longer than {TEXT} bytes; put it into a file")));
    }
    Ok(given.to_owned())
}

pub(super) fn checked_files(given: &[String]) -> Result<Option<String>, TodoError> {
    if given.is_empty() {
        return Ok(None);
    }
    let list = serde_json::to_string(given).map_err(|error| TodoError::Invalid(error.to_string()))?;
    checked_text("list of files", &list).map(Some)
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn an_id_is_made_from_the_first_words_of_the_title() {
        let slugs = ["Fix the tests!", "  ", "Größe prüfen", "…", &"x".repeat(99)].map(slug);
        assert_eq!(slugs[..4], ["fix-the-tests", "todo", "größe-prüfen", "todo"]);
        assert_eq!(slugs[4].len(), 32);
        assert_eq!(slug("one two three four five six seven eight nine"), "one-two-three-four-five-six");
    }
}
