use super::attribute::attribute;

attribute! {
    /// GeneralInfo of the class 0x0a: what device it is and what firmware it has (layout as in infiniband-diags, vendstat.c).
    pub struct VendorGeneralInfo = "GeneralInfo" 0x0017 in MELLANOX {
        hw_revision, set_hw_revision: u16 = "HwRevision" @ 64, 16;
        device_id, set_device_id: u16 = "DeviceID" @ 80, 16;
        /// Seconds.
        uptime, set_uptime: u32 = "Uptime" @ 288, 32;
        fw_major, set_fw_major: u8 = "FwMajor" @ 328, 8;
        fw_minor, set_fw_minor: u8 = "FwMinor" @ 336, 8;
        fw_sub_minor, set_fw_sub_minor: u8 = "FwSubMinor" @ 344, 8;
        fw_build_id, set_fw_build_id: u32 = "FwBuildID" @ 352, 32;
        /// Two decimal digits, as are day and year.
        fw_month, set_fw_month: u8 = "FwMonth" @ 384, 8;
        fw_day, set_fw_day: u8 = "FwDay" @ 392, 8;
        fw_year, set_fw_year: u16 = "FwYear" @ 400, 16;
        fw_hour, set_fw_hour: u16 = "FwHour" @ 432, 16;
        fw_psid, set_fw_psid: [text; 16] = "FwPSID" @ 448, 8;
        ini_file_version, set_ini_file_version: u32 = "IniFileVersion" @ 576, 32;
        /// From the fourth generation of switches (IS4) on.
        extended_fw_major, set_extended_fw_major: u32 = "ExtendedFwMajor" @ 608, 32;
        extended_fw_minor, set_extended_fw_minor: u32 = "ExtendedFwMinor" @ 640, 32;
        extended_fw_sub_minor, set_extended_fw_sub_minor: u32 = "ExtendedFwSubMinor" @ 672, 32;
        sw_major, set_sw_major: u8 = "SwMajor" @ 840, 8;
        sw_minor, set_sw_minor: u8 = "SwMinor" @ 848, 8;
        sw_sub_minor, set_sw_sub_minor: u8 = "SwSubMinor" @ 856, 8;
    }
}
