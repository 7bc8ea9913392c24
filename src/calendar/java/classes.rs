//! The classes that a stored calendar may consist of, with the numbers by which Java knows them.

use crate::java::{FieldSpec, Graph, NodeId, flag};

pub(super) const BASE: &str = "org.quartz.impl.calendar.BaseCalendar";
pub(super) const ANNUAL: &str = "org.quartz.impl.calendar.AnnualCalendar";
pub(super) const CRON: &str = "org.quartz.impl.calendar.CronCalendar";
pub(super) const DAILY: &str = "org.quartz.impl.calendar.DailyCalendar";
pub(super) const HOLIDAY: &str = "org.quartz.impl.calendar.HolidayCalendar";
pub(super) const MONTHLY: &str = "org.quartz.impl.calendar.MonthlyCalendar";
pub(super) const WEEKLY: &str = "org.quartz.impl.calendar.WeeklyCalendar";
pub(super) const CALENDARS: [&str; 7] = [BASE, ANNUAL, CRON, DAILY, HOLIDAY, MONTHLY, WEEKLY];
pub(super) const CRON_EXPRESSION: &str = "org.quartz.CronExpression";
pub(super) const TIME_ZONE: &str = "java.util.TimeZone";
pub(super) const JAVA_CALENDAR: &str = "java.util.Calendar";
pub(super) const ARRAY_LIST: &str = "java.util.ArrayList";
pub(super) const TREE_SET: &str = "java.util.TreeSet";
pub(super) const DATE: &str = "java.util.Date";

/// The fields in which a `DailyCalendar` keeps a time of day: hour, minute, second, millisecond.
pub(super) const RANGE_START: [&str; 4] =
    ["rangeStartingHourOfDay", "rangeStartingMinute", "rangeStartingSecond", "rangeStartingMillis"];
pub(super) const RANGE_END: [&str; 4] =
    ["rangeEndingHourOfDay", "rangeEndingMinute", "rangeEndingSecond", "rangeEndingMillis"];

/// Class descriptors in a graph to be written.
pub(super) struct Classes {
    pub(super) base: NodeId,
    pub(super) annual: NodeId,
    pub(super) cron: NodeId,
    pub(super) daily: NodeId,
    pub(super) holiday: NodeId,
    pub(super) monthly: NodeId,
    pub(super) weekly: NodeId,
    pub(super) cron_expression: NodeId,
    pub(super) time_zone: NodeId,
    pub(super) zone_info: NodeId,
    pub(super) simple_time_zone: NodeId,
    pub(super) calendar: NodeId,
    pub(super) gregorian: NodeId,
    pub(super) array_list: NodeId,
    pub(super) tree_set: NodeId,
    pub(super) date: NodeId,
    pub(super) booleans: NodeId,
    pub(super) bytes: NodeId,
    pub(super) ints: NodeId,
    pub(super) longs: NodeId,
}

