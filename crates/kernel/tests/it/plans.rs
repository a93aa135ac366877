//! Rows of the table that were read before the runtime moved their todos.

use bosun_kernel::*;
use protocol::*;

use crate::desk::{Desk, id};

fn row(status: TodoStatus) -> Input {
    let todo = Todo { status, ..Todo::new("a", "other words") };
    Input::Todos { by: Origin::Task { id: id(1) }, changed: vec![todo], gone: Vec::new(), upto: 0 }
}

#[test]
fn f5_new_words_for_a_todo_whose_worker_just_ended_do_not_open_it_again() {
    let mut desk = Desk::new();
    desk.ok(row(TodoStatus::Pending));
    desk.ok(Input::BeginFleet(FleetTerms {
        agent: None,
        goal: "all".into(),
        parallel: None,
        retries: 0,
        rounds: 1,
        isolated: false,
        dirty: false,
        merge: false,
        check: None,
        plan: None,
    }));
    desk.spawn(2, |spec| spec.todo = Some("a".into()));
    let run = desk.task(2).run();
    desk.report(run, Report::Boundary(Point::Between));
    desk.completes(run);
    let standing = |desk: &Desk| desk.kernel.graph().node(&"a".into()).unwrap().standing.clone();
    assert_eq!(standing(&desk), Standing::Done);
    // The root wrote it while the worker was at work, so the row still said so when it was read.
    desk.ok(row(TodoStatus::InProgress));
    assert_eq!(standing(&desk), Standing::Done);
    desk.ok(row(TodoStatus::Pending));
    assert_eq!(standing(&desk), Standing::Pending, "to open it again is for the root to say");
}
