// SPDX-License-Identifier: Apache-2.0
#include "cli/capture_filter.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string_view>

#include "base/quantity.h"
#include "wire/bth.h"
#include "wire/grh.h"
#include "wire/lrh.h"

namespace weft::cli {
namespace {

std::optional<std::uint32_t> number(std::string_view text) {
  const auto value = parse_integer(text);
  if (!value || *value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

bool differs(const std::optional<std::uint32_t>& wanted, std::uint32_t value) {
  return wanted && *wanted != value;
}

std::optional<wire::Bth> transport_of(const wire::Lrh& lrh, Bytes packet) {
  std::size_t at = wire::Lrh::kSize;
  if (lrh.next_header == wire::Lnh::iba_global) at += wire::Grh::kSize;
  if (lrh.next_header == wire::Lnh::raw || lrh.next_header == wire::Lnh::raw_ipv6 ||
      packet.size() < at) {
    return std::nullopt;
  }
  return wire::Bth::parse(packet.subspan(at));
}

}  // namespace

Expected<CaptureFilter> CaptureFilter::parse(const std::vector<std::string>& words) {
  CaptureFilter out;
  struct Field {
    std::string_view name;
    std::optional<std::uint32_t> CaptureFilter::*member;
  };
  const std::array<Field, 6> fields{{{"vl", &CaptureFilter::vl_},
                                     {"sl", &CaptureFilter::sl_},
                                     {"lid", &CaptureFilter::lid_},
                                     {"slid", &CaptureFilter::slid_},
                                     {"dlid", &CaptureFilter::dlid_},
                                     {"qp", &CaptureFilter::qp_}}};
  for (const std::string& word : words) {
    if (word == "mad" || word == "data") {
      out.mad_ = word == "mad";
      continue;
    }
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = std::string_view(word).substr(0, equals);
    const auto value = number(std::string_view(word).substr(std::min(equals + 1, word.size())));
    bool known = false;
    for (const Field& field : fields) {
      if (field.name != name || !value) continue;
      out.*field.member = value;
      known = true;
    }
    if (!known) {
      return fail(
          std::errc::invalid_argument,
          fmt::format("{}: a filter is made of mad, data, vl=N, sl=N, lid=N, slid=N, dlid=N "
                      "and qp=N",
                      word));
    }
  }
  return out;
}

bool CaptureFilter::takes(Bytes packet) const {
  const auto lrh = wire::Lrh::parse(packet);
  const bool everything = !mad_ && !vl_ && !sl_ && !lid_ && !slid_ && !dlid_ && !qp_;
  if (everything || !lrh) return everything;
  if (differs(vl_, lrh->vl.value()) || differs(sl_, lrh->sl.value()) ||
      differs(slid_, lrh->slid.value()) || differs(dlid_, lrh->dlid.value())) {
    return false;
  }
  if (differs(lid_, lrh->slid.value()) && differs(lid_, lrh->dlid.value())) return false;
  if (!mad_ && !qp_) return true;
  const auto bth = transport_of(*lrh, packet);
  if (!bth || differs(qp_, bth->dest_qp.value())) return false;
  const bool is_mad = bth->dest_qp == kQp0 || bth->dest_qp == kQp1;
  return !mad_ || *mad_ == is_mad;
}

}  // namespace weft::cli
