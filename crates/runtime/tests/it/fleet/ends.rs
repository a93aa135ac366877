//! What others have to say to a fleet: what is known already, where work is done, and what becomes of it.
