// SPDX-License-Identifier: Apache-2.0
#include "port/ring/raw_rule_code.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "base/bytes.h"
#include "wire/endian.h"

namespace weft::port {
namespace {

using namespace attach;

MutableBytes bytes_of(std::array<std::uint8_t, 16>& gid) {
  return std::as_writable_bytes(std::span(gid));
}

struct Writer {
  Request& to;

  void operator()(Lid lid) const {
    to.rule = kToLid;
    to.value = lid.value();
  }
  void operator()(const GidPrefix& prefix) const {
    std::array<std::uint8_t, 16> gid{};
    wire::store_be64(bytes_of(gid).data(), prefix.subnet());
    wire::store_be64(bytes_of(gid).data() + 8, prefix.rest());
    std::copy(gid.begin(), gid.end(), std::begin(to.group));
    to.rule = kToGids;
    to.value = prefix.bits();
  }
  void operator()(const hca::OtherLids&) const { to.rule = kToOtherLids; }
  void operator()(const hca::OtherGids&) const { to.rule = kToOtherGids; }
  void operator()(const hca::Everything&) const { to.rule = kEverything; }
};

}  // namespace

void write_rule(const hca::RawRule& rule, Request& request) {
  std::visit(Writer{request}, rule);
}

std::optional<hca::RawRule> read_rule(const Request& request) {
  switch (request.rule) {
    case kToLid: {
      const Lid lid{static_cast<std::uint16_t>(request.value)};
      if (lid.value() != request.value) return std::nullopt;
      return lid;
    }
    case kToGids: {
      if (request.value > GidPrefix::kMostBits) return std::nullopt;
      std::array<std::uint8_t, 16> gid{};
      std::copy(std::begin(request.group), std::end(request.group), gid.begin());
      return GidPrefix(Gid(gid), request.value);
    }
    case kToOtherLids:
      return hca::OtherLids{};
    case kToOtherGids:
      return hca::OtherGids{};
    case kEverything:
      return hca::Everything{};
    default:
      return std::nullopt;
  }
}

}  // namespace weft::port
