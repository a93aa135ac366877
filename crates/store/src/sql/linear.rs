//! Linear-time `instr`, `replace` and `trim`. SQLite's versions compare at every position and report no progress: with
//! arguments of half a mebibyte, one call takes longer than any deadline.

use std::borrow::Cow;
use std::collections::HashSet;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Error, ffi};

/// Maximum bytes of a result.
const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// Replaces the built-in functions with the linear ones.
pub(super) fn replace_quadratic(conn: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    conn.create_scalar_function(c"instr", 2, flags, instr)?;
    conn.create_scalar_function(c"replace", 3, flags, replace)?;
    for (name, ends) in [(c"trim", TrimEnds::Both), (c"ltrim", TrimEnds::Left), (c"rtrim", TrimEnds::Right)] {
        conn.create_scalar_function(name, 2, flags, move |context| trim(context, ends))?;
    }
    Ok(())
}

#[derive(Debug, Clone, Copy)]
enum TrimEnds {
    Left,
    Right,
    Both,
}

fn instr(context: &Context<'_>) -> rusqlite::Result<Option<i64>> {
    let position = match (context.get_raw(0), context.get_raw(1)) {
        (ValueRef::Null, _) | (_, ValueRef::Null) => return Ok(None),
        (ValueRef::Blob(hay), ValueRef::Blob(needle)) => find_bytes(hay, needle),
        (hay, needle) => {
            let hay = value_text(hay);
            hay.find(&*value_text(needle)).map(|at| hay[..at].chars().count())
        }
    };
    Ok(Some(position.map_or(0, |at| i64::try_from(at + 1).unwrap_or(i64::MAX))))
}

/// Finds bytes with the standard library's linear text search, by mapping each byte to a character.
fn find_bytes(hay: &[u8], needle: &[u8]) -> Option<usize> {
    let as_text = |bytes: &[u8]| bytes.iter().map(|byte| char::from(*byte)).collect::<String>();
    let hay = as_text(hay);
    hay.find(&as_text(needle)).map(|at| hay[..at].chars().count())
}

fn replace(context: &Context<'_>) -> rusqlite::Result<Option<String>> {
    let values = [context.get_raw(0), context.get_raw(1), context.get_raw(2)];
    if values.contains(&ValueRef::Null) {
        return Ok(None);
    }
    let [hay, needle, replacement] = values.map(value_text);
    if needle.is_empty() {
        return Ok(Some(hay.into_owned()));
    }
    let mut result = String::new();
    for (n, part) in hay.split(&*needle).enumerate() {
        if n > 0 {
            result.push_str(&replacement);
        }
        result.push_str(part);
        if result.len() > MAX_RESULT_BYTES {
            return Err(Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_TOOBIG), None));
        }
    }
    Ok(Some(result))
}

fn trim(context: &Context<'_>, ends: TrimEnds) -> rusqlite::Result<ToSqlOutput<'static>> {
    let (hay, set) = match (context.get_raw(0), context.get_raw(1)) {
        (ValueRef::Null, _) | (_, ValueRef::Null) => return Ok(ToSqlOutput::Owned(Value::Null)),
        (hay, set) => (value_text(hay), value_text(set)),
    };
    let set: HashSet<char> = set.chars().collect();
    let cut = |c: char| set.contains(&c);
    let rest = match ends {
        TrimEnds::Left => hay.trim_start_matches(cut),
        TrimEnds::Right => hay.trim_end_matches(cut),
        TrimEnds::Both => hay.trim_matches(cut),
    };
    Ok(ToSqlOutput::Owned(Value::Text(rest.to_owned())))
}

/// Converts a value to text like SQLite.
pub(super) fn value_text(value: ValueRef<'_>) -> Cow<'_, str> {
    match value {
        ValueRef::Null => Cow::Borrowed(""),
        ValueRef::Integer(number) => Cow::Owned(number.to_string()),
        ValueRef::Real(number) => Cow::Owned(format_real(number)),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes),
    }
}

/// Formats a number like SQLite: 15 digits if they are enough, otherwise 17, of which SQLite may round the last one
/// differently, and without an exponent where possible.
fn format_real(number: f64) -> String {
    if number == 0.0 {
        return "0.0".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Inf".into() } else { "-Inf".into() };
    }
    let short = format!("{:.14e}", number.abs());
    let exact = if short.parse() == Ok(number.abs()) { short } else { format!("{:.16e}", number.abs()) };
    let (digits, power) = exact.split_once('e').unwrap_or((&exact, "0"));
    let digits = digits.replace('.', "");
    let digits = digits.trim_end_matches('0');
    let power: i32 = power.parse().unwrap_or_default();
    let (before, after, exponent) = match power {
        -4..0 => (
            String::new(),
            format!("{digits:0>width$}", width = digits.len() + power.unsigned_abs() as usize - 1),
            None,
        ),
        0..17 => {
            let digits = format!("{digits:0<width$}", width = power.unsigned_abs() as usize + 1);
            let (before, after) = digits.split_at(power.unsigned_abs() as usize + 1);
            (before.to_owned(), after.to_owned(), None)
        }
        _ => (digits[..1].to_owned(), digits[1..].to_owned(), Some(power)),
    };
    let filled = |part: String| if part.is_empty() { "0".into() } else { part };
    let sign = if number < 0.0 { "-" } else { "" };
    let exponent = exponent.map(|power| format!("e{power:+03}")).unwrap_or_default();
    format!("{sign}{}.{}{exponent}", filled(before), filled(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_as_in_sqlite() {
        let conn = Connection::open_in_memory().unwrap();
        let mut numbers = vec![0.0, -0.0, 0.1 + 0.2, 2.2 * 3.0, 123_456_789.125, f64::MAX, f64::INFINITY];
        let scaled =
            |power: i32| ["1", "-1.5", "12345.6789"].map(|number| format!("{number}e{power}").parse().unwrap());
        numbers.extend((-30..30).flat_map(|power| -> [f64; 3] { scaled(power) }));
        for number in numbers {
            let theirs: String = conn.query_row("SELECT CAST(?1 AS TEXT)", [number], |row| row.get(0)).unwrap();
            assert_eq!(value_text(ValueRef::Real(number)), theirs);
        }
    }
}
