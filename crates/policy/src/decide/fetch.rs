//! Decides about web pages.

use protocol::RuleEffect;

use super::DefaultDecision;
use crate::address::WebAddress;
use crate::request::RequestPart;
use crate::{Policy, Verdict, VerdictBasis};

impl Policy {
    pub(super) fn judge_fetch(&self, tool: &str, text: &str) -> Verdict {
        let address = match WebAddress::parse(text) {
            Ok(address) => address,
            Err(why) => {
                let part = protocol::clip_middle(text, super::MAX_SHOWN_BYTES);
                return Verdict {
                    effect: RuleEffect::Deny,
                    basis: VerdictBasis::Unclear(why),
                    part,
                    suggested_rule: None,
                    others: Vec::new(),
                };
            }
        };
        let part = RequestPart::Fetch(&address);
        let default = if address.is_public() {
            self.default_by_mode(&part)
        } else {
            DefaultDecision { effect: RuleEffect::Deny, basis: VerdictBasis::Private }
        };
        self.decide(tool, &part, address.display(), default)
    }
}
