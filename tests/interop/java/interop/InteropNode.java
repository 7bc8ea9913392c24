package interop;

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import org.quartz.Scheduler;
import org.quartz.impl.StdSchedulerFactory;

/**
 * A node of real Quartz with the demo jobs: InteropNode FILE INSTANCE, the properties file that demo_node reads too, and
 * the instance's id: what Quartz makes of AUTO is the same for two nodes that one machine starts in one millisecond.
 *
 * Prints READY and its instance's name when it is started; then each line of standard input is a command, answered by a
 * line that begins with OK or ERROR. At the end of the input it shuts down as a Java application would and exits 0.
 */
public final class InteropNode {
    private InteropNode() {}

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        try (InputStream in = new FileInputStream(arguments[0])) {
            properties.load(in);
        }
        properties.setProperty("org.quartz.scheduler.instanceId", arguments[1]);
        EventLog.open(properties.getProperty("demo.log.file"));
        Scheduler scheduler = new StdSchedulerFactory(properties).getScheduler();
        scheduler.start();
        System.out.println("READY " + scheduler.getSchedulerInstanceId());

        Commands commands = new Commands(scheduler);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = "OK " + commands.run(line);
            } catch (Exception e) {
                e.printStackTrace();
                answer = "ERROR " + e;
            }
            System.out.println(answer.replace('\n', ' '));
        }
        scheduler.shutdown(true);
        System.exit(0);
    }
}
