//! What operators ask of every server: `/health` and `/metrics`.

mod serve;

pub(crate) use self::serve::SERVED;
