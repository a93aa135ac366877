//! One agent becomes many: `task` and what goes with it.

mod budgets;
mod compacted;
mod contracts;
mod day_budget;
mod ends;
mod forged;
mod limits;
mod lists;
mod loading;
mod messages;
mod models;
mod played;
mod roles;
mod root;
mod sizes;
mod stops;
mod switches;
mod tasks;
mod waiting;
