//! Generates commands of every shape from a seed.

/// A random generator that gives the same values for the same seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % most
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const NAMES: [&str; 8] = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "echo", "true"];
const WORDS: [&str; 25] = [
    "x", "a b", "--flag", "-n", "src/*.rs", "$x", "${x}", "${x:-y}", "${x%.*}", "{a,b}", "~/x", "a=b", "a#b", "!", "$",
    "$?", "\"\"", "''", "é", "[", "]", "{}", "1", "HEAD~1", "${#x}",
];
const NOISE: [&str; 29] = [
    "'", "\"", "\\", "$", "`", "(", ")", "{", "}", ";", "&", "|", "<", ">", "#", "\n", " ", "~", "*", "[", "]", "!",
    "=", "\\\n", "$(", "${", "<<", "((", "\t",
];

#[rustfmt::skip]
const SOUP: [&str; 78] = [
    "'$(delta)'",
    "alpha", "beta", "gamma", "delta", " ", " ", " ", " ", ";", "&", "|", "&&", "||", "\n", "(", ")", "{ ", "}", " }",
    ";}", "$(", "`", "${x", "}", "${x:-", "'", "\"", "\\", "$'", "#", " #", "<", ">", ">&", "<<E\n", "\nE\n", "<<<", "<(",
    ">(", "!", "! ", "[[ ", " ]]", "((", "))", "$((", "1", "if ", "; then ", "; fi", "; do ", "; done", "for i in ",
    "while ", "case x in x) ", ";; esac", "f() { ", "f; ", "time ", "coproc ", "a=", "x", "*", "?", "[", "]", "~",
    "{a,b}", "\\\n", "\t", "env ", "bash -c '", "sh -c \"", "-", "$x", "2>", "&>",
];

#[rustfmt::skip]
const PIECES: [&str; 44] = [
    "a", "b", "c", "a", "-", "=", ":", "~", "#", "!", "%", "^", ",", "..", ".", "/", "{", "}", "{a,b}", "{b,c}d", "[",
    "]", "@", "+", " ", " ", "'x y'", "'\"'", "\"x y\"", "\"'\"", "\"\\\\\"", "\"\\$\"", "\"\\a\"", "\\ ", "\\'", "\\\"",
    "\\\\", "\\$", "$'\\n'", "$'\\x41\\''", "$'\\101'", "\"\"", "''", "é",
];

/// Maximum length of a command; longer ones take too much time.
const LONGEST: usize = 300;

/// A mostly well-formed command; sometimes a part is inserted or removed.
pub(crate) fn command(dice: &mut Dice) -> String {
    let mut text = list(dice, 2);
    while text.len() > LONGEST {
        text = list(dice, 2);
    }
    if dice.below(3) == 0 {
        for _ in 0..=dice.below(3) {
            damage(dice, &mut text);
        }
    }
    text
}

/// Characters and words in random order.
pub(crate) fn soup(dice: &mut Dice) -> String {
    (0..2 + dice.below(14)).map(|_| dice.pick(&SOUP)).collect()
}

/// Words of quotes, escapes and braces.
pub(crate) fn words(dice: &mut Dice) -> String {
    (0..1 + dice.below(9)).map(|_| dice.pick(&PIECES)).collect()
}

fn damage(dice: &mut Dice, text: &mut String) {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let at = places[dice.below(places.len())];
    if dice.below(3) == 0 && places.len() > 1 {
        text.remove(at);
    } else {
        text.insert_str(at, dice.pick(&NOISE));
    }
}

fn list(dice: &mut Dice, depth: usize) -> String {
    let mut text = pipeline(dice, depth);
    for _ in 0..dice.below(3) {
        // After a line with a here-document only a newline may follow.
        let separator =
            if has_document(&text) { "\n" } else { dice.pick(&[" && ", " || ", "; ", "\n", ";", "&&", " & "]) };
        text = format!("{text}{separator}{}", pipeline(dice, depth));
    }
    text
}

/// A list without here-documents.
fn flat(dice: &mut Dice, depth: usize) -> String {
    loop {
        let text = list(dice, depth);
        if !has_document(&text) {
            return text;
        }
    }
}

fn has_document(text: &str) -> bool {
    text.replace("<<<", "").contains("<<")
}

fn pipeline(dice: &mut Dice, depth: usize) -> String {
    let mut text = format!("{}{}", dice.pick(&["", "", "", "", "", "", "", "", "! ", "! ", "time "]), one(dice, depth));
    while dice.below(4) == 0 && !has_document(&text) {
        text = format!("{text}{}{}", dice.pick(&[" | ", "|", " |& ", " |\n"]), one(dice, depth));
    }
    text
}

