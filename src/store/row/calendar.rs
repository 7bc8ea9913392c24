//! The rows of calendars.

use super::table::table;

table! {
    /// A row of `CALENDARS`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CalendarRow in "CALENDARS" by [name] under trigger_access {
        /// `CALENDAR_NAME`.
        pub name: String = [calendar_name],
        /// `CALENDAR`, a Java object stream whatever `useProperties` says.
        pub bytes: Vec<u8> = [calendar],
    }
}

table! {
    /// A row of `CALENDARS`, without the calendar.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CalendarName in "CALENDARS" by [name] under trigger_access {
        /// `CALENDAR_NAME`.
        pub name: String = [calendar_name],
    }
}
