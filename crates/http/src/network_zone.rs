//! Which addresses belong to this machine or to a private network, and which are public. Everything that treats them
//! differently asks here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// Which addresses a client connects to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reach {
    /// Any: somebody who configures this server wrote the address.
    Anywhere,
    /// Public ones only: another server named the address.
    #[default]
    Public,
    /// Only those that are not public. Whoever answers there is inside, whatever its name resolves to at other times.
    Private,
}

impl Reach {
    /// Whether a client connects to this address.
    pub fn allows(self, ip: IpAddr) -> bool {
        match self {
            Reach::Anywhere => true,
            Reach::Public => is_public(ip),
            Reach::Private => !is_public(ip),
        }
    }
}

/// True for an address on this machine by what it says: `localhost` or a loopback address.
pub fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => is_this_machine_name(name),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.to_canonical().is_loopback(),
        None => false,
    }
}

/// The same of a host without its port. An IPv6 address may stand in brackets.
pub fn is_this_machine_name(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

/// True for an address that everybody on the Internet means the same machine by.
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => match embedded_v4(ip) {
            Some(ip) => is_public_v4(ip),
            None => is_public_v6(ip),
        },
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [first, second, third, _] = ip.octets();
    // Carriers' networks, protocol assignments and benchmarks: RFC 6598, 6890 and 2544.
    let special = matches!((first, second, third), (100, 64..=127, _) | (192, 0, 0) | (198, 18..=19, _));
    !(first == 0
        || first >= 224
        || ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_documentation()
        || special)
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    // Global unicast addresses are 2000::/3; 2001:db8::/32 is for documents.
    let [first, second, ..] = ip.segments();
    first & 0xe000 == 0x2000 && (first, second) != (0x2001, 0x0db8)
}

/// The IPv4 address that packets to an IPv6 address end at: mapped, translated (NAT64) or tunnelled (6to4).
fn embedded_v4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = ip.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match segments {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => ip.to_ipv4_mapped(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(addresses: &[&str], expect: bool) {
        for address in addresses {
            let ip: IpAddr = address.parse().unwrap();
            assert_eq!(is_public(ip), expect, "{address}");
            assert_eq!((Reach::Public.allows(ip), Reach::Private.allows(ip)), (expect, !expect), "{address}");
            assert!(Reach::Anywhere.allows(ip));
        }
    }

    #[test]
    fn private_addresses_are_known_in_every_form() {
        check(
            &["8.8.8.8", "100.63.0.1", "172.32.0.1", "198.20.0.1", "2a00:1450::1", "2001:4860::8888"],
            true,
        );
        check(
            &[
                "127.0.0.1",
                "127.0.0.2",
                "0.0.0.0",
                "10.1.2.3",
                "172.16.0.1",
                "192.168.0.1",
                "169.254.169.254",
            ],
            false,
        );
        check(&["100.64.0.1", "192.0.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "192.0.2.1"], false);
        check(
            &["::1", "::", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1", "::127.0.0.1"],
            false,
        );
        check(&["::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::"], false);
        check(&["::ffff:8.8.8.8", "64:ff9b::808:808"], true);
    }

    #[test]
    fn this_machine_has_many_names() {
        for (host, expect) in [
            ("127.0.0.1", true),
            ("127.0.0.2", true),
            ("localhost", true),
            ("LocalHost", true),
            ("[::1]", true),
            ("[::ffff:127.0.0.1]", true),
            ("10.0.0.1", false),
            ("127.0.0.1.example.com", false),
            ("localhost.example.com", false),
        ] {
            let url = format!("https://{host}:1/a").parse().unwrap();
            assert_eq!((is_this_machine(&url), is_this_machine_name(host)), (expect, expect), "{host}");
        }
    }
}
