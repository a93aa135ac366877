//! Calls that small models write as text.

mod corpus;
mod hostile;
mod properties;
mod read;
mod refused;
mod stage;
