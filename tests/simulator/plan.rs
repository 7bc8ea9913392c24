//! The plan of a run: its cluster, its work and its classes of faults, each switched on or off by
//! the seed.

use super::dice::Dice;
use super::java;
use std::collections::BTreeSet;
use std::time::Duration;

pub const MS: u64 = 1_000;
pub const SECOND: u64 = 1_000 * MS;

/// The longest check-in interval.
const LONG_CHECKIN: Duration = Duration::from_secs(15);

/// The store of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Memory,
    Sqlite,
}

/// The things that happen to a cluster by themselves, at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A node dies.
    Kill,
    /// A node is told to end.
    ShutDown,
    /// All nodes die.
    KillAll,
    /// A node stands still, and goes on.
    Stop,
    /// A node stands still for about as long as others take to miss it, while its runs are long.
    Sleep,
    /// A node does not reach the store.
    Away,
    /// Nobody reaches the store.
    AwayForAll,
    /// Somebody sets the wall clock of a node.
    SetClock,
    /// Somebody sets the clock of the store.
    SetStoreClock,
    /// An operator does something.
    Operate,
    /// The store loses commits that it had answered: a replica takes its place.
    Promote,
    /// Somebody's transaction holds the row of a fire.
    Hold,
    /// A node of Quartz is there, and does something.
    Visit,
}

impl Event {
    /// The name in a cut.
    fn name(self) -> &'static str {
        match self {
            Event::Kill => "kill",
            Event::ShutDown => "shut-down",
            Event::KillAll => "kill-all",
            Event::Stop => "stop",
            Event::Sleep => "sleep",
            Event::Away => "away",
            Event::AwayForAll => "away-for-all",
            Event::SetClock => "set-clock",
            Event::SetStoreClock => "set-store-clock",
            Event::Operate => "operate",
            Event::Promote => "promote",
            Event::Hold => "hold",
            Event::Visit => "visit",
        }
    }
}

/// The chances of faults of a transaction, in ten thousand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chances {
    /// The node dies before, in or after it.
    pub crash: u64,
    /// A statement of it fails.
    pub statement: u64,
    /// The answer of its commit is lost, with or without the commit.
    pub answer: u64,
    /// The node stands still before or after it.
    pub stop: u64,
    /// The answer takes its time.
    pub slow: u64,
}

impl Chances {
    /// Each with its name in a cut.
    fn by_name(&mut self) -> [(&'static str, &mut u64); 5] {
        [
            ("crash", &mut self.crash),
            ("statement", &mut self.statement),
            ("answer", &mut self.answer),
            ("pause", &mut self.stop),
            ("slow", &mut self.slow),
        ]
    }
}

/// A trigger with a strict grid of due times, and how its job runs.
#[derive(Clone, Debug)]
pub struct Grid {
    pub name: String,
    pub every: Duration,
    pub fires: u32,
    /// The fires that it has if the grids are not short.
    long_fires: u32,
    /// The length of a run, in microseconds, and of one run in twenty.
    pub length: u64,
    pub long: u64,
    pub alone: bool,
    /// The job has a second trigger, half a period later.
    pub has_sibling: bool,
    /// The job counts its runs in its data.
    pub counts: bool,
    /// The runs in ten thousand that fail or panic.
    pub fails: u64,
    /// The job asks for recovery: what a death interrupts is run again.
    pub recovers: bool,
}

/// A trigger whose delay counts from the ends of its runs.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    pub delay: Duration,
    pub fires: u32,
    /// The length of a run, in microseconds.
    pub length: u64,
}

/// The part of a run that follows from the seed alone.
#[derive(Clone, Debug)]
pub struct Plan {
    pub nodes: usize,
    pub workers: u32,
    checkin: Duration,
    pub poll: Duration,
    pub take_ahead: Duration,
    /// The clocks of the nodes run so many millionths too fast or too slow, at most.
    pub drift: u64,
    /// The clock of the store runs so many millionths too fast.
    pub store_drift: i64,
    /// Nodes come back under their old names.
    pub same_names: bool,
    /// Each node has settings of its own.
    pub mixed: bool,
    /// Some nodes have newer code, which reads and writes the jobs' data in another form.
    pub versions: bool,
    /// Grids end while there are faults.
    pub short: bool,
    /// Grids are of different priorities, nodes take the most important first, and a recovery mode
    /// begins after an outage.
    pub priorities: bool,
    /// A node that was told to end takes no longer.
    pub deadline: Duration,
    /// The job that operators trigger by hand runs once at a time.
    pub manual_alone: bool,
    /// The end of the faults, in microseconds.
    pub calm: u64,
    pub chances: Chances,
    /// Each class that is on, with the mean time between two of its events in microseconds.
    pub events: Vec<(Event, u64)>,
    pub grids: Vec<Grid>,
    pub series: Vec<Series>,
}