impl Classes {
    pub(super) fn add_to(graph: &mut Graph) -> Self {
        const DATA: u8 = flag::SERIALIZABLE;
        const OWN_FORM: u8 = flag::SERIALIZABLE | flag::WRITE_METHOD;
        let int = |name| FieldSpec::Primitive(b'I', name);
        let flag = |name| FieldSpec::Primitive(b'Z', name);
        let long = |name| FieldSpec::Primitive(b'J', name);
        let reference = FieldSpec::Reference;
        let zone = reference("timeZone", "Ljava/util/TimeZone;");

        let text = "Ljava/lang/String;";
        let fields = [reference("baseCalendar", "Lorg/quartz/Calendar;"), reference("description", text), zone];
        let base = graph.add_class(BASE, 0x2B1C_F186_E3DF_18EF, DATA, &fields, None);
        let mut own = |name, uid, fields: &[_]| graph.add_class(name, uid, DATA, fields, Some(base));
        let days = [flag("dataSorted"), reference("excludeDays", "Ljava/util/ArrayList;")];
        let annual = own(ANNUAL, 0x65F5_50B5_19C7_0F91, &days);
        let expression = [reference("cronExpression", "Lorg/quartz/CronExpression;")];
        let cron = own(CRON, 0x8E96_DAB5_BB4D_1F81, &expression);
        let range = [&[flag("invertTimeRange")][..], &by_name(RANGE_END).map(int), &by_name(RANGE_START).map(int)];
        let daily = own(DAILY, 0x9711_2661_549F_4859, &range.concat());
        let holiday = own(HOLIDAY, 0x96A7_ACB5_493E_22DB, &[reference("dates", "Ljava/util/TreeSet;")]);
        let days = [flag("excludeAll"), reference("excludeDays", "[Z")];
        let monthly = own(MONTHLY, 0x05D1_2C4F_B02A_EAC8, &days);
        let weekly = own(WEEKLY, 0xA180_82CC_9F28_AD1E, &days);
        let fields = [reference("cronExpression", text), zone];
        let cron_expression = graph.add_class(CRON_EXPRESSION, 0x0000_0002_E47E_2F0F, DATA, &fields, None);

        let time_zone = graph.add_class(TIME_ZONE, 0x31B3_E9F5_7744_ACA1, DATA, &[reference("ID", text)], None);
        let fields = [
            &["checksum", "dstSavings", "rawOffset", "rawOffsetDiff"].map(int)[..],
            &[flag("willGMTOffsetChange"), reference("offsets", "[I"), reference("simpleTimeZoneParams", "[I")],
            &[reference("transitions", "[J")],
        ];
        let zone_info = "sun.util.calendar.ZoneInfo";
        let zone_info = graph.add_class(zone_info, 0x24D1_D3CE_001D_719B, DATA, &fields.concat(), Some(time_zone));
        let numbers = ["dstSavings", "endDay", "endDayOfWeek", "endMode", "endMonth", "endTime", "endTimeMode"];
        let more = ["rawOffset", "serialVersionOnStream", "startDay", "startDayOfWeek", "startMode", "startMonth"];
        let fields = [
            &numbers.map(int)[..],
            &more.map(int),
            &["startTime", "startTimeMode", "startYear"].map(int),
            &[flag("useDaylight"), reference("monthLength", "[B")],
        ];
        let simple_time_zone = graph.add_class(
            "java.util.SimpleTimeZone",
            0xFA67_5D60_D15E_F5A6,
            OWN_FORM,
            &fields.concat(),
            Some(time_zone),
        );
        let fields = [
            flag("areFieldsSet"),
            int("firstDayOfWeek"),
            flag("isTimeSet"),
            flag("lenient"),
            int("minimalDaysInFirstWeek"),
            int("nextStamp"),
            int("serialVersionOnStream"),
            long("time"),
            reference("fields", "[I"),
            reference("isSet", "[Z"),
            reference("zone", "Ljava/util/TimeZone;"),
        ];
        let calendar = graph.add_class(JAVA_CALENDAR, 0xE6EA_4D1E_C8DC_5B8E, OWN_FORM, &fields, None);
        let gregorian = "java.util.GregorianCalendar";
        let gregorian =
            graph.add_class(gregorian, 0x8F3D_D7D6_E5B0_D0C1, DATA, &[long("gregorianCutover")], Some(calendar));
        Self {
            array_list: graph.add_class(ARRAY_LIST, 0x7881_D21D_99C7_619D, OWN_FORM, &[int("size")], None),
            tree_set: graph.add_class(TREE_SET, 0xDD98_5093_95ED_875B, OWN_FORM, &[], None),
            date: graph.add_class(DATE, 0x686A_8101_4B59_7419, OWN_FORM, &[], None),
            booleans: graph.add_class("[Z", 0x578F_2039_14B8_5DE2, DATA, &[], None),
            bytes: graph.add_class("[B", 0xACF3_17F8_0608_54E0, DATA, &[], None),
            ints: graph.add_class("[I", 0x4DBA_6026_76EA_B2A5, DATA, &[], None),
            longs: graph.add_class("[J", 0x7820_04B5_12B1_7593, DATA, &[], None),
            base,
            annual,
            cron,
            daily,
            holiday,
            monthly,
            weekly,
            cron_expression,
            time_zone,
            zone_info,
            simple_time_zone,
            calendar,
            gregorian,
        }
    }
}

/// Hour, minute, second and millisecond in the order in which a stream has them.
pub(super) fn by_name<T>([hour, minute, second, millisecond]: [T; 4]) -> [T; 4] {
    [hour, millisecond, minute, second]
}
