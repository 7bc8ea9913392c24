//! `debug_fields!`: the `Debug` of types that do not show all they have.

/// Gives a type its `Debug`: these fields of it, or in place of a field the value of an expression
/// of the value that the closure's name stands for. The word before that name ends the list.
macro_rules! debug_fields {
    (@ $me:ident, $field:ident) => { &$me.$field };
    (@ $me:ident, $field:ident, $shown:expr) => { &$shown };
    ($name:ident $(<$life:lifetime>)? { $($field:ident $(= $shown:expr)?),+ $(,)? } $end:ident |$me:ident|) => {
        impl std::fmt::Debug for $name $(<$life>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $me = self;
                let mut fields = f.debug_struct(stringify!($name));
                $(fields.field(stringify!($field), debug_fields!(@ $me, $field $(, $shown)?));)+
                fields.$end()
            }
        }
    };
}

pub(crate) use debug_fields;
