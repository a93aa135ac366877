//! Deciding about pages.

use protocol::RuleEffect;

use super::Otherwise;
use crate::address::Address;
use crate::request::Part;
use crate::{Ground, Policy, Verdict};

impl Policy {
    pub(super) fn fetch(&self, tool: &str, text: &str) -> Verdict {
        let address = match Address::parse(text) {
            Ok(address) => address,
            Err(why) => {
                let part = protocol::clip_middle(text, super::SHOWN);
                return Verdict {
                    effect: RuleEffect::Deny,
                    ground: Ground::Unclear(why),
                    part,
                    rule: None,
                    others: Vec::new(),
                };
            }
        };
        let part = Part::Page(&address);
        let otherwise = if address.is_public() {
            self.by_mode(&part)
        } else {
            Otherwise { effect: RuleEffect::Deny, ground: Ground::Private }
        };
        self.decide(tool, &part, address.shown(), otherwise)
    }
}
