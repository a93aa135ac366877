//! Decodes entities: characters written by name or number.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use encoding_rs::WINDOWS_1252;

/// Maximum length of a reference: a name, or the number of a valid character.
const MAX_REFERENCE_LENGTH: usize = 10;

/// The text with its entities decoded. Unknown ones stay as they are.
pub(super) fn decode(text: &str) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'&', text.as_bytes()) else { return Cow::Borrowed(text) };
    let (mut decoded, mut rest) = (text[..first].to_owned(), &text[first..]);
    while let Some(after) = rest.strip_prefix('&') {
        let start = &after.as_bytes()[..after.len().min(MAX_REFERENCE_LENGTH)];
        let reference = memchr::memchr(b';', start).map(|end| &after[..end]);
        match reference.and_then(|reference| Some((decode_reference(reference)?, reference.len()))) {
            Some((character, length)) => {
                decoded.push(character);
                rest = &after[length + 1..];
            }
            None => {
                decoded.push('&');
                rest = after;
            }
        }
        let next = memchr::memchr(b'&', rest.as_bytes()).unwrap_or(rest.len());
        decoded.push_str(&rest[..next]);
        rest = &rest[next..];
    }
    Cow::Owned(decoded)
}

fn decode_reference(reference: &str) -> Option<char> {
    match reference.strip_prefix('#') {
        None => char_of_name(reference),
        Some(number) => {
            let hex = number.strip_prefix(['x', 'X']);
            let number = hex.map_or_else(|| number.parse(), |hex| u32::from_str_radix(hex, 16)).ok()?;
            Some(char_of_number(number))
        }
    }
}

fn char_of_number(number: u32) -> char {
    match (number, u8::try_from(number)) {
        // Pages mean Windows-1252 characters by these.
        (0x80..=0x9f, Ok(byte)) => {
            WINDOWS_1252.decode_without_bom_handling(&[byte]).0.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        (0, _) => char::REPLACEMENT_CHARACTER,
        _ => char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

fn char_of_name(name: &str) -> Option<char> {
    NAMES.get(name).copied()
}

static NAMES: LazyLock<HashMap<&str, char>> = LazyLock::new(|| {
    let in_order = [(LATIN_NAMES, 0xa0), (GREEK_CAPITAL_NAMES, 0x391), (GREEK_SMALL_NAMES, 0x3b1)].into_iter();
    let in_order = in_order.flat_map(|(names, first)| names.split(' ').zip((first..).filter_map(char::from_u32)));
    in_order.chain(OTHER_NAMES.iter().copied()).collect()
});

/// From U+00A0 on.
const LATIN_NAMES: &str = "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 \
                     sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute \
                     Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH \
                     Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig \
                     agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc \
                     iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute \
                     thorn yuml";

/// From U+0391 on, with one unassigned code point.
const GREEK_CAPITAL_NAMES: &str = "Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho - Sigma \
                     Tau Upsilon Phi Chi Psi Omega";

/// From U+03B1 on.
const GREEK_SMALL_NAMES: &str = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigmaf \
                     sigma tau upsilon phi chi psi omega";

const OTHER_NAMES: &[(&str, char)] = &[
    ("amp", '&'),
    ("AMP", '&'),
    ("lt", '<'),
    ("LT", '<'),
    ("gt", '>'),
    ("GT", '>'),
    ("quot", '"'),
    ("QUOT", '"'),
    ("apos", '\''),
    ("ndash", '–'),
    ("mdash", '—'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("sbquo", '‚'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("bdquo", '„'),
    ("lsaquo", '‹'),
    ("rsaquo", '›'),
    ("hellip", '…'),
    ("bull", '•'),
    ("dagger", '†'),
    ("Dagger", '‡'),
    ("permil", '‰'),
    ("prime", '′'),
    ("Prime", '″'),
    ("euro", '€'),
    ("trade", '™'),
    ("larr", '←'),
    ("uarr", '↑'),
    ("rarr", '→'),
    ("darr", '↓'),
    ("harr", '↔'),
    ("rArr", '⇒'),
    ("lArr", '⇐'),
    ("hArr", '⇔'),
    ("minus", '−'),
    ("infin", '∞'),
    ("asymp", '≈'),
    ("ne", '≠'),
    ("equiv", '≡'),
    ("le", '≤'),
    ("ge", '≥'),
    ("sum", '∑'),
    ("prod", '∏'),
    ("radic", '√'),
    ("part", '∂'),
    ("int", '∫'),
    ("isin", '∈'),
    ("notin", '∉'),
    ("cap", '∩'),
    ("cup", '∪'),
    ("sub", '⊂'),
    ("sup", '⊃'),
    ("sube", '⊆'),
    ("supe", '⊇'),
    ("forall", '∀'),
    ("exist", '∃'),
    ("empty", '∅'),
    ("nabla", '∇'),
    ("and", '∧'),
    ("or", '∨'),
    ("check", '✓'),
    ("cross", '✗'),
    ("star", '☆'),
    ("starf", '★'),
    ("OElig", 'Œ'),
    ("oelig", 'œ'),
    ("Scaron", 'Š'),
    ("scaron", 'š'),
    ("Yuml", 'Ÿ'),
    ("fnof", 'ƒ'),
    ("ensp", ' '),
    ("emsp", ' '),
    ("thinsp", ' '),
    ("zwnj", '\u{200c}'),
    ("zwj", '\u{200d}'),
    ("Tab", '\t'),
    ("NewLine", '\n'),
    ("nbsp", ' '),
    ("lbrace", '{'),
    ("rbrace", '}'),
    ("lbrack", '['),
    ("rbrack", ']'),
    ("lpar", '('),
    ("rpar", ')'),
    ("colon", ':'),
    ("comma", ','),
    ("period", '.'),
    ("num", '#'),
    ("sol", '/'),
    ("bsol", '\\'),
    ("lowbar", '_'),
    ("grave", '`'),
    ("equals", '='),
    ("plus", '+'),
    ("ast", '*'),
    ("excl", '!'),
    ("quest", '?'),
    ("dollar", '$'),
    ("percnt", '%'),
    ("commat", '@'),
    ("verbar", '|'),
    ("vert", '|'),
    ("Hat", '^'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_entities_are_decoded() {
        for (text, expected) in [
            ("a &amp; b &lt;c&gt; &quot;&apos;", "a & b <c> \"'"),
            ("&eacute;&Uuml;&yuml;&szlig;&times;", "éÜÿß×"),
            ("&Alpha;&Omega;&alpha;&omega;&Sigma;&sigmaf;", "ΑΩαωΣς"),
            ("&#233;&#xe9;&#XE9;&#8212;&#x1F980;", "ééé—🦀"),
            ("&#150;&#x80;", "–€"),
            ("&#0;&#xD800;&#x110000;", "\u{fffd}\u{fffd}\u{fffd}"),
            ("&#99999999999;&#;&#x;&#-1;", "&#99999999999;&#;&#x;&#-1;"),
            ("AT&T ?a=1&copy=2&", "AT&T ?a=1&copy=2&"),
            ("&amp;lt;", "&lt;"),
            ("&unknown; &é; &&amp;", "&unknown; &é; &&"),
            ("plain", "plain"),
        ] {
            assert_eq!(decode(text), expected, "{text}");
        }
    }
}
