//! Carnelian: a clustered job scheduler with the model and the tables of Quartz.

pub mod settings;
