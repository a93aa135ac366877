//! The types of the rows of the route table, as schemas. Only the generator of the OpenAPI document uses them: a server
//! that referred to them would be a megabyte larger.

use schemars::{JsonSchema, Schema, SchemaGenerator};

/// Adds the schema of a type to a document.
pub(super) type AddSchema = fn(&mut SchemaGenerator) -> Schema;

/// The types of one row.
pub(super) struct RouteSchemas {
    pub(super) takes: RouteInput,
    pub(super) gives: RouteOutput,
}

/// The type of a request's input; the counterpart of [`super::route::RouteInput`].
pub(super) enum RouteInput {
    Nothing,
    Query(AddSchema),
    Body(AddSchema),
}

/// The type of a response; the counterpart of [`super::route::RouteOutput`].
pub(super) enum RouteOutput {
    Json(AddSchema),
    Nothing,
    Events,
}

impl RouteInput {
    pub(super) const fn body<T: JsonSchema>() -> RouteInput {
        RouteInput::Body(schema::<T>)
    }

    pub(super) const fn query<T: JsonSchema>() -> RouteInput {
        RouteInput::Query(schema::<T>)
    }
}

impl RouteOutput {
    pub(super) const fn json<T: JsonSchema>() -> RouteOutput {
        RouteOutput::Json(schema::<T>)
    }

    pub(super) const fn created<T: JsonSchema>() -> RouteOutput {
        RouteOutput::Json(schema::<T>)
    }
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}