fn one(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 || dice.below(2) == 0 {
        return simple(dice, depth);
    }
    let (first, second) = (list(dice, depth - 1), list(dice, depth - 1));
    let end = if has_document(&first) || has_document(&second) { "\n" } else { "; " };
    match dice.below(12) {
        0 => format!("({first}{end})", end = if end == "\n" { "\n" } else { "" }),
        1 => format!("{{ {first}{end}}}"),
        2 => format!("if {first}{end}then {second}{end}fi"),
        3 => format!("if {first}{end}then {second}{end}else {first}{end}fi"),
        4 => format!("while {first}{end}do {second}{end}break; done"),
        5 => format!("for i in {} {}{end}do {first}{end}done", word(dice, depth - 1), word(dice, depth - 1)),
        6 => format!("case {} in x|y) {first}{end};; *) {second}{end}esac", word(dice, depth - 1)),
        7 => format!("work() {{ {first}{end}}}"),
        8 => format!("[[ -n {} && {} = y ]]", word(dice, depth - 1), word(dice, 0)),
        9 => format!("{{ {first}{end}}} > out 2>&1"),
        10 => wrapped(dice, &first),
        _ => simple(dice, depth),
    }
}

fn wrapped(dice: &mut Dice, text: &str) -> String {
    let quoted = format!("'{}'", text.replace('\'', "'\\''"));
    match dice.below(4) {
        0 => format!("bash -c {quoted}"),
        1 => format!("env -i bash -c {quoted}"),
        2 => format!("timeout 5 nice -n 1 bash -ec {quoted}"),
        _ => format!("sh -c {quoted}"),
    }
}

fn simple(dice: &mut Dice, depth: usize) -> String {
    let mut text = dice.pick(&["", "", "", "", "LANG=C ", "x=1 ", "<in ", "env ", "nohup ", "command "]).to_owned();
    let name = dice.pick(&NAMES);
    text.push_str(&spelled(dice, name));
    for _ in 0..dice.below(4) {
        text = format!("{text}{}{}", dice.pick(&[" ", "  ", "\t", " \\\n "]), word(dice, depth));
    }
    let further =
        dice.pick(&[" > out", " 2>/dev/null", " >>out", " <<<\"$x\"", " # note", " &> out", "", "", "", "", ""]);
    if further != " # note" {
        text.push_str(further);
    }
    if depth > 0 && dice.below(12) == 0 {
        text = format!("{text} {}", here_document(dice, depth));
    }
    text
}

/// A name, with quotes that do not change it.
fn spelled(dice: &mut Dice, name: &str) -> String {
    let (first, rest) = name.split_at(1);
    match dice.below(10) {
        0 => format!("{first}''{rest}"),
        1 => format!("\\{name}"),
        2 => format!("\"{name}\""),
        3 => format!("{first}'{rest}'"),
        4 => format!("$'{name}'"),
        _ => name.to_owned(),
    }
}

fn word(dice: &mut Dice, depth: usize) -> String {
    let plain = dice.pick(&WORDS);
    if depth == 0 {
        return plain.replace("a b", "ab");
    }
    match dice.below(14) {
        0 => format!("'{}'", plain.replace('\'', "")),
        1 => format!("\"{}\"", plain.replace('"', "")),
        2 => format!("\"a $({}) b\"", flat(dice, depth - 1)),
        3 => format!("$({})", flat(dice, depth - 1)),
        4 => format!("`{}`", list(dice, 0).replace("\\\n", "").replace(['`', '\\'], "")),
        5 => format!("<({})", flat(dice, depth - 1)),
        6 => "$((1 + 2))".to_owned(),
        7 => format!("${{x:-$({})}}", simple(dice, 0)),
        8 => "$'a\\'b'".to_owned(),
        9 => "a\\ b".to_owned(),
        _ => plain.replace("a b", "a\\ b"),
    }
}

fn here_document(dice: &mut Dice, depth: usize) -> String {
    let inside = flat(dice, depth - 1).replace("\\\n", "");
    match dice.below(3) {
        0 => format!("<<END\nsome $({inside})\nEND"),
        1 => format!("<<'END'\nsome $({inside})\nEND"),
        _ => format!("<<-END\n\t`{}` text\n\tEND", inside.replace(['`', '\\', '"', '\n'], "")),
    }
}
