use super::field::check_fields;
use super::{Attribute, AttributeId, Class, Field, Method, Path, Status};
use std::fmt;

/// A MAD: 256 bytes, of which this view knows the common header, the fields of SMPs and the data block.
///
/// ```text
///   0  base version | class | class version | method        24  M_Key (SMP)
///   4  status | hop pointer, hop count (directed route)     32  DrSLID | DrDLID (directed route)
///   8  transaction id                                       64  SMP data (64 bytes)
///  16  attribute id | reserved                             128  initial path (64 bytes)
///  20  attribute modifier                                  192  return path (64 bytes)
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mad(pub [u8; 256]);

const BASE_VERSION: Field = Field::new("BaseVersion", 0, 8);
const CLASS: Field = Field::new("MgmtClass", 8, 8);
const CLASS_VERSION: Field = Field::new("ClassVersion", 16, 8);
const METHOD: Field = Field::new("Method", 24, 8);
const DIRECTION: Field = Field::new("Direction", 32, 1);
const STATUS: Field = Field::new("Status", 33, 15);
const HOP_POINTER: Field = Field::new("HopPointer", 48, 8);
const HOP_COUNT: Field = Field::new("HopCount", 56, 8);
const TRANSACTION: Field = Field::new("TransactionID", 64, 64);
const ATTRIBUTE_ID: Field = Field::new("AttributeID", 128, 16);
const MODIFIER: Field = Field::new("AttributeModifier", 160, 32);
const M_KEY: Field = Field::new("M_Key", 192, 64);
const DR_SLID: Field = Field::new("DrSLID", 256, 16);
const DR_DLID: Field = Field::new("DrDLID", 272, 16);

/// The header's fields, ascending; the directed-route ones mean something in class 0x81 only.
const FIELDS: &[Field] = &[
    BASE_VERSION,
    CLASS,
    CLASS_VERSION,
    METHOD,
    DIRECTION,
    STATUS,
    HOP_POINTER,
    HOP_COUNT,
    TRANSACTION,
    ATTRIBUTE_ID,
    MODIFIER,
    M_KEY,
    DR_SLID,
    DR_DLID,
];
const _: () = check_fields::<64>(FIELDS);

/// "Permissive": no LID, the packet goes by directed route (IBA 4.1.3).
const PERMISSIVE_LID: u64 = 0xffff;

impl Mad {
    /// Fields of the common and SMP headers, for dumps and tests.
    pub const FIELDS: &'static [Field] = FIELDS;

    /// A directed-route SMP request along `path`, all the way by ports.
    pub fn directed(path: &Path, method: Method, attribute: AttributeId, modifier: u32) -> Self {
        let mut mad = Self::request(Class::SUBN_DIRECTED, 1, method, attribute, modifier);
        HOP_COUNT.write(&mut mad.0, u64::from(path.hops()));
        DR_SLID.write(&mut mad.0, PERMISSIVE_LID);
        DR_DLID.write(&mut mad.0, PERMISSIVE_LID);
        mad.0[129..129 + path.ports().len()].copy_from_slice(path.ports());
        mad
    }

    /// A request that forwarding tables carry: an SMP (class version 1) or another class.
    pub fn request(class: Class, class_version: u8, method: Method, attribute: AttributeId, modifier: u32) -> Self {
        let mut mad = Self([0; 256]);
        BASE_VERSION.write(&mut mad.0, 1);
        CLASS.write(&mut mad.0, u64::from(class.0));
        CLASS_VERSION.write(&mut mad.0, u64::from(class_version));
        METHOD.write(&mut mad.0, u64::from(method.0));
        ATTRIBUTE_ID.write(&mut mad.0, u64::from(attribute.0));
        MODIFIER.write(&mut mad.0, u64::from(modifier));
        mad
    }

    /// The base version; 1 for every MAD there is.
    pub fn base_version(&self) -> u8 {
        BASE_VERSION.read(&self.0) as u8
    }

    /// The management class.
    pub fn class(&self) -> Class {
        Class(CLASS.read(&self.0) as u8)
    }

    /// The version of the class; 1 for SMPs.
    pub fn class_version(&self) -> u8 {
        CLASS_VERSION.read(&self.0) as u8
    }

    /// The method.
    pub fn method(&self) -> Method {
        Method(METHOD.read(&self.0) as u8)
    }

    /// Sets the method.
    pub fn set_method(&mut self, method: Method) {
        METHOD.write(&mut self.0, u64::from(method.0));
    }

    /// The status, without the direction bit.
    pub fn status(&self) -> Status {
        Status(STATUS.read(&self.0) as u16)
    }

    /// Sets the status; the direction bit stays.
    pub fn set_status(&mut self, status: Status) {
        STATUS.write(&mut self.0, u64::from(status.0));
    }

    /// The direction bit of directed-route SMPs: set on the way back.
    pub fn is_returning(&self) -> bool {
        DIRECTION.read(&self.0) != 0
    }

    /// Sets the direction bit.
    pub fn set_returning(&mut self, returning: bool) {
        DIRECTION.write(&mut self.0, u64::from(returning));
    }

    /// The hop pointer of directed-route SMPs.
    pub fn hop_pointer(&self) -> u8 {
        HOP_POINTER.read(&self.0) as u8
    }

    /// Sets the hop pointer.
    pub fn set_hop_pointer(&mut self, hop: u8) {
        HOP_POINTER.write(&mut self.0, u64::from(hop));
    }

    /// The hop count of directed-route SMPs.
    pub fn hop_count(&self) -> u8 {
        HOP_COUNT.read(&self.0) as u8
    }

    /// The transaction id; the kernel owns its upper 32 bits.
    pub fn transaction(&self) -> u64 {
        TRANSACTION.read(&self.0)
    }

