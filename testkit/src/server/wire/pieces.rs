//! Splits texts into the pieces of a stream.

/// Splits a text into at most eight pieces at character boundaries; an empty text becomes one empty piece.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    let size = text.len().div_ceil(8).max(4);
    let mut rest = text;
    let mut found = Vec::new();
    while rest.len() > size {
        let (piece, more) = rest.split_at(rest.ceil_char_boundary(size));
        found.push(piece);
        rest = more;
    }
    if !rest.is_empty() || found.is_empty() {
        found.push(rest);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_the_text_again() {
        for text in ["", "a", "four", "äöüßé", &"long ".repeat(1000)] {
            let cut = pieces(text);
            assert_eq!(cut.concat(), text);
            assert!((1..=8).contains(&cut.len()), "{cut:?}");
        }
    }
}