impl Plan {
    pub fn draw(seed: u64) -> Self {
        let dice = &mut Dice::new(seed ^ 0x7061_6c6e);
        let calm = dice.between(20, 60) * SECOND;
        let mut on = |rate: &[u64]| if dice.chance(5_000) { dice.pick(rate) } else { 0 };
        let chances = Chances {
            crash: on(&[2, 5, 20]),
            statement: on(&[10, 50, 300]),
            answer: on(&[10, 50, 300]),
            stop: on(&[2, 10]),
            slow: on(&[20, 200]),
        };
        let mut events = Vec::new();
        let classes = [
            (Event::Kill, 3),
            (Event::KillAll, 30),
            (Event::Stop, 6),
            (Event::Away, 10),
            (Event::AwayForAll, 20),
            (Event::SetClock, 8),
            (Event::Operate, 1),
            (Event::Hold, 2),
            (Event::Promote, 8),
        ];
        for (event, mean) in classes {
            // A promotion excuses what else would be a failure.
            if dice.chance(if event == Event::Promote { 1_500 } else { 5_000 }) {
                events.push((event, mean * SECOND * dice.pick(&[1, 2, 4]) / 2));
            }
        }
        if events.is_empty() {
            events.push((Event::Kill, 3 * SECOND));
        }
        let mut grids: Vec<Grid> = (0..dice.between(3, 8)).map(|at| Grid::draw(dice, at, calm)).collect();
        // The numbers of earlier versions stay as they were.
        let later = &mut Dice::new(seed ^ 0x0073_6572_6965_7300);
        let series = (0..later.below(3)).map(|at| Series::draw(later, at, calm)).collect();
        for grid in grids.iter_mut().filter(|grid| !grid.counts) {
            grid.recovers = later.chance(7_000);
        }
        if later.chance(2_000) {
            events.push((Event::SetStoreClock, 16 * SECOND));
        }
        if later.chance(1_500) {
            events.push((Event::Visit, java::MEAN));
        }
        let store_drift = later.pick(&[0, 0, 200, -200]);
        let latest = &mut Dice::new(seed ^ 0x0065_6e64_7300);
        if latest.chance(3_000) {
            events.push((Event::ShutDown, latest.pick(&[2, 4, 8]) * SECOND));
        }
        let deadline = Duration::from_secs(latest.pick(&[2, 30]));
        // A node of Quartz runs jobs of every version.
        let versions = latest.chance(2_000) && !events.iter().any(|(event, _)| *event == Event::Visit);
        let short = latest.chance(3_000);
        for grid in grids.iter_mut().filter(|_| short) {
            grid.fires = (grid.fires * u32::try_from(latest.between(10, 100)).expect("small") / 100).max(2);
        }
        if latest.chance(1_500) {
            events.push((Event::Sleep, 8 * SECOND));
        }
        let priorities = Dice::new(seed ^ 0x0070_7269_6f00).chance(2_000);
        Self {
            store_drift,
            nodes: usize::try_from(dice.between(2, 7)).expect("few nodes"),
            workers: u32::try_from(dice.between(2, 8)).expect("few workers"),
            checkin: Duration::from_secs(dice.pick(&[1, 2, 5, 15])),
            poll: Duration::from_millis(dice.pick(&[240, 1_000])),
            take_ahead: Duration::from_millis(dice.pick(&[0, 0, 20, 200])),
            drift: dice.pick(&[0, 100, 1_000]),
            same_names: dice.chance(2_500),
            mixed: dice.chance(4_000),
            versions,
            short,
            priorities,
            deadline,
            manual_alone: dice.chance(5_000),
            calm,
            chances,
            events,
            grids,
            series,
        }
    }

    /// The check-in interval of nodes without settings of their own.
    pub fn checkin(&self) -> Duration {
        if self.has(Event::Sleep) { LONG_CHECKIN } else { self.checkin }
    }

    /// The longest check-in interval that a node of it has, in microseconds.
    pub fn longest_checkin(&self) -> u64 {
        let longest = if self.mixed { LONG_CHECKIN } else { self.checkin() };
        u64::try_from(longest.as_micros()).expect("a short time")
    }

