//! Machine: where a node learns how the machine is doing that it runs on.

mod files;
mod process;
#[cfg(feature = "signals")]
mod stop_signals;

pub use files::MachineFiles;
pub use process::Process;
pub(crate) use process::{Living, lives_here};
#[cfg(feature = "signals")]
pub use stop_signals::StopSignals;

use crate::node::MachineLoad;
use std::fmt;
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// A reading of a machine at one moment. Values that cannot be learned are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineReading {
    /// The processors that this process may use at the same time.
    pub cores: Option<u32>,
    /// The busy time of all processors together, in ticks of the system.
    pub host_busy_ticks: Option<u64>,
    /// The whole time of all processors, busy or not.
    pub host_all_ticks: Option<u64>,
    /// The processor time of this process, in the same ticks.
    pub process_ticks: Option<u64>,
    /// The machine's memory, in bytes.
    pub memory_total: Option<u64>,
    /// The memory that could be had at once, in bytes.
    pub memory_available: Option<u64>,
    /// The memory that the process has, in bytes.
    pub process_memory: Option<u64>,
    /// The memory that the process may have, in bytes.
    pub memory_limit: Option<u64>,
    /// The threads of the process.
    pub threads: Option<u32>,
}

impl MachineReading {
    /// The load of the machine, its processors' since the reading before.
    pub fn load_since(&self, before: &MachineReading) -> MachineLoad {
        let past = |now: Option<u64>, before: Option<u64>| now?.checked_sub(before?);
        let all = past(self.host_all_ticks, before.host_all_ticks).filter(|all| *all > 0);
        let share = |part: Option<u64>| {
            let permille = part?.saturating_mul(1000) / all?;
            u32::try_from(permille.min(1000)).ok()
        };
        let total = self.memory_total;
        MachineLoad {
            cores: self.cores,
            host_cpu_permille: share(past(self.host_busy_ticks, before.host_busy_ticks)),
            process_cpu_permille: share(past(self.process_ticks, before.process_ticks)),
            memory_total: total,
            memory_used: past(total, self.memory_available),
            process_memory: self.process_memory,
            // Some systems without a limit show one that is larger than any machine.
            memory_limit: self.memory_limit.filter(|limit| total.is_none_or(|total| *limit < total)),
            threads: self.threads,
        }
    }
}

/// The machine that a node runs on.
///
/// ```
/// use carnelian::Scheduler;
/// use carnelian::machine::{Machine, MachineReading};
/// use std::net::IpAddr;
/// use std::sync::Arc;
///
/// #[derive(Debug)]
/// struct Lab;
/// impl Machine for Lab {
///     fn read(&self) -> MachineReading {
///         MachineReading { cores: Some(64), ..MachineReading::default() }
///     }
///     fn host(&self) -> Option<String> {
///         Some("lab".to_owned())
///     }
///     fn address(&self) -> Option<IpAddr> {
///         "192.0.2.7".parse().ok()
///     }
/// }
/// let scheduler = Scheduler::builder().machine(Arc::new(Lab)).build()?;
/// scheduler.start()?;
/// let node = scheduler.instances()?.remove(0).node.ok_or("a node of ours")?;
/// assert_eq!(node.info.node_name, "192.0.2.7_lab");
/// assert_eq!(node.info.load.cores, Some(64));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Machine: Send + Sync + fmt::Debug {
    /// Reads the machine. Each check-in asks before it begins, so that the answer must not wait for
    /// anything.
    fn read(&self) -> MachineReading;

    /// The host name of the machine.
    fn host(&self) -> Option<String>;

    /// The address of the machine, as others see it.
    fn address(&self) -> Option<IpAddr>;
}

/// The address from which a packet would leave the machine. None is sent: the system only chooses
/// the way.
pub(crate) fn own_address() -> Option<IpAddr> {
    // Addresses for documentation: nobody has them, so the way is the default one.
    let ways: [(SocketAddr, SocketAddr); 2] = [
        (([0, 0, 0, 0], 0).into(), ([192, 0, 2, 1], 9).into()),
        (([0_u16; 8], 0).into(), ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 9).into()),
    ];
    ways.into_iter().find_map(|(from, to)| {
        let socket = UdpSocket::bind(from).ok()?;
        socket.connect(to).ok()?;
        Some(socket.local_addr().ok()?.ip()).filter(|ip| !ip.is_unspecified())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(busy: u64, all: u64, process: u64) -> MachineReading {
        MachineReading {
            host_busy_ticks: Some(busy),
            host_all_ticks: Some(all),
            process_ticks: Some(process),
            ..MachineReading::default()
        }
    }

    /// LT-32: the load is that of the time between two readings.
    #[test]
    fn load_is_what_was_used_since_the_last_reading() {
        let load = reading(1500, 2000, 250).load_since(&reading(1000, 1000, 50));
        assert_eq!((load.host_cpu_permille, load.process_cpu_permille), (Some(500), Some(200)));
        // The first reading, one without time in between, and one of a machine that began anew.
        for before in [MachineReading::default(), reading(1500, 2000, 250), reading(9000, 9000, 9000)] {
            let load = reading(1500, 2000, 250).load_since(&before);
            assert_eq!((load.host_cpu_permille, load.process_cpu_permille), (None, None), "{before:?}");
        }
    }

    /// LT-33, LT-34: what is in use is what is not to be had; a limit above the memory is none.
    #[test]
    fn memory_is_what_is_there_less_what_is_to_be_had() {
        let mut now = MachineReading {
            memory_total: Some(1000),
            memory_available: Some(300),
            memory_limit: Some(400),
            ..MachineReading::default()
        };
        let load = now.load_since(&MachineReading::default());
        assert_eq!((load.memory_total, load.memory_used, load.memory_limit), (Some(1000), Some(700), Some(400)));
        now.memory_limit = Some(u64::MAX / 2);
        now.memory_available = Some(2000);
        let load = now.load_since(&MachineReading::default());
        assert_eq!((load.memory_used, load.memory_limit), (None, None));
    }
}
