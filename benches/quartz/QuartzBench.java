import java.io.FileInputStream;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.quartz.Job;
import org.quartz.JobBuilder;
import org.quartz.JobDetail;
import org.quartz.JobExecutionContext;
import org.quartz.Scheduler;
import org.quartz.SchedulerException;
import org.quartz.SimpleScheduleBuilder;
import org.quartz.Trigger;
import org.quartz.TriggerBuilder;
import org.quartz.impl.StdSchedulerFactory;

/**
 * Real Quartz at the work that `carnelian bench` does: QuartzBench FILE WORK NUMBER…, with a properties file of Quartz.
 *
 * Prints a figure a line, as `"name": number`; what fails ends the program. What has to be warm in Java is warm: each work
 * has a first round, or first fires, that do not count.
 *
 *   drain N ROUNDS SECONDS  one-shots that are all due; the median of the rounds, each of which ends after so many seconds
 *   paced N TIMES           triggers that repeat every second, spread over it
 *   latency N               from the beginning of a call that schedules to the begin of the job, in milliseconds
 *   calls N THREADS BULK    scheduling calls of one thread, of several, of job and trigger, and BULK triggers in one call
 */
public final class QuartzBench {
    /** So many fires before those that count. */
    private static final int WARM = 2000;

    private static final AtomicInteger ran = new AtomicInteger();
    private static final AtomicLong lastBegan = new AtomicLong();
    private static volatile CountDownLatch expected = new CountDownLatch(0);
    /** Of jobs that have begun, in microseconds: since their scheduled time, or since the call that stored them. */
    private static final List<Long> late = Collections.synchronizedList(new ArrayList<>());
    private static final Map<String, Long> called = Collections.synchronizedMap(new HashMap<>());

    private final Properties properties;

