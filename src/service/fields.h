// SPDX-License-Identifier: Apache-2.0
// What a service may look at of a packet, read once: headers of every transport, and of what they
// carry as much as can be told from this one packet: management datagrams, IP in datagrams of
// IPoIB, Ethernet frames of the LAN, addresses that a connection request names.
//
// Everything is as the packet says it, and nothing is believed: a packet that could be read in two
// ways by two receivers has its `problem` named, so that a rule can refuse it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/mac_address.h"
#include "wire/cm_values.h"
#include "wire/mad.h"
#include "wire/opcode.h"
#include "wire/packet.h"

namespace weft::service {

// What sort of packet it is. Which of the members below have a meaning follows from it.
enum class Form : std::uint8_t {
  kMalformed,      // `failure` says why; the LIDs are there if there were 8 bytes
  kRawIpv6,        // LNH 1 (IBA 5.3): an IPv6 packet without transport headers
  kRawEtherType,   // LNH 0: `ether_type`, and IP where it is of that
  kUnknownOpcode,  // a BTH whose opcode is reserved: P_Key, destination QP and PSN are there
  kTransport,      // everything else
};

// What the payload is.
enum class Content : std::uint8_t {
  kNone,       // there is none, or it belongs to a message that began in another packet
  kOpaque,     // it cannot be told from this packet what it is
  kMad,        // management datagram: `mad`; of the communication manager `cm` too
  kIpoib,      // IPoIB datagram (RFC 4391, 6): `ether_type`; `ip` or `arp` where it is of those
  kLan,        // Ethernet frame of the LAN, or a part of one: `lan`; and the same
  kLanGroups,  // what LAN ports tell each other of groups
  kRaw,        // of a raw packet: `ip` or `arp` where `ether_type` is of those
};

// Why the content cannot be trusted to mean the same to everybody. Where one is named, members that
// it concerns are zero or say what could be read.
enum class Problem : std::uint8_t {
  kNone,
  kMadLength,        // to QP 0 or 1, or with the Q_Key of QP1, but not 256 bytes (IBA 13.4.2)
  kMadVersion,       // base version is not 1
  kEncapsulation,    // shorter than the header that its kind has
  kIpVersion,        // the version disagrees with the Ethertype, or is neither 4 nor 6
  kIpLength,         // header or total length do not fit the bytes there are
  kIpOptions,        // source routing or an extension header that cannot be walked to its end
  kTinyFragment,     // the first fragment ends before the ports (RFC 1858), or an IPv6 one before
                     // the end of its headers (RFC 7112); or one at offset 1 of TCP
  kTransportLength,  // TCP, UDP or ICMP header cut short, or its length disagrees with IP's
  kArp,              // ARP that is too short or of other address lengths
  kTags,             // more VLAN tags than two
  kLanHeader,        // a LAN header whose numbers cannot be
  kPartFrame,        // only a later part of an Ethernet frame: its headers are not in this packet
  kCount,
};
[[nodiscard]] std::string_view text(Problem problem);

// Addresses and ports inside; IPv4 addresses as ::ffff:a.b.c.d.
struct IpFields {
  std::uint8_t version = 0;   // 4, 6; 0: there is no IP
  std::uint8_t protocol = 0;  // of the last header: 6 TCP, 17 UDP, 1 ICMP, 58 ICMPv6
  std::uint8_t dscp = 0;      // 6 bits
  std::uint8_t hop_limit = 0;
  bool fragment = false;        // one of several
  bool later_fragment = false;  // not the first one: there are no ports
  bool more_fragments = false;
  std::uint16_t fragment_offset = 0;  // bytes
  std::uint32_t identification = 0;   // of all fragments of one packet; IPv4: 16 bits
  bool ports = false;                 // the two ports (TCP, UDP, SCTP, DCCP, UDP-Lite) are there
  bool by_request = false;            // not of a packet of IP: a connection request names them
  std::uint8_t tcp_flags = 0;         // FIN 1, SYN 2, RST 4, PSH 8, ACK 16
  std::uint8_t icmp_type = 0;         // of ICMP and ICMPv6, and
  std::uint8_t icmp_code = 0;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint16_t length = 0;  // bytes of the IP packet, headers included
  Gid source{};
  Gid destination{};
};

// ARP over Ethernet (RFC 826) or InfiniBand (RFC 4391, 9), or the same of neighbour discovery.
struct ArpFields {
  // 1: who has, 2: is at; 0: there is none. ND: the type of its message, 133 to 137.
  std::uint16_t operation = 0;
  Gid sender{};  // protocol addresses; IPv4 as ::ffff:a.b.c.d
  Gid target{};  // zero: the message names none
  // Of IPoIB link-layer addresses (RFC 4391, 9.1.1); zero on Ethernet and where there is none.
  Qpn sender_qp{};
  Gid sender_gid{};
  Qpn target_qp{};
  Gid target_gid{};
  // Where those two addresses stand in the packet, from its first byte; 0: there is none.
  std::uint16_t sender_at = 0;
  std::uint16_t target_at = 0;
  // And the checksum that covers them; 0: there is none, as in ARP.
  std::uint16_t checksum_at = 0;
};

struct MadFields {
  wire::MgmtClass mgmt_class{};
  std::uint8_t class_version = 0;
  wire::MadMethod method{};  // bit 7: a response
  std::uint16_t status = 0;
  std::uint16_t attribute = 0;
  std::uint32_t modifier = 0;
  std::uint64_t transaction = 0;
};

// Messages of the communication manager (IBA 12.6). What a message has not is zero.
struct CmFields {
  bool present = false;
  wire::CmMessage message{};
  wire::CommId local_comm_id{};  // or the request ID of a SIDR exchange
  wire::CommId remote_comm_id{};
  wire::ServiceId service_id{};   // REQ, SIDR_REQ, SIDR_REP
  Qpn local_qp{};                 // REQ, REP: of the sender; SIDR_REP: the one resolved
  Qpn remote_qp{};                // DREQ, LAP: of the receiver
  QKey qkey{};                    // REQ, REP, SIDR_REP
  Psn starting_psn{};             // REQ, REP
  PKey pkey{};                    // REQ, SIDR_REQ
  wire::CmTransport transport{};  // REQ
  std::uint8_t path_mtu = 0;      // REQ: IBA 9.1.1
  std::uint16_t reason = 0;       // REJ: reason; SIDR_REP, APR: status
  bool sdp = false;               // the service ID is one of the sockets direct protocol
  Gid primary_local_gid{};        // REQ: of the sender
  Gid primary_remote_gid{};
  Lid primary_local_lid{};
  Lid primary_remote_lid{};
  // Private data, from the packet's first byte; fixed length by message.
  std::uint16_t private_at = 0;
  std::uint16_t private_size = 0;
};

// Of a frame of the LAN (docs/lan.md).
struct LanFields {
  std::uint32_t number = 0;  // of the frame
  std::uint32_t total = 0;   // bytes of the whole frame; 0: there is none
  std::uint32_t offset = 0;  // where this part begins
  MacAddress destination{};
  MacAddress source{};
  std::uint8_t tags = 0;
  std::uint16_t vlan = 0;  // of the outer tag, 12 bits; 0: without
};

struct Fields {
  Form form = Form::kMalformed;
  wire::WalkFailure failure{};  // of kMalformed
  Content content = Content::kNone;
  Problem problem = Problem::kNone;

