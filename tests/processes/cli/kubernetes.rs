//! The manifest of `docs/kubernetes.md` (DS-66): the loader reads its settings, and its probes run
//! against a node.

use super::node::{Node, until};
use super::{Place, text};
use carnelian::settings::{InstanceIdSetting, Settings};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

struct Manifest {
    yaml: String,
}

impl Manifest {
    fn read() -> Self {
        let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/kubernetes.md")).unwrap();
        let (_, rest) = page.split_once("```yaml\n").unwrap();
        Self { yaml: rest.split_once("\n```").unwrap().0.to_owned() }
    }

    /// The text below `carnelian.properties: |`, without its margin.
    fn properties(&self) -> String {
        let (_, rest) = self.yaml.split_once("  carnelian.properties: |\n").unwrap();
        let lines: Vec<&str> = rest.lines().map_while(|line| line.strip_prefix("    ")).collect();
        assert!(lines.len() > 8, "{lines:?}");
        lines.join("\n")
    }

    /// The values after `key:` in their order.
    fn values(&self, key: &str) -> Vec<&str> {
        let key = format!("{key}: ");
        self.yaml.lines().filter_map(|line| line.trim_start_matches(['-', ' ']).strip_prefix(&*key)).collect()
    }

    /// The names of the variables that the container is given.
    fn variables(&self) -> Vec<&str> {
        let (_, rest) = self.yaml.split_once("          env:\n").unwrap();
        let lines = rest.lines().take_while(|line| line.starts_with("            "));
        lines.filter_map(|line| line.trim_start().strip_prefix("- name: ")).collect()
    }

    /// The commands of the container and of its probes.
    fn commands(&self) -> Vec<Vec<String>> {
        self.values("command").into_iter().map(|list| serde_json::from_str(list).unwrap()).collect()
    }
}

/// The settings by the pod's environment, in a file that must name nothing else.
fn settings(manifest: &Manifest, pod: Option<&str>) -> Settings {
    let variables = manifest.variables();
    Settings::from_text("carnelian.properties", &manifest.properties(), |name| {
        assert!(variables.contains(&name), "the container is not given {name}");
        match name {
            "POD_NAME" => pod.map(str::to_owned),
            "DB_URL" => Some("postgres://billing:secret@db.example.org/jobs".to_owned()),
            "NODE_NAME" => Some("worker-7".to_owned()),
            "ZONE" => Some("eu-west-1".to_owned()),
            _ => None,
        }
    })
    .unwrap()
}

/// DS-66: names come from the pod, and where there is none, one is made.
#[test]
fn the_settings_of_the_manifest_are_read_as_the_guide_says() {
    let manifest = Manifest::read();
    let pod = settings(&manifest, Some("billing-scheduler-7d4b9c-x2x9z"));
    assert_eq!(pod.warnings(), []);
    assert_eq!(pod.scheduler.instance_id, InstanceIdSetting::Fixed("billing-scheduler-7d4b9c-x2x9z".to_owned()));
    assert_eq!(settings(&manifest, None).scheduler.instance_id, InstanceIdSetting::Auto);
    assert_eq!(pod.node.name.as_deref(), Some("worker-7"));
    assert_eq!(pod.node.labels.get("zone"), Some("eu-west-1"));
    assert!(pod.job_store.clustered);
    // Kubernetes must not kill what still ends in an orderly way.
    let grace: Vec<u64> =
        manifest.values("terminationGracePeriodSeconds").iter().map(|seconds| seconds.parse().unwrap()).collect();
    assert_eq!(grace.len(), 1);
    assert!(Duration::from_secs(grace[0]) >= pod.shutdown.deadline + Duration::from_secs(5), "{grace:?}");
}

/// The probes say yes while the node is in the cluster, and no before and after.
#[test]
fn the_probes_of_the_manifest_tell_a_member_from_a_stranger() {
    let manifest = Manifest::read();
    let place = Place::new();
    let config = place.path("carnelian.properties");
    std::fs::write(&config, manifest.properties()).unwrap();
    let url = format!("sqlite:{}", place.path("jobs.db").display());
    let folder = Path::new(env!("CARGO_BIN_EXE_carnelian")).parent().unwrap();
    let search = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let environment: BTreeMap<&str, String> = BTreeMap::from([
        ("POD_NAME", "pod-1".to_owned()),
        ("DB_URL", url),
        ("APP_VERSION", "3.1.4".to_owned()),
        ("CARNELIAN_CONFIG", config.display().to_string()),
        ("PATH", search),
    ]);
    let in_pod = |words: &[String]| {
        let words: Vec<String> = words
            .iter()
            .map(|w| w.replace("/etc/carnelian/carnelian.properties", &config.display().to_string()))
            .collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).envs(&environment).stdin(Stdio::null()).stderr(Stdio::null());
        command.current_dir(place.folder.path());
        command
    };
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let code = |words: &[String]| in_pod(words).stdout(Stdio::null()).status().unwrap().code();
    let commands = manifest.commands();
    let [node, probes @ ..] = &commands[..] else { panic!("{commands:?}") };
    assert_eq!(probes.len(), 2);

    assert_eq!(code(&words("carnelian migrate")), Some(0));
    assert!(probes.iter().all(|probe| code(probe) == Some(1)), "nobody is there");
    let running = Node::spawn(&mut in_pod(node));
    assert!(probes.iter().all(|probe| code(probe) == Some(0)), "it is a member");
    assert_eq!(code(&words("carnelian check --min-nodes 1 --max-overdue 10")), Some(0));
    let shown = in_pod(&words("carnelian cluster pod-1 --json")).output().unwrap().stdout;
    let shown: serde_json::Value = serde_json::from_slice(&shown).unwrap();
    assert_eq!(text(&shown["node"], "application_version"), "3.1.4");
    assert_eq!(shown["node"]["labels"], serde_json::json!({"zone": "none"}));
    assert_eq!(running.stop(), Some(0), "SIGTERM is an orderly end");
    until("it has left", || code(&probes[0]) == Some(1));
}
