//! `from!`: the conversions into a type, a line each.

/// Gives a type its conversions from others, each an expression of the value that is converted.
macro_rules! from {
    ($name:ty { $($from:ty => |$value:ident| $into:expr),+ $(,)? }) => {
        $(impl From<$from> for $name {
            fn from($value: $from) -> Self {
                $into
            }
        })+
    };
}

pub(crate) use from;