  // --- LRH ---
  Lid slid{};
  Lid dlid{};
  Sl sl{};
  Vl vl{};
  std::uint16_t size = 0;  // bytes, LRH through VCRC

  // --- GRH ---
  bool global = false;  // there is one
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  std::uint32_t flow_label = 0;
  Gid sgid{};
  Gid dgid{};

  // --- BTH ---
  wire::Opcode opcode{};
  wire::Transport transport = wire::Transport::vendor;
  wire::Operation operation = wire::Operation::vendor;
  bool response = false;  // from the responder to the requester
  bool starts_message = false;
  bool ends_message = false;
  bool solicited = false;
  bool ack_request = false;
  PKey pkey{};
  Qpn dest_qp{};
  Psn psn{};
  std::uint8_t transport_at =
      0;  // where the BTH is, from the packet's first byte; 0: there is none

  // --- extended headers ---
  bool has_source_qp = false;  // DETH: UD and RD
  bool has_reth = false;
  bool has_atomic = false;
  bool has_aeth = false;
  bool has_immediate = false;
  bool has_invalidate = false;
  Qpn source_qp{};
  QKey qkey{};
  std::uint32_t eecn = 0;        // RDETH: end-to-end context, 24 bits
  Qpn xrc_srq{};                 // XRCETH: shared receive queue
  RKey rkey{};                   // RETH, AtomicETH or IETH
  std::uint64_t address = 0;     // RETH or AtomicETH
  std::uint32_t dma_length = 0;  // RETH: bytes of the whole message
  std::uint8_t syndrome = 0;     // AETH
  std::uint32_t msn = 0;         // AETH, 24 bits
  std::uint32_t immediate = 0;

  // --- payload ---
  std::uint16_t payload_at = 0;    // from the packet's first byte
  std::uint16_t payload_size = 0;  // without pad bytes
  std::uint16_t ether_type = 0;    // of raw packets, IPoIB and the LAN, behind VLAN tags
  IpFields ip{};
  ArpFields arp{};
  MadFields mad{};
  CmFields cm{};
  LanFields lan{};

  // Bytes of the message as far as this packet can tell: of RDMA the length in the RETH, of a
  // message of one packet its payload. 0: cannot be told.
  [[nodiscard]] std::uint32_t message_size() const {
    if (has_reth) return dma_length;
    return starts_message && ends_message ? payload_size : 0;
  }
  [[nodiscard]] bool multicast() const { return dest_qp == kMulticastQpn; }
  [[nodiscard]] bool management() const { return content == Content::kMad; }

  // Reads a whole packet, LRH through VCRC, of any bytes. CRCs are not looked at.
  [[nodiscard]] static Fields parse(Bytes packet);
};

// The name of an opcode for a person; "opcode 0x1F (reserved)" has no name in the standard and is
// empty here.
[[nodiscard]] inline std::string_view opcode_name(const Fields& fields) {
  return wire::info(fields.opcode).name;
}

}  // namespace weft::service
