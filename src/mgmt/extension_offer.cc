// SPDX-License-Identifier: Apache-2.0
#include "mgmt/extension_offer.h"

#include <algorithm>
#include <array>

#include "wire/crc.h"

namespace weft::mgmt {
namespace {

constexpr std::uint64_t kMagic = 0x9C57'6566'74A1'E30D;  // drawn once, but for "Weft" in it
constexpr std::size_t kCheckAt = 12;

// What the offer is bound to, as bytes.
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

std::uint32_t check(Bytes offer, Bytes bound_to) {
  const std::uint32_t state = wire::crc32_update(wire::kIcrcPreset, offer.first(kCheckAt));
  return wire::crc32_finish(wire::crc32_update(state, bound_to));
}

template <class Message>
void put(Message& message, std::uint16_t extensions) {
  const MutableBytes offer = MutableBytes(message.private_data).last(kExtensionOfferSize);
  wire::store_be64(offer.data(), kMagic);
  wire::store_be16(offer.data() + 8, extensions);
  wire::store_be16(offer.data() + 10, 0);
  wire::store_be32(offer.data() + kCheckAt, check(offer, binding(message)));
}

template <class Message>
std::uint16_t take(Message& message) {
  const MutableBytes offer = MutableBytes(message.private_data).last(kExtensionOfferSize);
  if (wire::load_be64(offer.data()) != kMagic) return 0;
  if (wire::load_be32(offer.data() + kCheckAt) != check(offer, binding(message))) return 0;
  const std::uint16_t extensions = wire::load_be16(offer.data() + 8);
  std::fill(offer.begin(), offer.end(), std::byte{0});
  return extensions;
}

}  // namespace

void put_extensions(wire::CmReq& req, std::uint16_t extensions) {
  put(req, extensions);
}

void put_extensions(wire::CmRep& rep, std::uint16_t extensions) {
  put(rep, extensions);
}

std::uint16_t take_extensions(wire::CmReq& req) {
  return take(req);
}

std::uint16_t take_extensions(wire::CmRep& rep) {
  return take(rep);
}

}  // namespace weft::mgmt
