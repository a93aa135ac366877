//! Tool calls that arrive in pieces, several at a time.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Extra;
use crate::wire::arrival::{Arrival, Trouble};

/// One piece of a call.
#[derive(Deserialize)]
pub(super) struct Piece<'a> {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
    #[serde(borrow)]
    extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Function {
    name: Option<String>,
    /// Text, but for servers that send the object itself.
    arguments: Option<Value>,
}

/// The calls of an answer, while they arrive.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Partial>);

#[derive(Debug, Default)]
struct Partial {
    index: u64,
    id: String,
    name: String,
    arguments: String,
    extra: Option<String>,
}

impl Calls {
    /// Adds a piece to its call.
    pub(super) fn add(&mut self, piece: &Piece<'_>, arrival: &mut Arrival) -> Result<(), Trouble> {
        // Something for its mere existence, so that a flood of empty calls ends too.
        const EACH: usize = 64;
        let Piece { id, function, extra_content, .. } = piece;
        let (name, arguments) =
            function.as_ref().map_or((None, None), |of| (of.name.as_deref(), of.arguments.as_ref()));
        let (id, name, arguments) = (id.as_deref().unwrap_or(""), name.unwrap_or(""), text(arguments));
        let extra = Extra { extra_content: *extra_content, reasoning_content: None };
        let extra = if extra_content.is_some() { serde_json::to_string(&extra).ok() } else { None };
        let bytes = [id.len(), name.len(), arguments.len(), extra.as_ref().map_or(0, String::len)];
        arrival.hold(EACH + bytes.into_iter().sum::<usize>())?;
        let call = self.find(piece);
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        call.arguments.push_str(&arguments);
        call.extra = extra.or(call.extra.take());
        Ok(())
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Passes the calls on, in the order of their indexes, each after what must go back beside it.
    pub(super) fn finish(&mut self, wire: &str, arrival: &mut Arrival) {
        self.0.sort_by_key(|call| call.index);
        for call in self.0.drain(..) {
            if let Some(extra) = call.extra {
                arrival.opaque(wire, extra);
            }
            arrival.call(call.id, call.name, call.arguments);
        }
    }

    /// The call that a piece belongs to. Some servers leave the index out, or give every call the same one; then
    /// another id means another call.
    fn find(&mut self, piece: &Piece<'_>) -> &mut Partial {
        let last = self.0.last().map_or(0, |call| call.index);
        let index = piece.index.unwrap_or(last);
        let is_other = |call: &Partial| match piece.id.as_deref() {
            Some(id) if !id.is_empty() && !call.id.is_empty() => id != call.id,
            Some(_) | None => false,
        };
        let at = match self.0.iter().rposition(|call| call.index == index) {
            Some(at) if !is_other(&self.0[at]) => at,
            Some(_) | None => {
                self.0.push(Partial { index, ..Partial::default() });
                self.0.len() - 1
            }
        };
        &mut self.0[at]
    }
}

fn text(arguments: Option<&Value>) -> Cow<'_, str> {
    match arguments {
        None | Some(Value::Null) => "".into(),
        Some(Value::String(text)) => text.into(),
        Some(other) => other.to_string().into(),
    }
}
