// SPDX-License-Identifier: Apache-2.0
#include "wan/single_frame.h"

#include <algorithm>
#include <variant>

#include "link/packet.h"
#include "wire/lrh.h"

namespace weft::wan {
namespace {

constexpr std::size_t kLongestPacket = 4096 + 126 + 2;  // MTU, most headers, VCRC (IBA 9.2)
constexpr std::uint8_t kManagementLane = 15;

}  // namespace

std::vector<std::byte> SingleFrames::next(Bytes packet) {
  if (packet.size() < wire::Lrh::kSize || packet.size() > kLongestPacket) return {};
  const std::uint8_t lane = wire::Lrh::read(packet).vl.value();
  const bool managed = lane == kManagementLane;
  const std::size_t before = managed ? ManagementItem::kSize : PacketItem::kSize;
  std::vector<std::byte> frame(FrameHead::kSize + before + packet.size());
  const MutableBytes out(frame);
  FrameHead{.sequence = sequence_++}.write(out);
  const auto size = static_cast<std::uint16_t>(packet.size());
  if (managed) {
    write_management_item(size, out.subspan(FrameHead::kSize));
  } else {
    const PacketTag tag{.vl = Vl{lane}, .sequence = packets_[lane]++, .position = blocks_[lane]};
    blocks_[lane] += static_cast<std::uint32_t>((packet.size() + link::Packet::kBlock - 1) /
                                                link::Packet::kBlock);
    write_packet_item(tag, size, out.subspan(FrameHead::kSize));
  }
  std::ranges::copy(packet, frame.end() - static_cast<std::ptrdiff_t>(packet.size()));
  return frame;
}

tl::expected<std::size_t, FrameError> packets_of_frame(
    Bytes frame, const std::function<void(Bytes packet)>& packet) {
  auto view = FrameView::parse(frame);
  if (!view) return tl::unexpected(view.error());
  std::size_t pieces = 0;
  std::vector<std::byte> whole;
  while (const auto item = view->next()) {
    if (const auto* const managed = std::get_if<ManagementItem>(&*item)) packet(managed->packet);
    const auto* const data = std::get_if<PacketItem>(&*item);
    if (data == nullptr) continue;
    if (!data->whole()) {
      ++pieces;
    } else if (data->grouped()) {
      whole.assign(data->front.begin(), data->front.end());
      whole.insert(whole.end(), data->bytes.begin(), data->bytes.end());
      whole.insert(whole.end(), data->vcrc.begin(), data->vcrc.end());
      packet(whole);
    } else {
      packet(data->bytes);
    }
  }
  return pieces;
}

}  // namespace weft::wan
