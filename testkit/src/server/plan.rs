//! Which request gets which fault, built in code or parsed from a flag.

use std::fmt;
use std::str::FromStr;

use super::span::span;
use super::{ProviderFault, StreamPoint, Unit};

/// Faults by request number, counted from 1 over all wire formats. The first that matches is used.
///
/// As text: `1=hang,2..4=status:503,%5=cut:call,7..=bad-json,*=drip:event:5ms`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FaultPlan(Vec<(FaultTrigger, ProviderFault)>);

/// Which requests get a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultTrigger {
    Between(u64, u64),
    Every(u64),
}

impl FaultPlan {
    /// No faults.
    pub fn none() -> FaultPlan {
        FaultPlan::default()
    }

    /// A fault for every request.
    pub fn always(fault: ProviderFault) -> FaultPlan {
        FaultPlan::none().between(1, u64::MAX, fault)
    }

    /// Adds a fault for one request.
    #[must_use]
    pub fn on(self, number: u64, fault: ProviderFault) -> FaultPlan {
        self.between(number, number, fault)
    }

    /// Adds a fault for a range of requests, including both ends.
    #[must_use]
    pub fn between(mut self, first: u64, last: u64, fault: ProviderFault) -> FaultPlan {
        self.0.push((FaultTrigger::Between(first, last), fault));
        self
    }

    /// Adds a fault for every `count`-th request.
    #[must_use]
    pub fn every(mut self, count: u64, fault: ProviderFault) -> FaultPlan {
        self.0.push((FaultTrigger::Every(count), fault));
        self
    }

    /// The fault of a request, if any.
    pub(super) fn of(&self, number: u64) -> Option<&ProviderFault> {
        self.0.iter().find(|(trigger, _)| trigger.holds(number)).map(|(_, fault)| fault)
    }
}

impl FaultTrigger {
    fn holds(self, number: u64) -> bool {
        match self {
            FaultTrigger::Between(first, last) => (first..=last).contains(&number),
            FaultTrigger::Every(count) => number.checked_rem(count) == Some(0),
        }
    }
}

/// A text that is not a fault plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError(String);

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a fault; write NUMBER=FAULT such as 1=hang, 2..4=status:429:2s or %5=cut:call", self.0)
    }
}

impl std::error::Error for PlanError {}

impl FromStr for FaultPlan {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<FaultPlan, PlanError> {
        let rule = |rule: &str| {
            let (trigger, fault) = rule.split_once('=')?;
            Some((turn_of(trigger)?, fault_of(fault)?))
        };
        let rules = text.split(',').filter(|part| !part.is_empty());
        rules.map(|part| rule(part).ok_or_else(|| PlanError(part.into()))).collect::<Result<_, _>>().map(FaultPlan)
    }
}

fn turn_of(text: &str) -> Option<FaultTrigger> {
    if text == "*" {
        return Some(FaultTrigger::Between(1, u64::MAX));
    }
    if let Some(count) = text.strip_prefix('%') {
        return count.parse().ok().map(FaultTrigger::Every);
    }
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let last = if last.is_empty() { u64::MAX } else { last.parse().ok()? };
    Some(FaultTrigger::Between(first.parse().ok()?, last))
}

fn fault_of(text: &str) -> Option<ProviderFault> {
    let parts: Vec<&str> = text.split(':').collect();
    Some(match parts.as_slice() {
        ["hang"] => ProviderFault::Hang,
        ["close"] => ProviderFault::Close,
        ["status", code] => ProviderFault::Status { code: code.parse().ok()?, retry_after: None },
        ["status", code, after] => ProviderFault::Status { code: code.parse().ok()?, retry_after: Some(span(after)?) },
        ["quota", after] => ProviderFault::Quota(span(after)?),
        ["html"] => ProviderFault::Html,
        ["too-long"] => ProviderFault::TooLong,
        ["cut", place @ ..] => ProviderFault::Cut(point_of(place)?),
        ["end", place @ ..] => ProviderFault::End(point_of(place)?),
        ["empty"] => ProviderFault::End(StreamPoint::Bytes(0)),
        ["bad-sse"] => ProviderFault::BadSse,
        ["bad-json"] => ProviderFault::BadJson,
        ["model", name] => ProviderFault::Model((*name).into()),
        ["drip", "byte", every] => ProviderFault::Drip { unit: Unit::Byte, every: span(every)? },
        ["drip", "event", every] => ProviderFault::Drip { unit: Unit::Event, every: span(every)? },
        ["endless"] => ProviderFault::Endless,
        ["endless-line"] => ProviderFault::EndlessLine,
        _ => return None,
    })
}

fn point_of(parts: &[&str]) -> Option<StreamPoint> {
    match parts {
        ["bytes", count] => count.parse().ok().map(StreamPoint::Bytes),
        ["events", count] => count.parse().ok().map(StreamPoint::Events),
        ["call"] => Some(StreamPoint::Call),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_plan_reads_as_it_is_built() {
        let text = "1=hang,2..4=status:429:2s,%5=cut:call,9..=drip:byte:5ms";
        let built = FaultPlan::none()
            .on(1, ProviderFault::Hang)
            .between(2, 4, ProviderFault::Status { code: 429, retry_after: Some(Duration::from_secs(2)) })
            .every(5, ProviderFault::Cut(StreamPoint::Call))
            .between(9, u64::MAX, ProviderFault::Drip { unit: Unit::Byte, every: Duration::from_millis(5) });
        assert_eq!(text.parse(), Ok(built));
    }

    #[test]
    fn the_first_fault_that_fits_a_number_happens() {
        let plan: FaultPlan = "3=hang,%3=close,7..=html".parse().unwrap();
        let happens = |number| plan.of(number).cloned();
        assert_eq!((happens(2), happens(3)), (None, Some(ProviderFault::Hang)));
        assert_eq!((happens(6), happens(8)), (Some(ProviderFault::Close), Some(ProviderFault::Html)));
    }

    #[test]
    fn words_that_are_no_fault_are_named() {
        for wrong in ["hang", "1=cut", "x=hang", "1=status:9x", "1=quota:5", "1=model"] {
            let error = format!("1=hang,{wrong}").parse::<FaultPlan>().unwrap_err();
            assert!(error.to_string().starts_with(&format!("`{wrong}` is not a fault")), "{error}");
        }
    }
}
