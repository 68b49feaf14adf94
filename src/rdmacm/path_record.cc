// SPDX-License-Identifier: Apache-2.0
#include "rdmacm/path_record.h"

#include <algorithm>
#include <array>
#include <span>

#include "rdmacm/abi.h"

namespace weft::rdmacm {
namespace {

constexpr auto kExactly = static_cast<std::uint8_t>(wire::SaValue::Selector::kExactly);

struct Rate {
  std::uint64_t mbps;
  std::uint8_t code;
};
constexpr std::array<Rate, 9> kRates{{{10'000, 3},
                                      {20'000, 6},
                                      {25'000, 15},
                                      {40'000, 7},
                                      {50'000, 20},
                                      {100'000, 16},
                                      {200'000, 17},
                                      {400'000, 21},
                                      {800'000, 23}}};

std::uint8_t code_of_rate(const PathRecord& record) {
  return record.rate != 0 ? record.rate : rate_code(record.rate_mbps);
}

wire::SaValue exactly(std::uint8_t value) {
  return {.selector = wire::SaValue::Selector::kExactly, .value = value};
}

}  // namespace

std::uint8_t mtu_code(std::uint32_t bytes) {
  std::uint8_t code = 1;
  while (code < 5 && mtu_bytes(static_cast<std::uint8_t>(code + 1)) <= bytes)
    ++code;
  return code;
}

std::uint32_t mtu_bytes(std::uint8_t code) {
  return 128U << std::clamp<std::uint8_t>(code, 1, 5);
}

std::uint8_t rate_code(std::uint64_t mbps) {
  std::uint8_t code = kRates[0].code;
  for (const Rate& rate : kRates) {
    if (rate.mbps <= mbps) code = rate.code;
  }
  return code;
}

PathRecord::PathRecord(const wire::PathRecord& record)
    : dgid(record.dgid),
      sgid(record.sgid),
      dlid(record.dlid),
      slid(record.slid),
      flow_label(record.flow_label),
      hop_limit(record.hop_limit),
      traffic_class(record.traffic_class),
      pkey(record.pkey),
      sl(record.sl),
      mtu(mtu_bytes(record.mtu.value)),
      rate(record.rate.value),
      packet_life(record.packet_life.value) {
}

PathRecord PathRecord::parse(const ib_path_rec_data& data) {
  static_assert(sizeof data.path_rec == wire::PathRecord::kSize);
  return PathRecord(*wire::PathRecord::parse(std::as_bytes(std::span(data.path_rec))));
}

wire::PathRecord PathRecord::record() const {
  return {.dgid = dgid,
          .sgid = sgid,
          .dlid = dlid,
          .slid = slid,
          .flow_label = flow_label,
          .hop_limit = hop_limit,
          .traffic_class = traffic_class,
          .reversible = true,
          .paths = 1,
          .pkey = pkey,
          .sl = sl,
          .mtu = exactly(mtu_code(mtu)),
          .rate = exactly(code_of_rate(*this)),
          .packet_life = exactly(packet_life)};
}

ib_path_rec_data PathRecord::packed() const {
  ib_path_rec_data out{};
  out.flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
  record().write(std::as_writable_bytes(std::span(out.path_rec)));
  return out;
}

ib_user_path_rec PathRecord::unpacked() const {
  ib_user_path_rec out{};
  std::copy(dgid.bytes().begin(), dgid.bytes().end(), out.dgid);
  std::copy(sgid.bytes().begin(), sgid.bytes().end(), out.sgid);
  out.dlid = abi::network_order(dlid.value());
  out.slid = abi::network_order(slid.value());
  out.flow_label = abi::network_order(flow_label);
  out.reversible = 1;
  out.mtu = mtu_code(mtu);
  out.pkey = abi::network_order(pkey.value());
  out.hop_limit = hop_limit;
  out.traffic_class = traffic_class;
  out.numb_path = 1;
  out.sl = sl.value();
  out.mtu_selector = kExactly;
  out.rate_selector = kExactly;
  out.rate = code_of_rate(*this);
  out.packet_life_time_selector = kExactly;
  out.packet_life_time = packet_life;
  return out;
}

}  // namespace weft::rdmacm
