//! `setters!`: the methods by which people set the fields of a builder, a line each.

/// Methods of a type that each set a field to an expression of what they take, and give the value
/// back. A method stands here without its argument `self` and without what it returns.
macro_rules! setters {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident($($taken:ident: $type:ty),+) { self.$($field:ident).+ = $value:expr })+) => {
        $($(#[$meta])* $vis fn $name(mut self, $($taken: $type),+) -> Self {
            self.$($field).+ = $value;
            self
        })+
    };
}

pub(crate) use setters;
