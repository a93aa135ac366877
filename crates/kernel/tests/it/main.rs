//! What the kernel decides, case by case. The invariants over random histories are in `src/histories`.

mod adopt;
mod cancel;
mod desk;
mod limits;
mod mail;
mod slots;
mod waits;
