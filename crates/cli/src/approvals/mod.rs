//! `bosun approvals`: lists and decides asks from any terminal, whether their session runs or not.

mod decide;
mod inbox;
mod list;
mod remember;

use std::path::Path;

use protocol::api::SessionAskView;
use protocol::{AskDecision, AskSubject};
use tui::escape::escape_invisible;
use tui::print;

pub(crate) use self::remember::save_allow_rule;

use self::decide::{ApprovalResponse, decide};
use self::inbox::ApprovalInbox;
use crate::args::{ApprovalSelectArgs, ApprovalsArgs, ApprovalsCommand, RuleScope};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;

pub(crate) async fn perform(args: ApprovalsArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    let inbox = ApprovalInbox::new(&setup.home);
    let style = print::style();
    match args.command {
        None => list::list(&inbox, &args.list, style),
        Some(ApprovalsCommand::List(options)) => list::list(&inbox, &options, style),
        Some(ApprovalsCommand::Show { id, json }) => list::show(&inbox, &inbox.find(&id)?, json, style),
        Some(ApprovalsCommand::Allow(chosen)) => {
            let calls = select_asks(&inbox, &chosen, is_call)?;
            decide(
                &setup.home,
                calls,
                &ApprovalResponse::Decide(AskDecision::Allow { rules: Vec::new(), input: None }),
                chosen.json,
            )
            .await
        }
        Some(ApprovalsCommand::Deny { chosen, reason }) => {
            let asks = select_asks(&inbox, &chosen, |_any| true)?;
            decide(&setup.home, asks, &ApprovalResponse::Decide(AskDecision::Deny { message: reason }), chosen.json)
                .await
        }
        Some(ApprovalsCommand::Answer { id, text, json }) => {
            decide(&setup.home, vec![inbox.find_open(&id)?], &ApprovalResponse::Answer(text), json).await
        }
        Some(ApprovalsCommand::Always { id, rule, scope, json }) => {
            allow_always(&setup, inbox.find_open(&id)?, rule, scope, json).await
        }
    }
}

/// Returns the asks to decide: the named ones, or all open ones that the decision fits.
fn select_asks(
    inbox: &ApprovalInbox<'_>,
    chosen: &ApprovalSelectArgs,
    fits: fn(&AskSubject) -> bool,
) -> Result<Vec<SessionAskView>, CliError> {
    if !chosen.ids.is_empty() {
        return inbox.find_all_open(&chosen.ids);
    }
    let mut asks = inbox.pending(chosen.session.as_deref())?;
    asks.retain(|pending| pending.queued_decision.is_none());
    let total = asks.len();
    asks.retain(|pending| fits(&pending.view.ask.subject));
    if asks.len() < total {
        print::note(format_args!("{} left open: answer or deny questions and plans one by one", total - asks.len()));
    }
    Ok(asks)
}

fn is_call(subject: &AskSubject) -> bool {
    match subject {
        AskSubject::Permission { .. } => true,
        AskSubject::Question { .. } | AskSubject::Plan { .. } => false,
    }
}

/// Allows a call permanently. The decision is delivered first because an agent waits for it.
async fn allow_always(
    setup: &Setup,
    pending: SessionAskView,
    rule: Option<String>,
    scope: RuleScope,
    json: bool,
) -> Result<CommandExit, CliError> {
    let suggested = match &pending.view.ask.subject {
        AskSubject::Permission { rules, .. } => rules.clone(),
        subject @ (AskSubject::Question { .. } | AskSubject::Plan { .. }) => {
            let kind = if matches!(subject, AskSubject::Plan { .. }) { "a plan" } else { "a question" };
            return Err(CliError::usage(format!("{kind} cannot be allowed permanently"))
                .with_hint(format!("bosun approvals answer {} \"…\"", pending.view.ask.id.short())));
        }
    };
    let rules = rule.map_or(suggested, |rule| vec![rule]);
    if rules.is_empty() {
        return Err(CliError::usage("no rule can allow this call permanently")
            .with_hint(format!("allow it once: bosun approvals allow {}", pending.view.ask.id.short())));
    }
    for rule in &rules {
        policy::Rule::parse(protocol::RuleEffect::Allow, rule, policy::RuleSource::Session).map_err(CliError::usage)?;
    }
    let cwd = pending.cwd.clone();
    let response = ApprovalResponse::Decide(AskDecision::Allow { rules: rules.clone(), input: None });
    let exit = decide(&setup.home, vec![pending], &response, json).await?;
    if exit == CommandExit::Success {
        for rule in &rules {
            let path = save_allow_rule(setup, Path::new(&cwd), rule, scope)?;
            print::note(format_args!("{} now allows {}", path.display(), escape_invisible(rule)));
        }
    }
    Ok(exit)
}
