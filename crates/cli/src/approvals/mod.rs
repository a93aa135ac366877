//! `bosun approvals`: what waits for a person, from any terminal, while its session runs and after.

mod decide;
mod inbox;
mod list;
mod remember;

use host::Home;
use protocol::{AskId, Decision, SessionId, Subject};
use store::Reader;

pub(crate) use self::decide::on_plan;
pub(crate) use self::remember::remember;

use self::decide::{Verb, decide};
use self::inbox::{Inbox, Waiting};
use crate::args::{ApprovalsArgs, ApprovalsCommand, ChosenArgs, Place};
use crate::exact::exact;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;
use crate::setup::Setup;

pub(crate) async fn perform(args: ApprovalsArgs) -> Result<Exit, Failure> {
    let setup = Setup::read()?;
    let inbox = Inbox::new(&setup.home);
    let style = print::style();
    match args.command {
        None => list::list(&inbox, &args.list, style),
        Some(ApprovalsCommand::List(options)) => list::list(&inbox, &options, style),
        Some(ApprovalsCommand::Show { id, json }) => list::show(&inbox.find(&id)?, json, style),
        Some(ApprovalsCommand::Allow(chosen)) => {
            let calls = chosen_of(&inbox, &chosen, is_call)?;
            decide(&setup.home, calls, &Verb::Decide(Decision::Allow { rules: Vec::new(), input: None }), chosen.json)
                .await
        }
        Some(ApprovalsCommand::Deny { chosen, reason }) => {
            let asks = chosen_of(&inbox, &chosen, |_any| true)?;
            decide(&setup.home, asks, &Verb::Decide(Decision::Deny { words: reason }), chosen.json).await
        }
        Some(ApprovalsCommand::Answer { id, text, json }) => {
            decide(&setup.home, vec![inbox.open(&id)?], &Verb::Answer(text), json).await
        }
        Some(ApprovalsCommand::Always { id, rule, place, json }) => {
            always(&setup, inbox.open(&id)?, rule, place, json).await
        }
    }
}

/// The number of an ask in its session, for those who type; none if the session cannot be read just now.
pub(crate) fn number(home: &Home, session: SessionId, ask: &AskId) -> Option<u64> {
    Reader::open(home, session).and_then(|reader| reader.ask_number(ask)).ok().flatten()
}

/// What is to be decided: what was named, or all that waits and that it can be said of.
fn chosen_of(inbox: &Inbox<'_>, chosen: &ChosenArgs, fits: fn(&Subject) -> bool) -> Result<Vec<Waiting>, Failure> {
    if !chosen.ids.is_empty() {
        return inbox.all_open(&chosen.ids);
    }
    let mut waiting = inbox.waiting(chosen.session.as_deref())?;
    waiting.retain(|waiting| waiting.left.is_none());
    let all = waiting.len();
    waiting.retain(|waiting| fits(&waiting.view.ask.subject));
    if waiting.len() < all {
        print::note(format_args!("{} stay open: questions are answered or denied", all - waiting.len()));
    }
    Ok(waiting)
}

fn is_call(subject: &Subject) -> bool {
    match subject {
        Subject::Permission { .. } => true,
        Subject::Question { .. } | Subject::Plan { .. } => false,
    }
}

/// Allows a call for good. The decision comes first, since an agent waits for it.
async fn always(
    setup: &Setup,
    waiting: Waiting,
    rule: Option<String>,
    place: Place,
    json: bool,
) -> Result<Exit, Failure> {
    let suggested = match &waiting.view.ask.subject {
        Subject::Permission { rules, .. } => rules.clone(),
        subject @ (Subject::Question { .. } | Subject::Plan { .. }) => {
            let what = if matches!(subject, Subject::Plan { .. }) { "a plan" } else { "a question" };
            return Err(Failure::usage(format!("{what} cannot be allowed for good"))
                .hint(format!("bosun approvals answer {} \"…\"", waiting.view.ask.id.short())));
        }
    };
    let rules = rule.map_or(suggested, |rule| vec![rule]);
    if rules.is_empty() {
        return Err(Failure::usage("no rule can allow this call for good")
            .hint(format!("allow it once: bosun approvals allow {}", waiting.view.ask.id.short())));
    }
    for rule in &rules {
        policy::Rule::parse(protocol::RuleEffect::Allow, rule, policy::Source::Session).map_err(Failure::usage)?;
    }
    let cwd = waiting.cwd.clone();
    let verb = Verb::Decide(Decision::Allow { rules: rules.clone(), input: None });
    let exit = decide(&setup.home, vec![waiting], &verb, json).await?;
    if exit == Exit::Success {
        for rule in &rules {
            let path = remember(setup, &cwd, rule, place)?;
            print::note(format_args!("{} now allows {}", path.display(), exact(rule)));
        }
    }
    Ok(exit)
}
