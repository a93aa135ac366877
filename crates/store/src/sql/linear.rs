//! SQLite's `instr`, `replace` and `trim` compare at every position, and no progress is reported from inside a
//! function: with arguments of half a mebibyte one call takes longer than any deadline. These take linear time.

use std::borrow::Cow;
use std::collections::HashSet;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Error, ffi};

/// Most bytes of a result.
const MOST: usize = 1024 * 1024;

/// Puts the linear functions in the place of the built-in ones.
pub(super) fn replace_quadratic(conn: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    conn.create_scalar_function(c"instr", 2, flags, instr)?;
    conn.create_scalar_function(c"replace", 3, flags, replace)?;
    for (name, ends) in [(c"trim", Ends::Both), (c"ltrim", Ends::Left), (c"rtrim", Ends::Right)] {
        conn.create_scalar_function(name, 2, flags, move |context| trim(context, ends))?;
    }
    Ok(())
}

#[derive(Debug, Clone, Copy)]
enum Ends {
    Left,
    Right,
    Both,
}

fn instr(context: &Context<'_>) -> rusqlite::Result<Option<i64>> {
    let place = match (context.get_raw(0), context.get_raw(1)) {
        (ValueRef::Null, _) | (_, ValueRef::Null) => return Ok(None),
        (ValueRef::Blob(hay), ValueRef::Blob(needle)) => find_bytes(hay, needle),
        (hay, needle) => {
            let hay = text(hay);
            hay.find(&*text(needle)).map(|at| hay[..at].chars().count())
        }
    };
    Ok(Some(place.map_or(0, |at| i64::try_from(at + 1).unwrap_or(i64::MAX))))
}

/// Finds bytes by finding text: each byte becomes the character of its number, so that the standard library's
/// linear search does it.
fn find_bytes(hay: &[u8], needle: &[u8]) -> Option<usize> {
    let wide = |bytes: &[u8]| bytes.iter().map(|byte| char::from(*byte)).collect::<String>();
    let hay = wide(hay);
    hay.find(&wide(needle)).map(|at| hay[..at].chars().count())
}

fn replace(context: &Context<'_>) -> rusqlite::Result<Option<String>> {
    let values = [context.get_raw(0), context.get_raw(1), context.get_raw(2)];
    if values.contains(&ValueRef::Null) {
        return Ok(None);
    }
    let [hay, needle, instead] = values.map(text);
    if needle.is_empty() {
        return Ok(Some(hay.into_owned()));
    }
    let mut result = String::new();
    for (n, part) in hay.split(&*needle).enumerate() {
        if n > 0 {
            result.push_str(&instead);
        }
        result.push_str(part);
        if result.len() > MOST {
            return Err(Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_TOOBIG), None));
        }
    }
    Ok(Some(result))
}

fn trim(context: &Context<'_>, ends: Ends) -> rusqlite::Result<ToSqlOutput<'static>> {
    let (hay, set) = match (context.get_raw(0), context.get_raw(1)) {
        (ValueRef::Null, _) | (_, ValueRef::Null) => return Ok(ToSqlOutput::Owned(Value::Null)),
        (hay, set) => (text(hay), text(set)),
    };
    let set: HashSet<char> = set.chars().collect();
    let cut = |c: char| set.contains(&c);
    let rest = match ends {
        Ends::Left => hay.trim_start_matches(cut),
        Ends::Right => hay.trim_end_matches(cut),
        Ends::Both => hay.trim_matches(cut),
    };
    Ok(ToSqlOutput::Owned(Value::Text(rest.to_owned())))
}

/// A value as text, as SQLite would have it.
fn text(value: ValueRef<'_>) -> Cow<'_, str> {
    match value {
        ValueRef::Null => Cow::Borrowed(""),
        ValueRef::Integer(number) => Cow::Owned(number.to_string()),
        ValueRef::Real(number) => Cow::Owned(format!("{number:?}")),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes),
    }
}
