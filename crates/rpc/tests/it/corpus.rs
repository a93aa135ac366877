//! Every file of the fuzz corpus, as an ordinary test: no panic, no hang, and no unbounded memory.

use crate::drive;
use crate::replay::replay;

#[test]
fn messages_that_are_lines_are_read_or_refused() {
    replay("lines", drive::lines);
}

#[test]
fn messages_with_a_length_are_read_or_refused() {
    replay("counted", drive::counted);
}
