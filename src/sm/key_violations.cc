// SPDX-License-Identifier: Apache-2.0
#include "sm/key_violations.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "wire/sm/bad_key.h"

namespace weft::sm {
namespace {

using wire::TrapNumber;

std::string method_of(wire::MadMethod method) {
  switch (method) {
    case wire::MadMethod::kGet:
      return "SubnGet";
    case wire::MadMethod::kSet:
      return "SubnSet";
    default:
      return fmt::format("method {:#04x}", static_cast<unsigned>(method));
  }
}

std::string describe(const wire::BadMkeyDetails& details) {
  std::string out = fmt::format(
      "M_Key {:#018x} in {} of attribute {:#06x} modifier {:#x} from LID {}", details.mkey,
      method_of(details.method), details.attribute, details.modifier, details.slid.value());
  if (details.is_directed) out += fmt::format(", by a directed route of {} hops", details.hops);
  return out;
}

// Of 257 to 259.
template <class Details>
std::string packet_of(const Details& details) {
  return fmt::format("on SL {} from LID {} QP {:#08x} to LID {} QP {:#08x}", details.sl.value(),
                     details.slid.value(), details.source_qp.value(), details.dlid.value(),
                     details.dest_qp.value());
}

}  // namespace

bool is_key_violation(const wire::Notice& notice) {
  return notice.generic && notice.trap >= TrapNumber::kBadMkey &&
         notice.trap <= TrapNumber::kBadPkeyAtSwitch;
}

std::string describe_violation(const wire::Notice& notice) {
  const auto line = [&](std::string_view name, const std::string& text) {
    return fmt::format("{} (trap {}): {}", name, static_cast<unsigned>(notice.trap), text);
  };
  if (notice.trap == TrapNumber::kBadMkey) {
    return line("Bad M_Key", describe(*wire::BadMkeyDetails::parse(notice.details)));
  }
  if (notice.trap == TrapNumber::kBadPkeyAtSwitch) {
    const auto details = *wire::BadPkeyAtSwitchDetails::parse(notice.details);
    return line("Bad P_Key at a switch's port",
                fmt::format("port {}: P_Key {:#06x} {}", details.port, details.pkey.value(),
                            packet_of(details)));
  }
  const auto details = *wire::BadKeyDetails::parse(notice.details);
  if (notice.trap == TrapNumber::kBadPkey) {
    return line("Bad P_Key", fmt::format("P_Key {:#06x} {}", details.key, packet_of(details)));
  }
  return line("Bad Q_Key", fmt::format("Q_Key {:#010x} {}", details.key, packet_of(details)));
}

std::optional<std::uint64_t> KeyViolations::take(Lid from, TrapNumber trap, Time now) {
  // What waits to be said with the next line is forgotten when there was none for as long again.
  std::erase_if(sources_, [&](const auto& each) { return each.second.said + 2 * kQuiet <= now; });
  const auto [found, is_new] = sources_.try_emplace({from, trap});
  Source& source = found->second;
  if (is_new && sources_.size() > kMostSources) {
    sources_.erase(found);
    return std::nullopt;
  }
  if (!is_new && now < source.said + kQuiet) {
    ++source.unsaid;
    return std::nullopt;
  }
  source.said = now;
  return std::exchange(source.unsaid, 0);
}

}  // namespace weft::sm
