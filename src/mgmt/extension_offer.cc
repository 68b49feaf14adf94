// SPDX-License-Identifier: Apache-2.0
#include "mgmt/extension_offer.h"

#include <algorithm>
#include <array>

#include "wire/crc.h"

namespace weft::mgmt {
namespace {

constexpr std::uint64_t kMagic = 0x9C57'6566'74A1'E30D;  // drawn once, but for "Weft" in it
// Transaction IDs that count from small numbers have other bits here.
constexpr std::uint16_t kMark = 0x9C57;
constexpr std::size_t kCheckAt = 12;

// What an offer or agreement is bound to, as bytes.
std::array<std::byte, 20> binding(wire::CmMessage message, wire::CommId local, wire::CommId remote,
                                  Qpn qpn, Psn psn) {
  std::array<std::byte, 20> bytes{};
  wire::store_be16(bytes.data(), static_cast<std::uint16_t>(message));
  wire::store_be32(bytes.data() + 4, local.value());
  wire::store_be32(bytes.data() + 8, remote.value());
  wire::store_be32(bytes.data() + 12, qpn.value());
  wire::store_be32(bytes.data() + 16, psn.value());
  return bytes;
}

std::array<std::byte, 20> binding(const wire::CmReq& req) {
  return binding(req.kId, req.local_comm_id, wire::CommId{0}, req.local_qpn, req.starting_psn);
}

std::array<std::byte, 20> binding(const wire::CmRep& rep) {
  return binding(rep.kId, rep.local_comm_id, rep.remote_comm_id, rep.local_qpn, rep.starting_psn);
}

std::uint32_t check(Bytes said, Bytes bound_to) {
  const std::uint32_t state = wire::crc32_update(wire::kIcrcPreset, said);
  return wire::crc32_finish(wire::crc32_update(state, bound_to));
}

std::uint32_t check(const wire::CmReq& req, std::uint32_t drawn_and_extensions) {
  std::array<std::byte, 12> said{};
  wire::store_be64(said.data(), kMagic);
  wire::store_be32(said.data() + 8, drawn_and_extensions);
  return check(said, binding(req));
}

}  // namespace

std::uint64_t offering_transaction(const wire::CmReq& req, std::uint16_t extensions,
                                   std::uint16_t drawn) {
  const std::uint32_t high = std::uint32_t{drawn} << 16 | (extensions ^ kMark);
  return std::uint64_t{high} << 32 | check(req, high);
}

std::uint16_t offered_extensions(const wire::CmReq& req, std::uint64_t transaction) {
  const auto high = static_cast<std::uint32_t>(transaction >> 32);
  if (static_cast<std::uint32_t>(transaction) != check(req, high)) return 0;
  return static_cast<std::uint16_t>(high ^ kMark);
}

void put_agreement(wire::CmRep& rep, std::uint16_t extensions) {
  const MutableBytes out = MutableBytes(rep.private_data).last(kAgreementSize);
  wire::store_be64(out.data(), kMagic);
  wire::store_be16(out.data() + 8, extensions);
  wire::store_be16(out.data() + 10, 0);
  wire::store_be32(out.data() + kCheckAt, check(out.first(kCheckAt), binding(rep)));
}

std::uint16_t take_agreement(wire::CmRep& rep) {
  const MutableBytes in = MutableBytes(rep.private_data).last(kAgreementSize);
  if (wire::load_be64(in.data()) != kMagic) return 0;
  if (wire::load_be32(in.data() + kCheckAt) != check(in.first(kCheckAt), binding(rep))) return 0;
  const std::uint16_t extensions = wire::load_be16(in.data() + 8);
  std::fill(in.begin(), in.end(), std::byte{0});
  return extensions;
}

}  // namespace weft::mgmt
