// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/packet_text.h"

#include <fmt/format.h>

#include "wire/opcode.h"

namespace weft::service::firewall {
namespace {

constexpr std::size_t kShortestWithLids = 8;  // bytes of an LRH

// "10.0.0.1:40000", "[fd00::1]:40000"; without the port where there is none.
std::string inner_end(const IpFields& ip, const Gid& address, std::uint16_t port) {
  std::string text = address.to_string();
  constexpr std::string_view kMapped = "::ffff:";
  const bool is_ipv4 = ip.version == 4 && text.starts_with(kMapped);
  if (is_ipv4) text.erase(0, kMapped.size());
  if (!ip.ports) return text;
  return is_ipv4 ? fmt::format("{}:{}", text, port) : fmt::format("[{}]:{}", text, port);
}

// Who decided, if it is not the rule that logs.
std::string decision_text(const LogSink::Line& line) {
  std::string out = line.dry_run && line.decision.action != Action::accept ? "would " : "";
  out += verdict_name(line.decision.action);
  if (line.decided_at == 0) return out + " (policy)";
  return line.decided_at == line.rule.line ? out : out + fmt::format(" (line {})", line.decided_at);
}

}  // namespace

std::string_view verdict_name(Action action) {
  switch (action) {
    case Action::accept:
      return "accept";
    case Action::reject:
      return "reject";
    default:
      return "drop";
  }
}

std::string ends_text(const Fields& fields) {
  if (fields.size < kShortestWithLids) return "-";
  std::string out = fmt::format("{}", fields.slid.value());
  if (fields.has_source_qp) out += fmt::format(":{:#x}", fields.source_qp.value());
  out += fmt::format(" > {}", fields.dlid.value());
  if (fields.transport_at != 0) out += fmt::format(":{:#x}", fields.dest_qp.value());
  return out;
}

std::string what_text(const Fields& fields) {
  if (fields.cm.present) return std::string(wire::to_string(fields.cm.message));
  if (fields.content == Content::kMad) {
    return fmt::format("MAD class {:#x} attribute {:#x}",
                       static_cast<unsigned>(fields.mad.mgmt_class), fields.mad.attribute);
  }
  if (fields.form == Form::kTransport) return std::string(wire::info(fields.opcode).name);
  if (fields.form == Form::kUnknownOpcode)
    return fmt::format("opcode {:#x}", static_cast<unsigned>(fields.opcode));
  if (fields.form == Form::kMalformed) return "malformed";
  return fmt::format("raw {:#06x}", fields.ether_type);
}

std::string log_text(const LogSink::Line& line) {
  const Fields& fields = line.fields;
  const IpFields& ip = fields.ip;
  std::string out = fmt::format("line {} of {}: {} {} {}", line.rule.line, line.chain,
                                decision_text(line), ends_text(fields), what_text(fields));
  if (fields.cm.service_id.value() != 0) {
    out += fmt::format(" service {:#x}", fields.cm.service_id.value());
  }
  if (fields.global) {
    out += fmt::format(", {} > {}", fields.sgid.to_string(), fields.dgid.to_string());
  }
  if (ip.version != 0) {
    out += fmt::format(", {} > {} protocol {}", inner_end(ip, ip.source, ip.source_port),
                       inner_end(ip, ip.destination, ip.destination_port), ip.protocol);
  }
  out += fmt::format(", {} {}", text(line.decision.state), text(line.decision.traffic));
  if (line.decision.doubt != Doubt::none) {
    out += fmt::format(" ({})", counter_of(line.decision.doubt).name);
  }
  out += fmt::format(", {} bytes", fields.size);
  if (line.swallowed != 0) out += fmt::format("; {} lines before it left out", line.swallowed);
  return out;
}

}  // namespace weft::service::firewall
