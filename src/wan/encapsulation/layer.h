// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/ids.h"
#include "wan/encapsulation/out_packet.h"

namespace weft::wan {

// Why a packet that came in is not taken.
enum class PacketRefusal : std::uint8_t {
  kShort,
  kVersion,
  kHeaderLength,
  kLength,
  kHeaderChecksum,
  kFragment,
  kDestination,
  kSource,
  kPort,
  kProtocol,
  kOption,
  kChecksum,
  kNoChecksum,
  kLabel,
  kLabelStack,
  kTimeToLive,
  kCount,
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(PacketRefusal::kCount)>
    kPacketRefusalInfo{{
        {"rx_short", "packets that end before a header does"},
        {"rx_version", "IP packets of another version than the stack's"},
        {"rx_header_length", "IPv4 headers shorter than one, or longer than the packet"},
        {"rx_length", "packets whose length says more, or less, than there is"},
        {"rx_header_checksum", "IPv4 headers with a wrong checksum"},
        {"rx_fragment", "fragments of IPv4 packets, which are never put together"},
        {"rx_destination", "packets for somebody else's address"},
        {"rx_source", "packets from somebody else than the remote"},
        {"rx_port", "UDP datagrams of other ports than the session's"},
        {"rx_protocol", "headers that say that something else follows than the stack has"},
        {"rx_option",
         "IPv6 destination options that are malformed, doubled, or not to be passed over"},
        {"rx_checksum", "UDP datagrams with a wrong checksum"},
        {"rx_no_checksum", "UDP datagrams in IPv6 without a checksum, where that is not agreed"},
        {"rx_label", "MPLS packets with a label of somebody else's, or of another meaning"},
        {"rx_label_stack",
         "MPLS packets whose stack ends before, or beyond, the labels it has to have"},
        {"rx_label_ttl", "MPLS packets whose time to live is used up"},
    }};
using PacketRefusalCounters = CounterSet<PacketRefusal, kPacketRefusalInfo>;

// What came in, as layers take themselves off it, from the outside in.
struct InPacket {
  explicit InPacket(Bytes packet) : bytes(packet) {}

  Bytes bytes;                       // what is left; in `rewritten`, or in the packet
  std::vector<std::byte> rewritten;  // by a layer that changes bytes
  Carried says;                      // what follows, as the header before it says; empty: nothing
  std::uint8_t traffic_class = 0;    // of the IP header
  Bytes options;                     // that came with it; empty: none
  Gid source;                        // of the IP header, for checksums further in
  Gid destination;
};

// One of the layers around a frame. It knows nothing of the others: what it has to say of them, and
// they of it, passes through Carried. A layer is a function of its settings and the bytes, and may
// be used for any number of packets.
class Layer {
 public:
  virtual ~Layer() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  // By which a header outside of it says that it follows.
  [[nodiscard]] virtual Carried identity() const = 0;
  // Whether packets may come, and go, without it.
  [[nodiscard]] virtual bool may_be_absent() const { return false; }
  // How long, at most, what has `size` bytes is with it around; does not shrink as `size` grows.
  [[nodiscard]] virtual std::size_t wrapped_size(std::size_t size) const = 0;
  // The most that can be within it.
  [[nodiscard]] virtual std::size_t longest_body() const = 0;

  // Puts it around `packet`, of which no more than longest_body() is there, and says so in
  // packet.carried.
  virtual void wrap(OutPacket& packet) const = 0;
  // Takes it off, with whatever is not part of its packet behind it, and says in packet.says what
  // follows. Every field is checked.
  [[nodiscard]] virtual std::optional<PacketRefusal> unwrap(InPacket& packet) const = 0;
};

}  // namespace weft::wan
