// SPDX-License-Identifier: Apache-2.0
// From bytes to a typed description of a packet, or the precise reason why there is none. Nothing
// here allocates or looks at CRCs (link_crc.h and roce.h do); every offset is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tl/expected.hpp>

#include "base/bytes.h"
#include "wire/aeth.h"
#include "wire/atomic_ack_eth.h"
#include "wire/atomic_eth.h"
#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/feth.h"
#include "wire/grh.h"
#include "wire/ieth.h"
#include "wire/imm_dt.h"
#include "wire/lrh.h"
#include "wire/opcode.h"
#include "wire/raw_header.h"
#include "wire/rdeth.h"
#include "wire/reth.h"
#include "wire/riding_ack.h"
#include "wire/xrceth.h"

namespace weft::wire {

inline constexpr std::size_t kIcrcSize = 4;
inline constexpr std::size_t kVcrcSize = 2;

enum class WalkError : std::uint8_t {
  too_short,              // the bytes end inside the header at `offset`
  bad_link_version,       // LRH.LVer is not 0
  link_length_mismatch,   // LRH.PktLen is not the number of bytes there are
  link_length_too_small,  // LRH.PktLen is below the least for its kind of packet
  bad_grh_version,        // GRH.IPVer is not 6
  bad_grh_next_header,    // GRH.NxtHdr is not 0x1B
  grh_length_mismatch,    // GRH.PayLen disagrees with LRH.PktLen
  unaligned_length,       // BTH through ICRC is not a multiple of 4 bytes
  bad_transport_version,  // BTH.TVer is not 0
  unknown_opcode,         // BTH.OpCode is reserved
  pad_exceeds_payload,    // BTH.PadCnt is more than there is payload
  unexpected_payload,     // the opcode has no payload, but bytes follow its headers
  not_ip,                 // Ethernet, but neither IPv4 nor IPv6 in it
  bad_ip_version,         // the IP version disagrees with the EtherType
  bad_ip_header_length,   // IPv4 IHL below 5
  bad_ip_length,          // the IP length is more than there are bytes, or less than its headers
  fragment,               // a fragment of an IP packet
  not_udp,                // IP, but not UDP (an IPv6 extension header counts as not UDP)
  udp_length_mismatch,    // the UDP length is not what IP carries
  kCount,
};

// One line for a person: "PadCnt is more than there is payload".
[[nodiscard]] std::string_view text(WalkError error);

struct WalkFailure {
  WalkError error = WalkError::too_short;
  std::size_t offset = 0;  // of the field or header at fault, from the first byte walked
  friend bool operator==(const WalkFailure&, const WalkFailure&) = default;
};

template <class T>
using Walked = tl::expected<T, WalkFailure>;

// BTH through ICRC. Spans point into the bytes walked.
struct TransportPacket {
  Bth bth{};
  std::optional<Rdeth> rdeth;
  std::optional<Deth> deth;
  std::optional<Xrceth> xrceth;
  std::optional<Feth> feth;
  std::optional<Reth> reth;
  std::optional<AtomicEth> atomic_eth;
  std::optional<Aeth> aeth;
  std::optional<AtomicAckEth> atomic_ack_eth;
  std::optional<Ieth> ieth;
  std::optional<ImmDt> imm_dt;
  std::optional<RidingAck> riding_ack;
  Bytes payload{};         // without pad bytes; of a CNP, its 16 reserved bytes
  std::uint32_t icrc = 0;  // as carried
};

// LRH through VCRC. `transport` is there unless the packet is raw.
struct LinkPacket {
  Lrh lrh{};
  std::optional<Grh> grh;
  std::optional<RawHeader> raw;
  std::optional<TransportPacket> transport;
  Bytes payload{};         // the transport's; of a raw packet, all after its LRH and raw header
  std::uint16_t vcrc = 0;  // as carried
};

// What RoCEv2 carries after UDP: `bytes` is exactly BTH through ICRC.
[[nodiscard]] Walked<TransportPacket> walk_transport_packet(Bytes bytes);

// What an InfiniBand link carries: `bytes` is exactly LRH through VCRC.
[[nodiscard]] Walked<LinkPacket> walk_link_packet(Bytes bytes);

// A UD SEND, reduced to what its receiver needs.
struct UdPacket {
  PKey pkey{};
  QKey qkey{};
  Qpn dest_qp{};
  Qpn src_qp{};
  Psn psn{};
  bool solicited = false;
  bool fecn = false;
  bool becn = false;
  bool has_immediate = false;
  std::uint32_t immediate = 0;
  std::uint32_t icrc = 0;
  Bytes payload{};
};

// The fast path of a datagram socket: BTH through ICRC of a UD SEND. False for everything else and
// for anything malformed; walk_transport_packet then says what it is.
[[nodiscard]] bool walk_ud_packet(Bytes bytes, UdPacket& packet);

}  // namespace weft::wire
