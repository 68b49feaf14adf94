// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/names.h"

#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "wire/cm_values.h"
#include "wire/mad.h"
#include "wire/opcode.h"

namespace weft::service::firewall {
namespace {

using wire::OpcodeInfo;
using wire::Operation;
using wire::Transport;

struct Name {
  std::string_view name;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

template <class Enum>
constexpr Name one(std::string_view name, Enum value) {
  return {name, static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(value)};
}

constexpr Name kTraffic[] = {
    one("connected", Traffic::connected),
    one("datagram", Traffic::datagram),
    {"mad", static_cast<std::uint64_t>(Traffic::mad), static_cast<std::uint64_t>(Traffic::cm)},
    one("cm", Traffic::cm),
    one("ipoib", Traffic::ipoib),
    one("lan", Traffic::lan),
    one("sdp", Traffic::sdp),
    one("raw", Traffic::raw),
    one("opaque", Traffic::opaque),
};
constexpr Name kStates[] = {
    one("new", ConnectionState::fresh),       one("established", ConnectionState::established),
    one("invalid", ConnectionState::invalid), one("untracked", ConnectionState::untracked),
    one("none", ConnectionState::none),
};
constexpr Name kDirections[] = {
    one("original", FlowDirection::original),
    one("reply", FlowDirection::reply),
};
constexpr Name kClasses[] = {
    one("subn-lid", wire::MgmtClass::kSubnLid),
    one("subn-directed", wire::MgmtClass::kSubnDirected),
    one("sa", wire::MgmtClass::kSubnAdm),
    one("perf", wire::MgmtClass::kPerf),
    one("baseboard", wire::MgmtClass::kBaseboard),
    one("device", wire::MgmtClass::kDeviceMgt),
    one("cm", wire::MgmtClass::kCommMgt),
    one("snmp", wire::MgmtClass::kSnmp),
    {"vendor", static_cast<std::uint64_t>(wire::MgmtClass::kVendorFirst),
     static_cast<std::uint64_t>(wire::MgmtClass::kVendorLast)},
    {"vendor-oui", static_cast<std::uint64_t>(wire::MgmtClass::kVendorOuiFirst),
     static_cast<std::uint64_t>(wire::MgmtClass::kVendorOuiLast)},
};
constexpr Name kMethods[] = {
    one("get", wire::MadMethod::kGet),
    one("set", wire::MadMethod::kSet),
    one("send", wire::MadMethod::kSend),
    one("trap", wire::MadMethod::kTrap),
    one("report", wire::MadMethod::kReport),
    one("trap-repress", wire::MadMethod::kTrapRepress),
    one("get-table", wire::MadMethod::kGetTable),
    one("get-trace-table", wire::MadMethod::kGetTraceTable),
    one("get-multi", wire::MadMethod::kGetMulti),
    one("delete", wire::MadMethod::kDelete),
    {"response", 0x80, 0xFF},
};
constexpr Name kCmMessages[] = {
    one("req", wire::CmMessage::kReq),          one("mra", wire::CmMessage::kMra),
    one("rej", wire::CmMessage::kRej),          one("rep", wire::CmMessage::kRep),
    one("rtu", wire::CmMessage::kRtu),          one("dreq", wire::CmMessage::kDreq),
    one("drep", wire::CmMessage::kDrep),        one("sidr-req", wire::CmMessage::kSidrReq),
    one("sidr-rep", wire::CmMessage::kSidrRep), one("lap", wire::CmMessage::kLap),
    one("apr", wire::CmMessage::kApr),
};
constexpr Name kEtherTypes[] = {
    {"ip", 0x0800, 0x0800},
    {"arp", 0x0806, 0x0806},
    {"vlan", 0x8100, 0x8100},
    {"ip6", 0x86DD, 0x86DD},
};
constexpr Name kProtocols[] = {
    {"icmp", 1, 1},  {"igmp", 2, 2},     {"tcp", 6, 6},
    {"udp", 17, 17}, {"icmpv6", 58, 58}, {"sctp", 132, 132},
};
// Of Field::fragment: 0 a whole packet, 1 the first of several, 2 a later one.
constexpr Name kFragments[] = {
    {"no", 0, 0},
    {"yes", 1, 2},
    {"first", 1, 1},
    {"later", 2, 2},
};

std::span<const Name> names_of(Field field) {
  switch (field) {
    case Field::traffic:
      return kTraffic;
    case Field::state:
      return kStates;
    case Field::direction:
      return kDirections;
    case Field::mad_class:
      return kClasses;
    case Field::mad_method:
      return kMethods;
    case Field::cm_message:
      return kCmMessages;
    case Field::ether_type:
      return kEtherTypes;
    case Field::protocol:
      return kProtocols;
    case Field::fragment:
      return kFragments;
    default:
      return {};
  }
}

// Families of opcodes.
struct Family {
  std::string_view name;
  bool (*has)(const OpcodeInfo&);
};

template <Transport kTransport>
bool of_transport(const OpcodeInfo& opcode) {
  return opcode.known() && opcode.transport == kTransport;
}
template <Operation... kOperations>
bool of_operation(const OpcodeInfo& opcode) {
  return opcode.known() && ((opcode.operation == kOperations) || ...);
}

constexpr Family kFamilies[] = {
    {"send", of_operation<Operation::send>},
    {"rdma-write", of_operation<Operation::write>},
    {"rdma-read", of_operation<Operation::read_request, Operation::read_response>},
    {"rdma-read-request", of_operation<Operation::read_request>},
    {"rdma-read-response", of_operation<Operation::read_response>},
    {"atomic", of_operation<Operation::compare_swap, Operation::fetch_add,
                            Operation::atomic_acknowledge, Operation::atomic_write>},
    {"flush", of_operation<Operation::flush>},
    {"acknowledge", of_operation<Operation::acknowledge>},
    {"rc", of_transport<Transport::rc>},
    {"uc", of_transport<Transport::uc>},
    {"rd", of_transport<Transport::rd>},
    {"ud", of_transport<Transport::ud>},
    {"xrc", of_transport<Transport::xrc>},
    {"cnp", of_transport<Transport::cnp>},
    {"manufacturer", of_transport<Transport::vendor>},
    {"unknown", [](const OpcodeInfo& opcode) { return !opcode.known(); }},
};

std::optional<Ranges> opcodes_named(std::string_view name) {
  Ranges out;
  for (const Family& family : kFamilies) {
    if (family.name != name) continue;
    for (std::uint64_t code = 0; code < 256; ++code) {
      if (family.has(wire::kOpcodes[code])) out.push_back({Wide(code), Wide(code)});
    }
    return normalized(std::move(out));
  }
  for (unsigned code = 0; code < 256; ++code) {
    if (opcode_name(static_cast<std::uint8_t>(code)) == name)
      return Ranges{{Wide(code), Wide(code)}};
  }
  return std::nullopt;
}

}  // namespace

std::string opcode_name(std::uint8_t opcode) {
  const OpcodeInfo& info = wire::kOpcodes[opcode];
  // All of the manufacturer's have one name, but for those of Weft.
  if (!info.known() || info.name == "Manufacturer") return {};
  std::string out;
  for (std::string_view rest = info.name; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word == "w/") continue;
    if (!out.empty()) out += '-';
    for (const char letter : word == "Immediate" ? std::string_view("imm") : word)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return out;
}

std::optional<Ranges> named_values(Field field, std::string_view name) {
  if (field == Field::opcode) return opcodes_named(name);
  for (const Name& row : names_of(field)) {
    if (row.name == name) return Ranges{{Wide(row.low), Wide(row.high)}};
  }
  return std::nullopt;
}

std::string list_names(Field field) {
  std::string out;
  const auto add = [&out](std::string_view name) {
    if (!out.empty()) out += ", ";
    out += name;
  };
  for (const Name& row : names_of(field))
    add(row.name);
  if (field == Field::opcode) {
    for (const Family& family : kFamilies)
      add(family.name);
    out += ", or that of one opcode as rc-send-only";
  }
  return out;
}

std::string_view text(Traffic traffic) {
  for (const Name& row : kTraffic) {
    // "mad" comes before "cm", which it has in it too.
    if (row.low == static_cast<std::uint64_t>(traffic)) return row.name;
  }
  return "opaque";
}

std::string_view text(ConnectionState state) {
  for (const Name& row : kStates) {
    if (row.low == static_cast<std::uint64_t>(state)) return row.name;
  }
  return "none";
}

}  // namespace weft::service::firewall
