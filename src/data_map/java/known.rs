//! The classes that are written here, with the numbers by which Java knows them.

use std::sync::{Arc, LazyLock};

use super::*;

/// A graph that holds only class descriptors.
pub(super) struct Known {
    pub(super) graph: Arc<Graph>,
    pub(super) job_data_map: NodeId,
    pub(super) hash_map: NodeId,
    pub(super) boolean: NodeId,
    pub(super) character: NodeId,
    pub(super) integer: NodeId,
    pub(super) long: NodeId,
    pub(super) float: NodeId,
    pub(super) double: NodeId,
}

pub(super) const DIRTY_FLAG_MAP: &str = "org.quartz.utils.DirtyFlagMap";

pub(super) static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let mut graph = Graph::default();
    let mut class = |name: &str, uid: u64, flags: u8, fields: &[(u8, &str, Option<&str>)], parent| {
        let mut add = |node| {
            graph.nodes.push(node);
            NodeId(u32::try_from(graph.nodes.len() - 1).unwrap_or(u32::MAX))
        };
        let text = |text: &str| JavaText::Text(text.to_owned());
        let fields = fields.iter().map(|(code, name, type_name)| Field {
            code: *code,
            name: text(name),
            type_name: type_name.map(|type_name| add(Node::Text(text(type_name)))),
        });
        let fields = fields.collect();
        let kind = ClassKind::Plain { name: text(name), uid: uid.cast_signed(), flags, fields };
        add(Node::ClassDesc(ClassDesc { kind, annotation: Vec::new(), parent }))
    };
    const DATA: u8 = flag::SERIALIZABLE;
    const OWN_FORM: u8 = flag::SERIALIZABLE | flag::WRITE_METHOD;

    let dirty_flag_map: &[_] = &[(b'Z', "dirty", None), (b'L', "map", Some("Ljava/util/Map;"))];
    let dirty_flag_map = class(DIRTY_FLAG_MAP, 0x13E6_2EAD_2876_0ACE, DATA, dirty_flag_map, None);
    let string_key_map = class(
        "org.quartz.utils.StringKeyDirtyFlagMap",
        0x8208_E8C3_FBC5_5D28,
        DATA,
        &[(b'Z', "allowsTransientData", None)],
        Some(dirty_flag_map),
    );
    let job_data_map = class("org.quartz.JobDataMap", 0x9FB0_83E8_BFA9_B0CB, DATA, &[], Some(string_key_map));
    let hash_map: &[_] = &[(b'F', "loadFactor", None), (b'I', "threshold", None)];
    let hash_map = class("java.util.HashMap", 0x0507_DAC1_C316_60D1, OWN_FORM, hash_map, None);
    let number = class("java.lang.Number", 0x86AC_951D_0B94_E08B, DATA, &[], None);
    let mut boxed = |name, uid, code, parent| class(name, uid, DATA, &[(code, "value", None)], parent);
    let boolean = boxed("java.lang.Boolean", 0xCD20_7280_D59C_FAEE, b'Z', None);
    let character = boxed("java.lang.Character", 0x348B_47D9_6B1A_2678, b'C', None);
    let integer = boxed("java.lang.Integer", 0x12E2_A0A4_F781_8738, b'I', Some(number));
    let long = boxed("java.lang.Long", 0x3B8B_E490_CC8F_23DF, b'J', Some(number));
    let float = boxed("java.lang.Float", 0xDAED_C9A2_DB3C_F0EC, b'F', Some(number));
    let double = boxed("java.lang.Double", 0x80B3_C24A_296B_FB04, b'D', Some(number));
    Known { job_data_map, hash_map, boolean, character, integer, long, float, double, graph: Arc::new(graph) }
});
