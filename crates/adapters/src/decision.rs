//! Fallback for a client's decision that the session refuses.

use protocol::AskDecision;
use protocol::api::RefusalKind;
use rpc::ErrorObject;

/// The decision that replaces one the session refused, so that the ask does not stay open: an allowed call runs without
/// the rules that came with the decision, anything else is denied. `None` if the ask is closed.
pub(crate) fn fallback_decision(decision: AskDecision, refusal: &ErrorObject) -> Option<AskDecision> {
    let kind = refusal.data.as_ref().and_then(|data| serde_json::from_value(data["kind"].clone()).ok());
    match (kind, decision) {
        (Some(RefusalKind::Invalid | RefusalKind::NoRule), AskDecision::Allow { rules, input })
            if !rules.is_empty() =>
        {
            Some(AskDecision::Allow { rules: Vec::new(), input })
        }
        (
            Some(RefusalKind::Invalid | RefusalKind::NoRule),
            AskDecision::Allow { .. } | AskDecision::Reply { .. } | AskDecision::Proceed { .. },
        ) => Some(AskDecision::Deny {
            message: format!("the client's decision is not valid: {}", refusal.in_one_line()),
        }),
        (_gone_or_closed, _decision) => None,
    }
}

#[cfg(test)]
mod tests {
    use protocol::PlanAction;
    use serde_json::json;

    use super::*;

    fn refused(kind: &str) -> ErrorObject {
        ErrorObject { data: Some(json!({ "kind": kind })), ..ErrorObject::new(1, "no") }
    }

    #[test]
    fn refused_decisions_have_a_fallback_unless_the_ask_is_closed() {
        let allow = |rule: Option<&str>| AskDecision::Allow {
            rules: rule.map(str::to_owned).into_iter().collect(),
            input: Some("{}".into()),
        };
        assert_eq!(fallback_decision(allow(Some("no(")), &refused("noRule")), Some(allow(None)));
        for invalid in [
            allow(None),
            AskDecision::Reply { text: "x".into() },
            AskDecision::Proceed { action: PlanAction::Autopilot },
        ] {
            assert!(matches!(fallback_decision(invalid, &refused("invalid")), Some(AskDecision::Deny { .. })));
        }
        assert_eq!(fallback_decision(AskDecision::Deny { message: String::new() }, &refused("invalid")), None);
        for kind in ["noAsk", "closed", "somethingNewer"] {
            assert_eq!(fallback_decision(allow(Some("a")), &refused(kind)), None, "{kind}");
        }
        assert_eq!(fallback_decision(allow(Some("a")), &ErrorObject::internal("paused")), None);
    }
}