    /// Sets the transaction id.
    pub fn set_transaction(&mut self, id: u64) {
        TRANSACTION.write(&mut self.0, id);
    }

    /// The attribute id.
    pub fn attribute_id(&self) -> AttributeId {
        AttributeId(ATTRIBUTE_ID.read(&self.0) as u16)
    }

    /// The attribute modifier.
    pub fn modifier(&self) -> u32 {
        MODIFIER.read(&self.0) as u32
    }

    /// The M_Key of SMPs; packets of congestion control have their CC_Key in its place.
    pub fn m_key(&self) -> u64 {
        M_KEY.read(&self.0)
    }

    /// Sets the M_Key.
    pub fn set_m_key(&mut self, key: u64) {
        M_KEY.write(&mut self.0, key);
    }

    /// DrSLID of directed-route SMPs: 0xffff when the directed route starts at the sender.
    pub fn dr_slid(&self) -> u16 {
        DR_SLID.read(&self.0) as u16
    }

    /// DrDLID of directed-route SMPs: 0xffff when the directed route ends at the target.
    pub fn dr_dlid(&self) -> u16 {
        DR_DLID.read(&self.0) as u16
    }

    /// Sets DrSLID, for a route whose first part goes by forwarding tables.
    pub fn set_dr_slid(&mut self, lid: u16) {
        DR_SLID.write(&mut self.0, u64::from(lid));
    }

    /// The initial path of a directed-route SMP; `None` when the hop count is beyond what a path can hold.
    pub fn initial_path(&self) -> Option<Path> {
        let hops = usize::from(self.hop_count());
        Path::from_ports(self.0[129..].get(..hops)?)
    }

    /// The return path as received, entry `hop` of 0 to 63.
    pub fn return_path(&self) -> &[u8] {
        &self.0[192..]
    }

    /// The return path, to be filled in on the way.
    pub fn return_path_mut(&mut self) -> &mut [u8] {
        &mut self.0[192..]
    }

    /// The data block of an SMP.
    pub fn smp_data(&self) -> [u8; 64] {
        let mut data = [0; 64];
        data.copy_from_slice(&self.0[64..128]);
        data
    }

    /// Sets the data block of an SMP.
    pub fn set_smp_data(&mut self, data: &[u8; 64]) {
        self.0[64..128].copy_from_slice(data);
    }

    /// Sets the data block to an attribute; the attribute id stays.
    pub fn set_attribute<A: Attribute>(&mut self, attribute: &A) {
        let bytes = attribute.bytes().as_ref();
        self.0[A::OFFSET..A::OFFSET + bytes.len()].copy_from_slice(bytes);
    }

    /// The data block as the attribute `A`. Whether it is one is for the caller to know, from class and attribute id.
    pub fn attribute<A: Attribute>(&self) -> A {
        let mut bytes = *A::default().bytes();
        let size = bytes.as_ref().len();
        bytes.as_mut().copy_from_slice(&self.0[A::OFFSET..A::OFFSET + size]);
        A::from_bytes(bytes)
    }
}

impl fmt::Debug for Mad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} {:?} {} modifier {:#x} transaction {:#x} {:?}",
            self.class(),
            self.method(),
            self.attribute_id().name_in(self.class()).map_or_else(|| format!("attribute {:#06x}", self.attribute_id().0), str::to_owned),
            self.modifier(),
            self.transaction(),
            self.status()
        )?;
        if self.class() == Class::SUBN_DIRECTED
            && let Some(path) = self.initial_path()
        {
            write!(f, " path {path}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::NodeInfo;
    use crate::wire::testing::value;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_field_round_trips_and_no_other_bit_changes(
            (field, value) in prop::sample::select(FIELDS).prop_flat_map(|field| (Just(field), value(&field)))
        ) {
            let mut mad = Mad([0xa5; 256]);
            field.write(&mut mad.0, value);
            prop_assert_eq!(field.read(&mad.0), value);
            field.write(&mut mad.0, field.read(&[0xa5; 256]));
            prop_assert_eq!(mad, Mad([0xa5; 256]));
        }

        #[test]
        fn any_bytes_are_readable(bytes in prop::collection::vec(any::<u8>(), 256)) {
            let mad = Mad(bytes.try_into().unwrap());
            prop_assert_eq!(mad.initial_path().map(|path| path.hops()), (mad.hop_count() <= 63).then_some(mad.hop_count()));
            let debug = format!("{:?}", mad);
            prop_assert!(!debug.is_empty());
        }
    }

    /// IBA 14.2.1.2: what a directed route that has no part by forwarding tables looks like when it is sent.
    #[test]
    fn a_directed_request_is_as_the_specification_says() {
        let path = Path::from_ports(&[1, 20, 3]).unwrap();
        let mad = Mad::directed(&path, Method::GET, NodeInfo::ID, 0x0102_0304);
        let mut expected = [0; 256];
        expected[..4].copy_from_slice(&[1, 0x81, 1, 1]);
        expected[7] = 3;
        expected[16..18].copy_from_slice(&[0, 0x11]);
        expected[20..24].copy_from_slice(&[1, 2, 3, 4]);
        expected[32..36].copy_from_slice(&[0xff; 4]);
        expected[129..132].copy_from_slice(&[1, 20, 3]);
        assert_eq!(mad.0, expected);
    }

    #[test]
    fn the_direction_is_not_part_of_the_status() {
        let mut mad = Mad([0; 256]);
        mad.set_returning(true);
        mad.set_status(Status::BAD_FIELD);
        assert_eq!(mad.0[4..6], [0x80, 0x1c]);
        assert_eq!((mad.status(), mad.is_returning()), (Status::BAD_FIELD, true));
        mad.set_returning(false);
        assert_eq!(mad.status(), Status::BAD_FIELD);
    }
}
