// SPDX-License-Identifier: Apache-2.0
// What rules can look at: the fields of a packet, and how their values are written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "service/firewall/ranges.h"

namespace weft::service::firewall {

// A packet need not have all of them: what it does not have matches no condition on it, whether
// that says "is" or "is not".
enum class Field : std::uint8_t {
  slid,
  dlid,
  sl,
  vl,
  sgid,
  dgid,
  pkey,       // with the bit of membership
  partition,  // without
  opcode,
  dest_qp,
  src_qp,
  qkey,
  size,     // bytes of payload of the packet
  message,  // bytes of the message, as far as is known
  service,  // ID, of what makes a connection and of all that goes over it
  cm_message,
  mad_class,
  mad_method,
  mad_attribute,
  mad_modifier,
  traffic,
  state,
  direction,
  ether_type,
  vlan,
  ether_source,
  ether_destination,
  ip_source,
  ip_destination,
  protocol,
  source_port,
  destination_port,
  fragment,
  // Bytes of the private data: which ones, the rules say.
  private0,
  private1,
  private2,
  private3,
  private4,
  private5,
  private6,
  private7,
  kCount,
};
inline constexpr std::size_t kFields = static_cast<std::size_t>(Field::kCount);
inline constexpr std::size_t kPrivateFields = 8;

[[nodiscard]] constexpr std::size_t index(Field field) {
  return static_cast<std::size_t>(field);
}
[[nodiscard]] constexpr bool is_wide(Field field) {
  return field == Field::sgid || field == Field::dgid || field == Field::ip_source ||
         field == Field::ip_destination;
}

// Values of Field::traffic.
enum class Traffic : std::uint8_t {
  connected,  // RC, UC and XRC that is none of the others
  datagram,   // UD likewise
  mad,        // management but for the connection manager's
  cm,
  ipoib,
  lan,
  sdp,
  raw,  // without a BTH, of a known EtherType
  opaque,
};

// Values of Field::state.
enum class ConnectionState : std::uint8_t {
  none,         // management and raw packets, which belong to no connection
  fresh,        // "new": asks for a connection, or begins a flow
  established,  // belongs to one that was permitted
  invalid,      // contradicts what is known of its connection, or of packets in general
  untracked,    // of a connection whose making was not seen
};

enum class FlowDirection : std::uint8_t { original, reply };

// How the values of a keyword are written.
enum class Notation : std::uint8_t {
  number,  // decimal, or hexadecimal behind 0x
  size,    // the same, or with a unit
  gid,     // an address, or a prefix with its length
  ipv4,
  ipv6,
  mac,
  name,     // one of a list, or a number where the list says so
  service,  // a number, or tcp:PORT, udp:PORT
};

// A keyword of the language and the field that it stands for.
struct Keyword {
  std::string_view words;  // one or two, with one blank between
  Field field{};
  Notation notation = Notation::number;
  std::uint64_t most = 0;  // the highest number; of other notations unused
  // What else it says: of "tcp dport" that the protocol is TCP. kCount: nothing.
  Field implied = Field::kCount;
  Range implied_range{};
  std::string_view meaning;  // for errors and docs: "an LID from 0 to 0xffff"
};

[[nodiscard]] std::span<const Keyword> keywords();
// By its words; nullptr: there is none.
[[nodiscard]] const Keyword* keyword_of(std::string_view words);

// All values that a field may have where `keyword` is said: of "ip saddr" those of IPv4.
[[nodiscard]] Ranges universe(const Keyword& keyword);

// One value, a range of them, or a name that stands for several. invalid_argument: what would be
// right, without saying where.
[[nodiscard]] Expected<Ranges> parse_values(const Keyword& keyword, std::string_view text);

// As reports show it.
[[nodiscard]] std::string_view text(Traffic traffic);
[[nodiscard]] std::string_view text(ConnectionState state);

}  // namespace weft::service::firewall
