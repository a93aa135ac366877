//! Rows of the `todos` table that were read before the runtime changed their todos.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::{KernelFixture, id};

fn row(status: TodoStatus) -> KernelInput {
    let todo = Todo { status, ..Todo::new("a", "another title") };
    KernelInput::TodosChanged { by: Principal::Task { id: id(1) }, changed: vec![todo], gone: Vec::new(), upto: 0 }
}

#[test]
fn an_edit_of_a_todo_whose_worker_just_ended_does_not_reopen_it() {
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
    kernel.report(run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
    kernel.complete(run);
    let progress = |kernel: &KernelFixture| kernel.kernel.graph().node(&"a".into()).unwrap().progress.clone();
    assert_eq!(progress(&kernel), TodoProgress::Done);
    // The root wrote the row while the worker was running, so its status was still `in_progress`.
    kernel.ok(row(TodoStatus::InProgress));
    assert_eq!(progress(&kernel), TodoProgress::Done);
    kernel.ok(row(TodoStatus::Pending));
    assert_eq!(progress(&kernel), TodoProgress::Pending, "the root may reopen it");
}
