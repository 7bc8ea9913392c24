package golden;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.quartz.impl.jdbcjobstore.JobStoreTX;
import org.quartz.simpl.CascadingClassLoadHelper;
import org.quartz.spi.SchedulerSignaler;
import org.quartz.utils.ConnectionProvider;
import org.quartz.utils.DBConnectionManager;

/**
 * Quartz's store on an empty schema of a PostgreSQL server, as a node of a cluster that was not started, and its tables in
 * the words of the golden data.
 */
final class Store implements AutoCloseable {
    /** What is written in the place of every time at which something was fired: the program's clock is not in the data. */
    static final long NOW = 1_772_366_400_000L;
    private static final String SCHEMA = "carnelian_golden";

    final JobStoreTX quartz = new JobStoreTX();
    /** Fired rows in the order in which they came. */
    private final List<String> entries = new ArrayList<>();
    private final Connection connection;

    /** A store at `jdbc:postgresql://host:port/database?user=…&password=…`. */
    Store(String url, boolean useProperties, boolean running) throws Exception {
        connection = DriverManager.getConnection(url + "&currentSchema=" + SCHEMA);
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET client_min_messages = warning");
            statement.execute("DROP SCHEMA IF EXISTS " + SCHEMA + " CASCADE");
            statement.execute("CREATE SCHEMA " + SCHEMA);
            try (var script = JobStoreTX.class.getResourceAsStream("tables_postgres.sql")) {
                statement.execute(new String(script.readAllBytes()).replaceAll("(?m)^\\s*--.*$", ""));
            }
        }
        DBConnectionManager.getInstance().addConnectionProvider("golden", new ConnectionProvider() {
            @Override
            public Connection getConnection() throws SQLException {
                return DriverManager.getConnection(url + "&currentSchema=" + SCHEMA);
            }

            @Override
            public void initialize() {}

            @Override
            public void shutdown() {}
        });
        CascadingClassLoadHelper classes = new CascadingClassLoadHelper();
        classes.initialize();
        quartz.setInstanceName("GoldenSched");
        quartz.setInstanceId("GOLDEN");
        quartz.setDataSource("golden");
        quartz.setDriverDelegateClass("org.quartz.impl.jdbcjobstore.PostgreSQLDelegate");
        quartz.setTablePrefix("QRTZ_");
        quartz.setUseProperties(String.valueOf(useProperties));
        quartz.setIsClustered(true);
        quartz.initialize(classes, new Silent());
        if (running) {
            quartz.schedulerResumed();
        }
    }

    /** The sections of the tables, as a record's `changed` has them. */
    Map<String, Object> sections() throws SQLException {
        Map<String, Object> sections = new LinkedHashMap<>();
        List<Object> triggers = new ArrayList<>();
        for (Map<String, Object> row : rows("TRIGGERS", "ORDER BY 1, 2, 3")) {
            Map<String, Object> trigger = Json.object(
                "name", row.get("trigger_name"), "group", row.get("trigger_group"),
                "job", row.get("job_group") + "." + row.get("job_name"), "state", row.get("trigger_state"),
                "next", row.get("next_fire_time"), "prev", row.get("prev_fire_time"), "start", row.get("start_time"),
                "end", row.get("end_time"), "type", row.get("trigger_type"), "misfire", row.get("misfire_instr"),
                "priority", row.get("priority"));
            if (row.get("calendar_name") != null) {
                trigger.put("calendar", row.get("calendar_name"));
            }
            trigger.put("detail", detail(row));
            triggers.add(trigger);
        }
        sections.put("triggers", triggers);
        List<Object> jobs = new ArrayList<>();
        for (Map<String, Object> row : rows("JOB_DETAILS", "ORDER BY 1, 2, 3")) {
            jobs.add(Json.object(
                "name", row.get("job_name"), "group", row.get("job_group"), "class", row.get("job_class_name"),
                "durable", row.get("is_durable"), "recovery", row.get("requests_recovery"),
                "description", row.get("description")));
        }
        sections.put("jobs", jobs);
        sections.put("paused_groups", names("PAUSED_TRIGGER_GRPS", "trigger_group"));
        sections.put("calendars", names("CALENDARS", "calendar_name"));
        List<Object> fired = new ArrayList<>();
        for (Map<String, Object> row : rows("FIRED_TRIGGERS", "ORDER BY entry_id")) {
            String id = (String) row.get("entry_id");
            if (!entries.contains(id)) {
                entries.add(id);
            }
            Object job = row.get("job_name") == null ? null : row.get("job_group") + "." + row.get("job_name");
            fired.add(Json.object(
                "entry", "FT#" + (entries.indexOf(id) + 1),
                "trigger", row.get("trigger_group") + "." + row.get("trigger_name"), "state", row.get("state"),
                "fired", NOW, "sched", row.get("sched_time"), "priority", row.get("priority"), "job", job,
                "nonconcurrent", Boolean.TRUE.equals(row.get("is_nonconcurrent")),
                "recovery", Boolean.TRUE.equals(row.get("requests_recovery"))));
        }
        sections.put("fired", fired);
        return sections;
    }

    /** The row of the trigger's kind, without what names it and what is NULL. */
    private Map<String, Object> detail(Map<String, Object> trigger) throws SQLException {
        String kind = switch ((String) trigger.get("trigger_type")) {
            case "SIMPLE" -> "SIMPLE";
            case "CRON" -> "CRON";
            default -> "SIMPROP";
        };
        String condition = String.format(
            "WHERE trigger_group = '%s' AND trigger_name = '%s'", trigger.get("trigger_group"), trigger.get("trigger_name"));
        Map<String, Object> detail = rows(kind + "_TRIGGERS", condition).get(0);
        detail.keySet().removeAll(List.of("trigger_group", "trigger_name"));
        detail.values().removeIf(value -> value == null);
        return detail;
    }

    private List<Object> names(String table, String column) throws SQLException {
        List<Object> names = new ArrayList<>();
        for (Map<String, Object> row : rows(table, "ORDER BY 1, 2")) {
            names.add(row.get(column));
        }
        return names;
    }

    private List<Map<String, Object>> rows(String table, String rest) throws SQLException {
        List<Map<String, Object>> rows = new ArrayList<>();
        try (Statement statement = connection.createStatement();
            ResultSet found = statement.executeQuery("SELECT * FROM QRTZ_" + table + " " + rest)) {
            ResultSetMetaData columns = found.getMetaData();
            while (found.next()) {
                Map<String, Object> row = new LinkedHashMap<>();
                for (int i = 1; i <= columns.getColumnCount(); i++) {
                    row.put(columns.getColumnName(i), found.getObject(i));
                }
                row.remove("sched_name");
                rows.add(row);
            }
        }
        return rows;
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }

    /** Nobody is to be told. */
    private static final class Silent implements SchedulerSignaler {
        @Override
        public void notifyTriggerListenersMisfired(org.quartz.Trigger trigger) {}

        @Override
        public void notifySchedulerListenersFinalized(org.quartz.Trigger trigger) {}

        @Override
        public void notifySchedulerListenersJobDeleted(org.quartz.JobKey key) {}

        @Override
        public void signalSchedulingChange(long candidate) {}

        @Override
        public void notifySchedulerListenersError(String text, org.quartz.SchedulerException error) {}
    }
}