    /// The time that all runs of all grids take, if one run in ten is long and, where runs sleep,
    /// one in six sleeps for half a minute.
    pub fn work(&self) -> u64 {
        let triggers = |grid: &Grid| u64::from(grid.fires) * if grid.has_sibling { 2 } else { 1 };
        let sleep = |grid: &Grid| if self.has(Event::Sleep) && !grid.alone { 5 * SECOND } else { 0 };
        self.grids.iter().map(|grid| triggers(grid) * (grid.length + grid.long / 10 + sleep(grid))).sum()
    }

    /// True if this class of events is on.
    pub fn has(&self, event: Event) -> bool {
        self.events.iter().any(|(one, _)| *one == event)
    }

    /// The names of all that a cut may leave out.
    pub fn parts(&self) -> BTreeSet<String> {
        let mut chances = self.chances;
        let chances = chances.by_name().map(|(name, chance)| (*chance > 0).then(|| name.to_owned()));
        let others = [
            (self.drift > 0, "drift"),
            (self.store_drift != 0, "store-drift"),
            (self.same_names, "same-names"),
            (self.mixed, "mixed"),
            (self.short, "short"),
            (self.priorities, "priorities"),
            (self.versions, "versions"),
        ];
        let grids = self.grids.iter().filter(|_| self.grids.len() > 1).map(|grid| grid.name.clone());
        grids
            .chain(self.series.iter().map(|series| series.name.clone()))
            .chain(self.events.iter().map(|(event, _)| event.name().to_owned()))
            .chain(chances.into_iter().flatten())
            .chain(others.into_iter().filter(|(is_there, _)| *is_there).map(|(_, name)| name.to_owned()))
            .collect()
    }

    pub fn leave_out(&mut self, name: &str) {
        self.grids.retain(|grid| grid.name != name);
        self.series.retain(|series| series.name != name);
        self.events.retain(|(event, _)| event.name() != name);
        for (_, chance) in self.chances.by_name().into_iter().filter(|(one, _)| *one == name) {
            *chance = 0;
        }
        match name {
            "drift" => self.drift = 0,
            "store-drift" => self.store_drift = 0,
            "same-names" => self.same_names = false,
            "mixed" => self.mixed = false,
            "versions" => self.versions = false,
            "priorities" => self.priorities = false,
            "short" => {
                self.short = false;
                self.grids.iter_mut().for_each(|grid| grid.fires = grid.long_fires);
            }
            _ => {}
        }
    }
}

impl Grid {
    /// The triggers of the job, each with the lateness of its start in milliseconds.
    pub fn triggers(&self) -> Vec<(String, i64)> {
        let half = i64::try_from(self.every.as_millis() / 2).expect("a short time");
        let sibling = self.has_sibling.then(|| (format!("{}-sibling", self.name), half));
        std::iter::once((self.name.clone(), 0)).chain(sibling).collect()
    }

    /// True if this is the key of one of its triggers.
    pub fn is_of(&self, trigger: &str) -> bool {
        self.triggers().iter().any(|(name, _)| *trigger == format!("grid.{name}"))
    }

    fn draw(dice: &mut Dice, at: u64, calm: u64) -> Self {
        let every = dice.between(300, 5_000) * MS;
        let alone = dice.chance(4_000);
        let counts = alone && dice.chance(5_000);
        let has_sibling = alone && dice.chance(5_000);
        let length = dice.between(0, if has_sibling { every / 5 } else { every * 2 / 5 });
        let fires = u32::try_from((calm * 11 / 10 / every).clamp(3, 200)).expect("few fires");
        Self {
            name: format!("g{at}"),
            every: Duration::from_micros(every),
            fires,
            long_fires: fires,
            length,
            long: if dice.chance(3_000) && !alone { dice.between(length, 30 * SECOND) } else { length },
            alone,
            has_sibling,
            counts,
            fails: if counts { 0 } else { dice.pick(&[0, 0, 500]) },
            recovers: true,
        }
    }
}

impl Series {
    fn draw(dice: &mut Dice, at: u64, calm: u64) -> Self {
        let (delay, length) = (dice.between(300, 3_000) * MS, dice.between(0, SECOND));
        Self {
            name: format!("d{at}"),
            delay: Duration::from_micros(delay),
            fires: u32::try_from((calm / (delay + length)).clamp(2, 40)).expect("few fires"),
            length,
        }
    }
}
