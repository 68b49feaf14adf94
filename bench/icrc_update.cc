// SPDX-License-Identifier: Apache-2.0
// What another P_Key in a packet costs: both CRCs corrected by what has changed, beside both made
// anew from all bytes, and beside the ICRC alone made anew.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "turns.h"
#include "wire/bth.h"
#include "wire/endian.h"
#include "wire/link_crc.h"
#include "wire/link_patch.h"
#include "wire/lrh.h"
#include "wire/packet.h"

namespace {

using namespace weft;

constexpr std::size_t kPackets = 64;
constexpr std::array kKeys{PKey{0x0001}, PKey{0x8001}};

std::vector<std::byte> make_packet(std::size_t payload) {
  const std::size_t covered = wire::Lrh::kSize + wire::Bth::kSize + payload + wire::kIcrcSize;
  std::vector<std::byte> bytes(covered + wire::kVcrcSize);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i * 31);
  wire::Lrh{.dlid = Lid{2}, .packet_words = static_cast<std::uint16_t>(covered / 4)}.write(bytes);
  wire::Bth{.opcode = wire::Opcode::rc_send_only, .pkey = kKeys[0], .dest_qp = Qpn{5}}.write(
      MutableBytes(bytes).subspan(wire::Lrh::kSize));
  wire::seal_link_packet(bytes);
  return bytes;
}

// Nanoseconds of a packet.
struct Times {
  double icrc = 0;
  double update = 0;
  double icrc_anew = 0;
  double anew = 0;
};

Times measure(std::size_t payload) {
  std::vector<std::vector<std::byte>> updated(kPackets, make_packet(payload));
  std::vector<std::vector<std::byte>> sealed = updated;
  std::vector<std::vector<std::byte>> keyed = updated;
  std::size_t turn = 0;
  std::uint32_t sum = 0;
  const std::size_t behind = payload;
  const auto icrc = [&] {
    const PKey key = kKeys[++turn % 2];
    for (auto& packet : keyed) {
      std::byte* const at = packet.data() + wire::Lrh::kSize + 2;
      std::byte* const crc = packet.data() + packet.size() - wire::kVcrcSize - wire::kIcrcSize;
      const PKey before{wire::load_be16(at)};
      wire::store_le32(crc, wire::load_le32(crc) ^ wire::pkey_icrc_change(before, key, behind));
      wire::store_be16(at, key.value());
    }
  };
  const auto update = [&] {
    const PKey key = kKeys[++turn % 2];
    for (auto& packet : updated)
      wire::rewrite_pkey(packet, key);
  };
  const auto anew = [&] {
    for (auto& packet : sealed)
      wire::seal_link_packet(packet);
  };
  const auto icrc_anew = [&] {
    for (const auto& packet : sealed)
      sum += wire::link_icrc(Bytes(packet).first(packet.size() - wire::kIcrcSize - 2));
  };
  const auto [a, b, c, d] = bench::seconds_of_bursts(500, icrc, update, icrc_anew, anew);
  for (const auto& packet : updated) {
    if (!wire::check_link_crcs(packet).good() || sum == 0) {
      fmt::print(stderr, "icrc_update: a packet is corrupt\n");
      std::exit(1);
    }
  }
  for (const auto& packet : keyed) {
    if (!wire::check_link_crcs(packet).icrc_good) {
      fmt::print(stderr, "icrc_update: an ICRC is wrong\n");
      std::exit(1);
    }
  }
  constexpr double kEach = 1e9 / kPackets;
  return {a * kEach, b * kEach, c * kEach, d * kEach};
}

}  // namespace

int main() {
  for (const std::size_t payload : {256u, 1024u, 4096u}) {
    const Times times = measure(payload);
    const double ratio = times.icrc_anew / times.icrc;
    fmt::print(
        "{} bytes of payload, ICRC: corrected {:.1f} ns, made anew {:.1f} ns; both CRCs: {:.1f} "
        "ns, "
        "{:.1f} ns\n",
        payload, times.icrc, times.icrc_anew, times.update, times.anew);
    fmt::print("result: ICRC anew / corrected, {} bytes = {:.1f}\n", payload, ratio);
    fmt::print("result: both anew / corrected, {} bytes = {:.1f}\n", payload,
               times.anew / times.update);
    if (payload == 4096) fmt::print("at least 10 times: {}\n", ratio >= 10 ? "met" : "MISSED");
  }
  return 0;
}
