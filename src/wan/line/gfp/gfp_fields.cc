// SPDX-License-Identifier: Apache-2.0
#include "wan/line/gfp/gfp_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "wan/line/msb_crc.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

using Fields = std::vector<FrameField>;

// Reads a frame from its front on, and notes what it reads.
class GfpFieldReader {
 public:
  explicit GfpFieldReader(Bytes frame) : frame_(frame) {}

  [[nodiscard]] std::size_t remaining() const { return frame_.size() - at_; }
  [[nodiscard]] Bytes rest() const { return frame_.subspan(at_); }
  void cut_to(std::size_t remaining) { frame_ = frame_.first(at_ + remaining); }
  void note(std::string name, std::string value, std::size_t at, std::size_t size) {
    fields_.push_back({std::move(name), std::move(value), at, size});
  }
  void end(std::string why) { note("error", std::move(why), at_, remaining()); }

  // A value with its HEC, noted as `hec`; none where the frame is shorter.
  std::optional<std::uint16_t> header(const char* hec) {
    if (remaining() < kGfpHeader) {
      end("the frame ends within its headers");
      return std::nullopt;
    }
    const std::uint32_t word = wire::load_be32(rest().data());
    const auto value = static_cast<std::uint16_t>(word >> 16);
    const std::uint32_t right = gfp_with_hec(value);
    hec_ = {hec,
            word == right
                ? fmt::format("0x{:04x}, right", word & 0xFFFF)
                : fmt::format("0x{:04x}, should be 0x{:04x}", word & 0xFFFF, right & 0xFFFF),
            at_ + 2, 2};
    header_at_ = at_;
    at_ += kGfpHeader;
    return value;
  }
  [[nodiscard]] std::size_t header_at() const { return header_at_; }
  void note_hec() { fields_.push_back(std::move(hec_)); }
  void skip(std::size_t octets) { at_ += octets; }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] Fields take() { return std::move(fields_); }

 private:
  Bytes frame_;
  std::size_t at_ = 0;
  std::size_t header_at_ = 0;
  FrameField hec_;
  Fields fields_;
};

std::string payload_text(GfpPayload payload) {
  switch (payload) {
    case GfpPayload::kClientData:
      return "client data";
    case GfpPayload::kClientManagement:
      return "client management";
    case GfpPayload::kManagementCommunications:
      return "management communications";
  }
  return fmt::format("reserved {}", static_cast<unsigned>(payload));
}

std::string extension_text(GfpExtension extension) {
  constexpr std::array<std::string_view, 3> kNames{"null", "linear", "ring"};
  const auto value = static_cast<std::size_t>(extension);
  return value < kNames.size() ? std::string(kNames[value]) : fmt::format("reserved {}", value);
}

void note_type(GfpFieldReader& reader, const GfpType& type) {
  const std::size_t at = reader.header_at();
  reader.note("PTI", payload_text(type.payload), at, 1);
  reader.note("PFI", type.fcs ? "with FCS" : "without FCS", at, 1);
  reader.note("EXI", extension_text(type.extension), at, 1);
  const bool manages = type.payload == GfpPayload::kClientManagement;
  reader.note("UPI",
              manages ? std::string(to_text(GfpManagement(type.upi))) : gfp_user_text(type.upi),
              at + 1, 1);
  reader.note_hec();
}

void note_payload(GfpFieldReader& reader, bool has_fcs) {
  const std::size_t fcs = has_fcs ? kGfpFcs : 0;
  if (reader.remaining() < fcs) {
    reader.end("the frame is too short for its FCS");
    return;
  }
  const Bytes payload = reader.rest().first(reader.remaining() - fcs);
  if (!payload.empty()) {
    reader.note("payload", fmt::format("{} octets", payload.size()), reader.at(), payload.size());
  }
  if (!has_fcs) return;
  reader.skip(payload.size());
  const std::uint32_t is = wire::load_be32(reader.rest().data());
  const std::uint32_t right = ~crc32_msb_update(kCrc32MsbPreset, payload);
  reader.note("pFCS",
              is == right ? fmt::format("0x{:08x}, right", is)
                          : fmt::format("0x{:08x}, should be 0x{:08x}", is, right),
              reader.at(), kGfpFcs);
}

void note_area(GfpFieldReader& reader) {
  const auto value = reader.header("tHEC");
  if (!value) return;
  const GfpType type = GfpType::parse(*value);
  note_type(reader, type);
  if (type.extension == GfpExtension::kLinear) {
    const auto linear = reader.header("eHEC");
    if (!linear) return;
    reader.note("CID", fmt::format("{}", *linear >> 8), reader.header_at(), 1);
    reader.note_hec();
  }
  note_payload(reader, type.fcs);
}

}  // namespace

std::string_view to_text(GfpManagement what) {
  switch (what) {
    case GfpManagement::kLossOfSignal:
      return "client signal fail: loss of client signal";
    case GfpManagement::kLossOfCharacters:
      return "client signal fail: loss of character synchronization";
    case GfpManagement::kDefectClear:
      return "defect clear indication";
    case GfpManagement::kForwardDefect:
      return "forward defect indication";
    case GfpManagement::kReverseDefect:
      return "reverse defect indication";
  }
  return "reserved";
}

std::string gfp_user_text(std::uint8_t upi) {
  switch (GfpUser(upi)) {
    case GfpUser::kEthernet:
      return "Ethernet";
    case GfpUser::kPpp:
      return "PPP";
    case GfpUser::kMpls:
      return "MPLS";
    case GfpUser::kIpv4:
      return "IPv4";
    case GfpUser::kIpv6:
      return "IPv6";
    case GfpUser::kInfiniBand:
      return "InfiniBand";
  }
  return fmt::format("UPI 0x{:02x}", upi);
}

std::vector<FrameField> gfp_fields(Bytes frame) {
  GfpFieldReader reader(frame);
  const auto pli = reader.header("cHEC");
  if (!pli) return reader.take();
  const char* const kind = *pli == 0                     ? " (idle frame)"
                           : *pli < kGfpLeastPayloadArea ? " (reserved control frame)"
                                                         : "";
  reader.note("PLI", fmt::format("{}{}", *pli, kind), 0, 2);
  reader.note_hec();
  if (*pli < kGfpLeastPayloadArea) return reader.take();
  if (reader.remaining() < *pli) {
    reader.end(fmt::format("the frame has {} octets of its {}", reader.remaining(), *pli));
    return reader.take();
  }
  reader.cut_to(*pli);
  note_area(reader);
  return reader.take();
}

}  // namespace weft::wan
