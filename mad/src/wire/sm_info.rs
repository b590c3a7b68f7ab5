use super::attribute::attribute;

attribute! {
    /// SMInfo: who a subnet manager is, and what it takes itself for (IBA 14.2.5.13).
    pub struct SmInfo = "SMInfo" 0x0020 {
        /// The GUID of the port behind which the manager runs.
        guid, set_guid: u64 = "GUID" @ 0, 64;
        sm_key, set_sm_key: u64 = "SM_Key" @ 64, 64;
        /// Rises while the manager is alive.
        act_count, set_act_count: u32 = "ActCount" @ 128, 32;
        /// The higher wins; between equals the lower GUID.
        priority, set_priority: u8 = "Priority" @ 160, 4;
        /// See [`SmInfo::state`].
        sm_state, set_sm_state: u8 = "SMState" @ 164, 4;
    }
}

/// The state of a subnet manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SmState {
    /// Switched off.
    NotActive = 0,
    /// Looking for others.
    Discovering = 1,
    /// Waiting for the master to fail.
    Standby = 2,
    /// In charge of the subnet.
    Master = 3,
}

impl SmInfo {
    /// The state; `None` for unknown codes.
    pub const fn state(&self) -> Option<SmState> {
        match self.sm_state() {
            0 => Some(SmState::NotActive),
            1 => Some(SmState::Discovering),
            2 => Some(SmState::Standby),
            3 => Some(SmState::Master),
            _ => None,
        }
    }

    /// Sets the state.
    pub const fn set_state(&mut self, state: SmState) {
        self.set_sm_state(state as u8);
    }
}
