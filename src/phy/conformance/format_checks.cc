// SPDX-License-Identifier: Apache-2.0
// The form of messages: clause 2.1.3 with its tables 1 and 2.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "phy/conformance/checks.h"

namespace weft::phy::conformance {
namespace {

std::string fault_text(const Episode& e, const Transmission& t, std::string_view what) {
  return fmt::format("{} in a {} {}", what, speech_name(t.mad.speech()), e.at(t.first));
}

// `wrong` says of a message what is wrong with it; of those for which `concerns` holds.
template <class Concerns, class Wrong>
Outcome each_message(const Episode& e, Concerns concerns, Wrong wrong) {
  std::size_t seen = 0;
  for (const Transmission& t : e.own) {
    if (!concerns(t.mad)) continue;
    ++seen;
    if (const std::optional<std::string> what = wrong(t.mad)) {
      return Outcome::fail(fault_text(e, t, *what));
    }
  }
  if (seen == 0) return {};
  return Outcome::pass(fmt::format("in {} transmission{}", seen, seen == 1 ? "" : "s"));
}

// A number in the header of each message.
template <class Get>
Outcome each_head(const Episode& e, std::string_view name, std::uint32_t expected, Get get) {
  return each_message(
      e, [](const SeenMad& mad) { return mad.head.has_value(); },
      [&](const SeenMad& mad) -> std::optional<std::string> {
        const auto value = static_cast<std::uint32_t>(get(*mad.head));
        if (value == expected) return std::nullopt;
        return fmt::format("{} {:#x}, not {:#x},", name, value, expected);
      });
}

bool has_envelope(const SeenMad& mad) {
  return mad.envelope.has_value();
}

// Whether the node answered it: an acknowledgement has the TransactionID of what it answers.
bool was_answered(const Episode& e, const Transmission& message) {
  return std::any_of(e.own.begin(), e.own.end(), [&](const Transmission& t) {
    return t.mad.acknowledge() && t.mad.head && message.mad.head &&
           t.mad.head->header.transaction_id == message.mad.head->header.transaction_id;
  });
}

// None of the messages of the peer for which `concerns` holds was answered.
template <class Concerns>
Outcome none_answered(const Episode& e, Concerns concerns) {
  std::size_t came = 0;
  for (const Transmission& t : e.peer) {
    if (!t.arrived || !t.mad.head || t.mad.acknowledge() || !concerns(t.mad)) continue;
    ++came;
    if (was_answered(e, t)) {
      return Outcome::fail(fmt::format("one that came {} was answered", e.at(*t.arrived)));
    }
  }
  if (came == 0) return {};
  return Outcome::pass(fmt::format("{} came, and none was answered", came));
}

}  // namespace

Outcome check_class(const Episode& e) {
  return each_head(e, "class", 0x81,
                   [](const SeenMad::Head& head) { return head.header.mgmt_class; });
}

Outcome check_method(const Episode& e) {
  return each_head(e, "method", 0x03, [](const SeenMad::Head& head) { return head.header.method; });
}

Outcome check_attribute(const Episode& e) {
  return each_head(e, "attribute", 0x02C9,
                   [](const SeenMad::Head& head) { return head.header.attribute_id; });
}

Outcome check_modifier(const Episode& e) {
  return each_head(e, "modifier", 0x0000'02C9,
                   [](const SeenMad::Head& head) { return head.header.attribute_modifier; });
}

Outcome check_lids(const Episode& e) {
  return each_message(
      e, [](const SeenMad& mad) { return mad.head.has_value(); },
      [](const SeenMad& mad) -> std::optional<std::string> {
        constexpr Lid kPermissive{0xFFFF};
        if (mad.head->dr_slid != kPermissive || mad.head->dr_dlid != kPermissive) {
          return fmt::format("DrSLID {:#x} and DrDLID {:#x}", mad.head->dr_slid.value(),
                             mad.head->dr_dlid.value());
        }
        if (mad.envelope &&
            (mad.envelope->slid != kPermissive || mad.envelope->dlid != kPermissive)) {
          return fmt::format("SLID {:#x} and DLID {:#x}", mad.envelope->slid.value(),
                             mad.envelope->dlid.value());
        }
        return std::nullopt;
      });
}

Outcome check_lane(const Episode& e) {
  return each_message(e, has_envelope, [](const SeenMad& mad) -> std::optional<std::string> {
    if (mad.envelope->vl == Vl{15}) return std::nullopt;
    return fmt::format("VL {}", mad.envelope->vl.value());
  });
}

Outcome check_queue_pair(const Episode& e) {
  return each_message(e, has_envelope, [](const SeenMad& mad) -> std::optional<std::string> {
    if (mad.envelope->source_qp == kQp0 && mad.envelope->dest_qp == kQp0) return std::nullopt;
    return fmt::format("queue pairs {} and {}", mad.envelope->source_qp.value(),
                       mad.envelope->dest_qp.value());
  });
}

Outcome check_reserved(const Episode& e) {
  return each_message(
      e, [](const SeenMad&) { return true; },
      [](const SeenMad& mad) -> std::optional<std::string> {
        if (!mad.rest_zero) return "bytes that are not zero behind the fields";
        if (!mad.reserved_set()) return std::nullopt;
        return fmt::format("reserved bits in {:#010x}", mad.flags);
      });
}

Outcome check_bandwidth(const Episode& e) {
  return each_message(
      e, [](const SeenMad&) { return true; },
      [](const SeenMad& mad) -> std::optional<std::string> {
        if (mad.bandwidth == 5000) return std::nullopt;
        return fmt::format("bandwidth {}", mad.bandwidth);
      });
}

Outcome check_iterations(const Episode& e) {
  return each_message(
      e,
      [](const SeenMad& mad) { return mad.ddr() && !mad.no_sweep() && !mad.serdes_configured(); },
      [](const SeenMad& mad) -> std::optional<std::string> {
        if (mad.iterations >= 1 && mad.iterations <= 9) return std::nullopt;
        return fmt::format("{} iterations", mad.iterations);
      });
}

Outcome check_chosen_iteration(const Episode& e) {
  const auto agreed = e.agreed_sweep();
  return each_message(
      e,
      [](const SeenMad& mad) { return mad.ddr() && (mad.no_sweep() || mad.serdes_configured()); },
      [&](const SeenMad& mad) -> std::optional<std::string> {
        const std::uint32_t most = agreed ? std::min(agreed->iterations, 9U) : 9U;
        if (mad.iterations < most) return std::nullopt;
        return fmt::format("chosen iteration {}, of {},", mad.iterations, most);
      });
}

Outcome check_no_sweep_set(const Episode& e) {
  const bool any = std::any_of(e.own.begin(), e.own.end(),
                               [](const Transmission& t) { return t.mad.no_sweep(); });
  return each_message(
      e, [&](const SeenMad&) { return any; },
      [](const SeenMad& mad) -> std::optional<std::string> {
        if (mad.no_sweep()) return std::nullopt;
        return "NoSweep is not set";
      });
}

Outcome check_forbidden_fields(const Episode& e) {
  return none_answered(e, [](const SeenMad& mad) {
    return is_of_protocol(mad) && forbidden_field(mad).has_value();
  });
}

Outcome check_other_attributes(const Episode& e) {
  return none_answered(e, [](const SeenMad& mad) { return !is_of_protocol(mad); });
}

}  // namespace weft::phy::conformance
