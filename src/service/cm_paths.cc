// SPDX-License-Identifier: Apache-2.0
#include "service/cm_paths.h"

#include <array>

#include "wire/cm_alternate.h"
#include "wire/cm_connect.h"
#include "wire/endian.h"

namespace weft::service {
namespace {

using wire::CmMessage;

// wire/cm_connect.h, wire/cm_alternate.h, wire/cm_sidr.h: from the body's first byte.
constexpr std::size_t kReqPKey = 48;
constexpr std::size_t kReqPrimary = 52;
constexpr std::size_t kReqAlternate = kReqPrimary + wire::CmPath::kSize;
constexpr std::size_t kSidrPKey = 4;
constexpr std::size_t kLapLids = 20;

void write16(wire::LinkPatch& patch, std::size_t at, std::uint16_t value) {
  std::array<std::byte, 2> bytes;
  wire::store_be16(bytes.data(), value);
  patch.write(at, bytes);
}

// "Local" is the sender, whom the other end is to reach by the service.
void write_lids(wire::LinkPatch& patch, std::size_t at, const Path& path) {
  write16(patch, at, path.slid.value());
  write16(patch, at + 2, path.dlid.value());
}

CmPathResult rewrite_req(const wire::CmReq& req, std::size_t body, const Path& path, PKey pkey,
                         wire::LinkPatch& patch) {
  CmPathResult result = CmPathResult::kUnchanged;
  if (req.pkey != pkey) {
    write16(patch, body + kReqPKey, pkey.value());
    result = CmPathResult::kChanged;
  }
  if (path.slid == Lid{}) return result;
  // A permissive LID is that which the other end sees in the packet. Each is so by itself: who
  // requests says both, and may say one of them to be answered around the service.
  const auto named = [](Lid lid) { return lid.value() != wire::CmPath::kPermissiveLid; };
  if (named(req.primary.local_lid)) write16(patch, body + kReqPrimary, path.slid.value());
  if (named(req.primary.remote_lid)) write16(patch, body + kReqPrimary + 2, path.dlid.value());
  if (named(req.primary.local_lid) || named(req.primary.remote_lid)) {
    result = CmPathResult::kChanged;
  }
  if (req.alternate == wire::CmPath{}) return result;
  patch.write(body + kReqAlternate, std::array<std::byte, wire::CmPath::kSize>{});
  return CmPathResult::kWithoutAlternate;
}

}  // namespace

CmPathResult rewrite_cm_paths(const Fields& fields, const Path& path, PKey pkey,
                              wire::LinkPatch& patch) {
  const std::size_t body = fields.payload_at + wire::MadHeader::kSize;
  const Bytes bytes = patch.packet().subspan(body, wire::kCmBodySize);
  if (fields.cm.message == CmMessage::kReq) {
    return rewrite_req(*wire::CmReq::parse(bytes), body, path, pkey, patch);
  }
  if (fields.cm.message == CmMessage::kSidrReq) {
    if (fields.cm.pkey == pkey) return CmPathResult::kUnchanged;
    write16(patch, body + kSidrPKey, pkey.value());
    return CmPathResult::kChanged;
  }
  if (fields.cm.message != CmMessage::kLap || path.slid == Lid{}) return CmPathResult::kUnchanged;
  const wire::CmPath named = wire::CmLap::parse(bytes)->path;
  const bool same = named.local_gid == fields.sgid && named.remote_gid == fields.dgid;
  if (fields.global && !same) return CmPathResult::kRefused;
  write_lids(patch, body + kLapLids, path);
  return CmPathResult::kChanged;
}

}  // namespace weft::service
