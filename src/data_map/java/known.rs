//! The classes of a stored `JobDataMap`, with the numbers by which Java knows them.

use std::sync::{Arc, LazyLock};

use crate::java::{FieldSpec, Graph, NodeId, flag};

/// A graph that holds only class descriptors.
pub(super) struct Known {
    pub(super) graph: Arc<Graph>,
    pub(super) job_data_map: NodeId,
    pub(super) hash_map: NodeId,
}

pub(super) const DIRTY_FLAG_MAP: &str = "org.quartz.utils.DirtyFlagMap";

pub(super) static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    const DATA: u8 = flag::SERIALIZABLE;
    let mut graph = Graph::default();
    let fields = [FieldSpec::Primitive(b'Z', "dirty"), FieldSpec::Reference("map", "Ljava/util/Map;")];
    let dirty_flag_map = graph.add_class(DIRTY_FLAG_MAP, 0x13E6_2EAD_2876_0ACE, DATA, &fields, None);
    let string_key_map = graph.add_class(
        "org.quartz.utils.StringKeyDirtyFlagMap",
        0x8208_E8C3_FBC5_5D28,
        DATA,
        &[FieldSpec::Primitive(b'Z', "allowsTransientData")],
        Some(dirty_flag_map),
    );
    let job_data_map = graph.add_class("org.quartz.JobDataMap", 0x9FB0_83E8_BFA9_B0CB, DATA, &[], Some(string_key_map));
    let fields = [FieldSpec::Primitive(b'F', "loadFactor"), FieldSpec::Primitive(b'I', "threshold")];
    let own_form = DATA | flag::WRITE_METHOD;
    let hash_map = graph.add_class("java.util.HashMap", 0x0507_DAC1_C316_60D1, own_form, &fields, None);
    Known { job_data_map, hash_map, graph: Arc::new(graph) }
});
