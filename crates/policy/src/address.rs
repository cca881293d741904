//! What an IP address leads to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What kind of place an IP address leads to. Only [`Global`](Self::Global) ones may be connected to
/// without being listed in `[policy.hosts]`.
///
/// After the special-purpose registries (RFC 6890 and its later entries), but stricter: the few global
/// addresses inside blocks reserved for protocols count as reserved. IPv6 forms that carry an IPv4 address
/// (mapped, compatible, translated, NAT64, 6to4) are what that address is.
///
/// ```
/// use tidegate_policy::AddressKind;
///
/// assert_eq!(AddressKind::of("192.168.1.20".parse()?), AddressKind::Private);
/// assert_eq!(AddressKind::of("::ffff:127.0.0.1".parse()?), AddressKind::Loopback);
/// assert_eq!(AddressKind::of("64:ff9b::a9fe:a9fe".parse()?), AddressKind::Metadata);
/// assert!(AddressKind::of("1.1.1.1".parse()?).is_global());
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressKind {
    /// Anywhere on the Internet.
    Global,
    /// This machine: 127.0.0.0/8 (RFC 1122), `::1` (RFC 4291).
    Loopback,
    /// A private network: RFC 1918, shared address space 100.64.0.0/10 (RFC 6598), unique local fc00::/7
    /// (RFC 4193), local NAT64 64:ff9b:1::/48 (RFC 8215), the old site-local fec0::/10 (RFC 3879).
    Private,
    /// The link alone: 169.254.0.0/16 (RFC 3927), fe80::/10 (RFC 4291).
    LinkLocal,
    /// Where clouds tell a machine its credentials. These are conventions of the providers, not of an RFC.
    Metadata,
    /// No particular machine: 0.0.0.0/8 (RFC 1122), `::`. Connecting to `0.0.0.0` reaches this machine.
    Unspecified,
    /// Many machines: 224.0.0.0/4 (RFC 5771), ff00::/8 (RFC 4291).
    Multicast,
    /// Set aside: documentation, benchmarks, protocols, discard, broadcast, 240.0.0.0/4, and all of IPv6
    /// outside 2000::/3.
    Reserved,
}

impl AddressKind {
    /// The kind of `address`.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }

    /// Whether it is anywhere on the Internet.
    pub fn is_global(self) -> bool {
        self == Self::Global
    }

    /// The name for explanations: `link-local`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
            Self::Metadata => "metadata",
            Self::Unspecified => "unspecified",
            Self::Multicast => "multicast",
            Self::Reserved => "reserved",
        }
    }
}

impl std::fmt::Display for AddressKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

fn of_v4(address: Ipv4Addr) -> AddressKind {
    match address.octets() {
        // AWS, Google, Azure, Oracle, DigitalOcean and others; AWS containers; AWS pods.
        [169, 254, 169, 254] | [169, 254, 170, 2] | [169, 254, 170, 23] => AddressKind::Metadata,
        // Alibaba; Azure's host channel, which lies in global space.
        [100, 100, 100, 200] | [168, 63, 129, 16] => AddressKind::Metadata,
        [0, ..] => AddressKind::Unspecified,
        [127, ..] => AddressKind::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => AddressKind::Private,
        [169, 254, ..] => AddressKind::LinkLocal,
        // IETF protocols (RFC 6890), documentation (RFC 5737), 6to4 relays (RFC 7526), benchmarks (RFC 2544).
        [192, 0, 0, _] | [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => AddressKind::Reserved,
        [192, 88, 99, _] | [198, 18..=19, ..] => AddressKind::Reserved,
        [224..=239, ..] => AddressKind::Multicast,
        // Future use (RFC 1112) and the limited broadcast address.
        [240..=255, ..] => AddressKind::Reserved,
        _ => AddressKind::Global,
    }
}

fn of_v6(address: Ipv6Addr) -> AddressKind {
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        of_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressKind::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressKind::Loopback,
        // IPv4-mapped (RFC 4291), translated (RFC 2765), NAT64 (RFC 6052), 6to4 (RFC 3056).
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => embedded(high, low),
        // IPv4-compatible: deprecated (RFC 4291), so never a way to the Internet.
        [0, 0, 0, 0, 0, 0, high, low] => match embedded(high, low) {
            AddressKind::Global => AddressKind::Reserved,
            special => special,
        },
        // AWS, AWS pods, Google.
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254 | 0x23] | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254] => {
            AddressKind::Metadata
        }
        [0x64, 0xff9b, 1, ..] | [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => AddressKind::Private,
        [0xfe80..=0xfebf, ..] => AddressKind::LinkLocal,
        [0xff00..=0xffff, ..] => AddressKind::Multicast,
        // IETF protocols with Teredo (RFC 2928), documentation (RFC 3849, RFC 9637).
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressKind::Reserved,
        [0x2000..=0x3fff, ..] => AddressKind::Global,
        _ => AddressKind::Reserved,
    }
}
