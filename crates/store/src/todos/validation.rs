//! Validation of the texts of todos.

use protocol::{TodoId, TodoStatus};

use super::TodoError;

/// Most bytes of a chosen id.
const ID: usize = 100;

/// Most characters of an id generated from a title.
const SLUG: usize = 32;

/// Most bytes of each text of a todo.
const TEXT: usize = 64 * 1024;

/// Only a blocked todo has a reason; any other status removes it.
pub(super) fn reason(status: TodoStatus, given: Option<&str>) -> Result<Option<String>, TodoError> {
    match status {
        TodoStatus::Blocked => given.map(|given| checked_text("reason", given)).transpose(),
        TodoStatus::Pending | TodoStatus::InProgress | TodoStatus::Done => Ok(None),
    }
}

pub(super) fn checked_id(id: &TodoId) -> Result<TodoId, TodoError> {
    let invalid = |what: &str| Err(TodoError::Invalid(format!("the id {:?} {what}", id.0)));
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
        let longer = slug.chars().count() + 1 + word.chars().count();
        if !slug.is_empty() && longer > SLUG {
            break;
        }
        slug += if slug.is_empty() { "" } else { "-" };
        slug.extend(word.to_lowercase().chars().take(SLUG));
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

pub(super) fn checked_text(what: &str, given: &str) -> Result<String, TodoError> {
    if given.len() > TEXT {
        return Err(TodoError::Invalid(format!("the {what} is longer than {TEXT} bytes; put it into a file")));
    }
    Ok(given.to_owned())
}

pub(super) fn files(given: &[String]) -> Result<Option<String>, TodoError> {
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
    fn an_id_is_made_of_the_title_s_first_words() {
        let slugs = ["Fix the tests!", "  ", "Größe prüfen", "…", &"x".repeat(99)].map(slug);
        assert_eq!(slugs[..4], ["fix-the-tests", "todo", "größe-prüfen", "todo"]);
        assert_eq!(slugs[4].len(), 32);
        assert_eq!(slug("one two three four five six seven eight nine"), "one-two-three-four-five-six");
    }
}