    private QuartzBench(Properties properties) {
        this.properties = properties;
    }

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        try (InputStream in = new FileInputStream(arguments[0])) {
            properties.load(in);
        }
        int[] numbers = Arrays.stream(arguments).skip(2).mapToInt(Integer::parseInt).toArray();
        QuartzBench bench = new QuartzBench(properties);
        int code = 1;
        try {
            switch (arguments[1]) {
                case "drain" -> bench.drain(numbers[0], numbers[1], numbers[2]);
                case "paced" -> bench.paced(numbers[0], numbers[1]);
                case "latency" -> bench.latency(numbers[0]);
                case "calls" -> bench.calls(numbers[0], numbers[1], numbers[2]);
                default -> throw new IllegalArgumentException("no such work: " + arguments[1]);
            }
            code = 0;
        } catch (Throwable why) {
            why.printStackTrace();
        }
        // Threads of Quartz would keep the process.
        System.exit(code);
    }

    /** The job of drains: nothing but that it began. */
    public static final class Nothing implements Job {
        @Override
        public void execute(JobExecutionContext context) {
            lastBegan.accumulateAndGet(System.nanoTime(), Math::max);
            ran.incrementAndGet();
            expected.countDown();
        }
    }

    /** The job of triggers that repeat: how long after its scheduled time it began. */
    public static final class Late implements Job {
        @Override
        public void execute(JobExecutionContext context) {
            late.add((System.currentTimeMillis() - context.getScheduledFireTime().getTime()) * 1000);
            expected.countDown();
        }
    }

    /** The job of latency: how long after the beginning of the call it began. */
    public static final class Called implements Job {
        @Override
        public void execute(JobExecutionContext context) {
            long began = System.nanoTime();
            late.add((began - called.get(context.getTrigger().getKey().getName())) / 1000);
            expected.countDown();
        }
    }

    private void drain(int triggers, int rounds, int seconds) throws Exception {
        drained("warm", Math.min(triggers, WARM), seconds);
        List<Double> rates = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
            rates.add(drained("due-" + round, triggers, seconds));
        }
        Collections.sort(rates);
        print("fires_per_second", rates.get(rates.size() / 2));
    }

    private double drained(String name, int triggers, int seconds) throws Exception {
        Scheduler scheduler = open(Nothing.class);
        for (int stored = 0; stored < triggers; stored += 500) {
            scheduler.scheduleJobs(due(name + "-" + stored + "-", Math.min(500, triggers - stored)), false);
        }
        ran.set(0);
        expected = new CountDownLatch(triggers);
        long start = System.nanoTime();
        scheduler.start();
        boolean all = expected.await(seconds, TimeUnit.SECONDS);
        int begun = all ? triggers : ran.get();
        long took = (all ? lastBegan.get() : System.nanoTime()) - start;
        scheduler.shutdown(true);
        return begun / (took / 1e9);
    }

    private void paced(int triggers, int times) throws Exception {
        // As much time to store them as it takes, so that it does not begin with a backlog.
        Scheduler scheduler = open(Late.class);
        long ahead = 2000 + triggers / 20;
        while (true) {
            long first = System.currentTimeMillis() + ahead;
            Set<Trigger> all = new HashSet<>();
            for (int n = 0; n < triggers; n++) {
                all.add(TriggerBuilder.newTrigger().withIdentity("paced-" + n).forJob("job")
                        .startAt(new Date(first + n * 1000L / triggers))
                        .withSchedule(SimpleScheduleBuilder.simpleSchedule().withIntervalInMilliseconds(1000)
                                .withRepeatCount(times - 1).withMisfireHandlingInstructionIgnoreMisfires())
                        .build());
            }
            scheduler.scheduleJobs(Map.of(job("job", Late.class), all), true);
            if (first - System.currentTimeMillis() >= 1000) {
                break;
            }
            ahead *= 4;
        }
        expected = new CountDownLatch(triggers * times);
        scheduler.start();
        expected.await(ahead / 1000 + times + 30, TimeUnit.SECONDS);
        scheduler.shutdown(true);
        print("fires", late.size());
        // The second fire of each and all that follow count: at the first nobody is warm.
        percentiles(late.subList(late.size() > triggers ? triggers : 0, late.size()));
    }

    private void latency(int samples) throws Exception {
        Scheduler scheduler = open(Called.class);
        scheduler.start();
        for (int sample = -samples / 4; sample < samples; sample++) {
            if (sample == 0) {
                late.clear();
            }
            expected = new CountDownLatch(1);
            called.put("sample-" + sample, System.nanoTime());
            scheduler.scheduleJob(now("sample-" + sample));
            if (!expected.await(60, TimeUnit.SECONDS)) {
                throw new IllegalStateException("sample " + sample + " was not fired within a minute");
            }
            Thread.sleep(20);
        }
        scheduler.shutdown(true);
        percentiles(late);
    }

    private void calls(int calls, int threads, int bulk) throws Exception {
        Scheduler scheduler = open(Nothing.class);
        rate(scheduler, "warm", calls / 4, 1, false);
        print("one_thread", rate(scheduler, "one", calls, 1, false));
        print("threads", rate(scheduler, "all", calls, threads, false));
        print("job_and_trigger", rate(scheduler, "both", calls, 1, true));
        long start = System.nanoTime();
        scheduler.scheduleJobs(tomorrow("bulk-", bulk), false);
        print("bulk", bulk / ((System.nanoTime() - start) / 1e9));
        scheduler.shutdown(true);
    }

    /** Calls a second, of several threads. */
    private double rate(Scheduler scheduler, String name, int calls, int threads, boolean withJob) throws Exception {
        List<Thread> callers = new ArrayList<>();
        List<Exception> failed = Collections.synchronizedList(new ArrayList<>());
        long start = System.nanoTime();
        for (int thread = 0; thread < threads; thread++) {
            String prefix = name + "-" + thread + "-";
            Thread caller = new Thread(() -> {
                try {
                    for (int n = 0; n < calls / threads; n++) {
                        if (withJob) {
                            JobDetail job = job(prefix + n, Nothing.class);
                            scheduler.scheduleJob(job, later(prefix + n, null));
                        } else {
                            scheduler.scheduleJob(later(prefix + n, "job"));
                        }
                    }
                } catch (Exception e) {
                    failed.add(e);
                }
            });
            caller.start();
            callers.add(caller);
        }
        for (Thread caller : callers) {
            caller.join();
        }
        if (!failed.isEmpty()) {
            throw failed.get(0);
        }
        return calls / threads * threads / ((System.nanoTime() - start) / 1e9);
    }

    /** A scheduler that is not started, with a durable job that is named `job`. */
    private Scheduler open(Class<? extends Job> type) throws SchedulerException {
        Scheduler scheduler = new StdSchedulerFactory(properties).getScheduler();
        scheduler.addJob(job("job", type), true);
        return scheduler;
    }

    private static JobDetail job(String name, Class<? extends Job> type) {
        return JobBuilder.newJob(type).withIdentity(name).storeDurably(name.equals("job")).build();
    }

    private static Map<JobDetail, Set<? extends Trigger>> due(String prefix, int triggers) {
        return many(prefix, triggers, new Date());
    }

    private static Map<JobDetail, Set<? extends Trigger>> tomorrow(String prefix, int triggers) {
        return many(prefix, triggers, new Date(System.currentTimeMillis() + 86_400_000));
    }

    /** One-shots of one job, which is stored with the first of them; a job of their own, as the call of Quartz wants it. */
    private static Map<JobDetail, Set<? extends Trigger>> many(String prefix, int triggers, Date at) {
        JobDetail job = JobBuilder.newJob(Nothing.class).withIdentity(prefix + "job").storeDurably().build();
        Set<Trigger> of = new HashSet<>();
        for (int n = 0; n < triggers; n++) {
            of.add(TriggerBuilder.newTrigger().withIdentity(prefix + n).forJob(job).startAt(at).build());
        }
        return Map.of(job, of);
    }

    private static Trigger now(String name) {
        return TriggerBuilder.newTrigger().withIdentity(name).forJob("job").startNow().build();
    }

    private static Trigger later(String name, String job) {
        TriggerBuilder<Trigger> trigger = TriggerBuilder.newTrigger().withIdentity(name)
                .startAt(new Date(System.currentTimeMillis() + 86_400_000));
        return job == null ? trigger.build() : trigger.forJob(job).build();
    }

    private static void percentiles(List<Long> micros) {
        List<Long> sorted = new ArrayList<>(micros);
        Collections.sort(sorted);
        print("p50", at(sorted, 0.50) / 1e3);
        print("p99", at(sorted, 0.99) / 1e3);
        print("max", at(sorted, 1.0) / 1e3);
    }

    private static long at(List<Long> sorted, double share) {
        return sorted.get((int) Math.min(sorted.size() - 1, Math.ceil(sorted.size() * share) - 1));
    }

    private static void print(String name, double figure) {
        System.out.printf(Locale.ROOT, "\"%s\": %.3f%n", name, figure);
    }
}
