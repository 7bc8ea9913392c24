//! `targets`: for tests, whether a statement that writes has its conditions on the row that it
//! writes.

/// PostgreSQL looks once more at the conditions of a statement that has waited for a row, at those
/// on the row itself only. A table that is written is therefore read nowhere else in the statement,
/// and no row is found by the place (`ctid`) that it had.
pub(super) fn stands_on_its_target(text: &str) -> Result<(), String> {
    if text.contains("ctid") {
        return Err("rows are found by their place, which they leave when somebody changes them".to_owned());
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let written = ["UPDATE {p}", "DELETE FROM {p}"].into_iter().flat_map(|verb| text.split(verb).skip(1));
    for rest in written {
        let table = rest.split(|c| !is_part(c)).next().unwrap_or("");
        let mentions = text.split("{p}").skip(1).filter_map(|rest| rest.strip_prefix(table));
        // A column of the table is no second look at it.
        if mentions.filter(|rest| !rest.starts_with(|c| is_part(c) || c == '.')).count() > 1 {
            return Err(format!("{table} is written, and read beside it"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::stands_on_its_target;
    use crate::store::sql::bulk::{and_guard, by_primary_key};

    #[test]
    fn conditions_of_a_batch_stand_on_the_row() {
        let found = by_primary_key(&["trigger_name", "trigger_group"], 2);
        let guard = and_guard("t.trigger_state = 'WAITING'");
        assert_eq!(stands_on_its_target(&format!("DELETE FROM {{p}}TRIGGERS AS t USING {found}{guard}")), Ok(()));
        for right in [
            "SELECT 1 FROM {p}TRIGGERS t WHERE t.sched_name IN (SELECT sched_name FROM {p}TRIGGERS)",
            "UPDATE {p}CN_FENCES SET fence = ? WHERE EXISTS (SELECT 1 FROM {p}LOCKS l WHERE l.sched_name = {p}CN_FENCES.sched_name)",
            "WITH gone AS (DELETE FROM {p}TRIGGERS AS t RETURNING 1) DELETE FROM {p}SIMPLE_TRIGGERS AS t",
        ] {
            assert_eq!(stands_on_its_target(right), Ok(()), "{right}");
        }
    }

    #[test]
    fn a_condition_beside_the_row_is_found() {
        for wrong in [
            "DELETE FROM {p}TRIGGERS AS t USING (SELECT k.ctid FROM {p}JOB_DETAILS k) AS k WHERE t.ctid = k.ctid",
            "UPDATE {p}TRIGGERS AS t SET priority = 1 FROM (SELECT * FROM {p}TRIGGERS k WHERE k.trigger_state = 'WAITING') AS k \
             WHERE t.trigger_name = k.trigger_name",
            "WITH gone AS (DELETE FROM {p}FIRED_TRIGGERS AS t WHERE t.entry_id IN (SELECT f.entry_id FROM {p}FIRED_TRIGGERS f)) \
             SELECT 1",
        ] {
            assert!(stands_on_its_target(wrong).is_err(), "{wrong}");
        }
    }
}
