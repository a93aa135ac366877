//! Splits SQL into statements, to run them one by one in a client's database.

/// How a statement is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SqlKind {
    /// It returns rows.
    Query,
    /// It changes rows.
    Change,
    /// Anything else, or several statements.
    Script,
}

/// The statements of a text. A text with a trigger, whose body contains statements, is not split.
pub(crate) fn statements(sql: &str) -> Vec<(&str, SqlKind)> {
    if sql.to_ascii_lowercase().split_whitespace().any(|word| word == "trigger") {
        return vec![(sql.trim(), SqlKind::Script)];
    }
    let (mut found, mut start) = (Vec::new(), 0);
    for end in ends(sql) {
        let statement = sql[start..end].trim();
        start = (end + 1).min(sql.len());
        if let Some(word) = first_word(statement) {
            found.push((statement, kind_of(&word)));
        }
    }
    found
}

fn kind_of(word: &str) -> SqlKind {
    match word {
        "select" | "values" | "explain" | "pragma" => SqlKind::Query,
        "insert" | "update" | "delete" | "replace" | "with" => SqlKind::Change,
        _other => SqlKind::Script,
    }
}

/// The first word of a statement that is not in a comment.
fn first_word(statement: &str) -> Option<String> {
    let mut rest = statement.trim_start();
    loop {
        rest = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n')?.1.trim_start()
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/")?.1.trim_start()
        } else {
            break;
        };
    }
    let word: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
    (!rest.is_empty()).then(|| word.to_ascii_lowercase())
}

/// Where the statements end: at each semicolon outside quotes and comments, and at the end of the text.
fn ends(sql: &str) -> Vec<usize> {
    let (bytes, mut at, mut found) = (sql.as_bytes(), 0, Vec::new());
    while at < bytes.len() {
        let rest = &sql[at..];
        at += match bytes[at] {
            b';' => {
                found.push(at);
                1
            }
            quote @ (b'\'' | b'"' | b'`') => 1 + length_until(&rest[1..], char::from(quote).encode_utf8(&mut [0; 4])),
            b'[' => 1 + length_until(&rest[1..], "]"),
            b'-' if rest.starts_with("--") => 2 + length_until(&rest[2..], "\n"),
            b'/' if rest.starts_with("/*") => 2 + length_until(&rest[2..], "*/"),
            _other => rest.chars().next().map_or(1, char::len_utf8),
        };
    }
    found.push(sql.len());
    found
}

/// The bytes up to and including the end of a quote or comment. A doubled quote ends one and begins the next.
fn length_until(text: &str, end: &str) -> usize {
    text.find(end).map_or(text.len(), |at| at + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_at_semicolons_outside_of_quotes() {
        let sql =
            "CREATE TABLE a (b); -- one; two\n insert into a values ('x;''y;'); /* ; */ SELECT \"ö;\" FROM [a;b];";
        let found: Vec<_> = statements(sql).into_iter().map(|(_, kind)| kind).collect();
        assert_eq!(found, [SqlKind::Script, SqlKind::Change, SqlKind::Query]);
        assert_eq!(statements("SELECT 'open ; quote").len(), 1);
        assert!(statements(" ; -- nothing\n;").is_empty());
        let trigger = "CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM a; END; SELECT 1;";
        assert_eq!(statements(trigger), [(trigger, SqlKind::Script)]);
    }
}
