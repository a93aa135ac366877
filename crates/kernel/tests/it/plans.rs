//! Rows of the table that were read before the runtime moved their todos.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::{KernelFixture, id};

fn row(status: TodoStatus) -> KernelInput {
    let todo = Todo { status, ..Todo::new("a", "other words") };
    KernelInput::TodosChanged { by: Principal::Task { id: id(1) }, changed: vec![todo], gone: Vec::new(), upto: 0 }
}

#[test]
fn new_words_for_a_todo_whose_worker_just_ended_do_not_open_it_again() {
    let mut kernel = KernelFixture::new();
    kernel.ok(row(TodoStatus::Pending));
    kernel.ok(KernelInput::BeginFleet(FleetConfig {
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
    kernel.spawn(2, |spec| spec.todo = Some("a".into()));
    let run = kernel.task(2).run_id();
    kernel.report(run, RunUpdate::Boundary(BoundaryPoint::Between));
    kernel.completes(run);
    let standing = |kernel: &KernelFixture| kernel.kernel.graph().node(&"a".into()).unwrap().progress.clone();
    assert_eq!(standing(&kernel), TodoProgress::Done);
    // The root wrote it while the worker was at work, so the row still said so when it was read.
    kernel.ok(row(TodoStatus::InProgress));
    assert_eq!(standing(&kernel), TodoProgress::Done);
    kernel.ok(row(TodoStatus::Pending));
    assert_eq!(standing(&kernel), TodoProgress::Pending, "to open it again is for the root to say");
}
