//! placeholder
use super::JobDataMap;
#[derive(Clone, Copy, Debug)]
pub(crate) enum DataFormat {
    Properties,
    Java,
}
impl DataFormat {
    pub(crate) fn encode_job(self, _d: &JobDataMap) -> crate::Result<Vec<u8>> {
        Ok(vec![])
    }
    pub(crate) fn encode_trigger(self, _d: &JobDataMap) -> crate::Result<Vec<u8>> {
        Ok(vec![])
    }
    pub(crate) fn decode(self, _b: Option<&[u8]>) -> Result<JobDataMap, String> {
        Ok(JobDataMap::new())
    }
}
