//! Rules of the scheduler as pure functions: values and the present moment in, values out.

pub(crate) mod misfire;
