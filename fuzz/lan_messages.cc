// SPDX-License-Identifier: Apache-2.0
// What comes to a LAN port as datagrams: anything is read or refused, what is read is written back
// as it was, and frames of a sender that plays by the rules are put together as they were, each
// once, whatever another one sends; what is kept stays within its bounds.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "input.h"
#include "lan/reassembly.h"
#include "lan/segments.h"

using namespace weft;
using namespace weft::lan;
using fuzz::require;

namespace {

constexpr Reassembly::Source kStranger = 0;
constexpr Reassembly::Source kHonest = 1;
constexpr Reassembly::Options kOptions{.frames = 8, .frames_each = 4, .patience = 100ms};

class Receiver {
 public:
  explicit Receiver(Bytes decisions) : input_(decisions) {}

  void live() {
    while (!input_.empty())
      step();
    now_ += kOptions.patience;
    reassembly_.run(now_);
    require(reassembly_.open() == 0 && !reassembly_.deadline());
  }

 private:
  using Frame = std::vector<std::byte>;

  // Told by its number, so that none need be kept.
  static Frame frame_of(std::uint8_t number) {
    Frame frame(1 + std::size_t{number} * 37);
    for (std::size_t at = 0; at < frame.size(); ++at)
      frame[at] = static_cast<std::byte>(at * 7 + number);
    return frame;
  }

  void step() {
    switch (input_.one_of(4)) {
      case 0:
        strange(input_.some());
        break;
      case 1:
        strange_part();
        break;
      case 2:
        honest_part();
        break;
      default:
        now_ += std::chrono::milliseconds(input_.byte());
        reassembly_.run(now_);
        require(!reassembly_.deadline() || *reassembly_.deadline() > now_);
        break;
    }
    require(reassembly_.open() <= kOptions.frames);
    require(reassembly_.memory() <= kOptions.frames * kLongestFrame);
  }

  void strange(Bytes datagram) {
    const auto message = LanMessage::parse(datagram);
    if (!message) return;
    std::array<std::byte, LanHeader::kSize> written;
    message->header.write(written);
    require(std::equal(written.begin(), written.end(), datagram.begin()));
    const auto whole = reassembly_.add(kStranger, *message, now_);
    require(!whole || whole->whole());
  }

  // What can be read, but of frames that nobody has made.
  void strange_part() {
    LanHeader header{.number = input_.byte(), .total = input_.word() + 1U};
    header.offset = input_.word() % header.total & ~7U;
    Frame datagram(LanHeader::kSize + std::size_t{input_.byte()} * LanHeader::kUnit);
    const std::size_t longest = LanHeader::kSize + header.total - header.offset;
    datagram.resize(std::min(datagram.size(), longest));
    header.write(datagram);
    strange(datagram);
  }

  void honest_part() {
    const std::uint8_t number = input_.byte();
    const std::size_t wanted = input_.byte();
    const Frame frame = frame_of(number);
    std::size_t part = 0;
    for (Segments segments({.number = number}, frame, 256); !segments.done(); segments.next()) {
      if (part++ != wanted % Segments::count(frame.size(), 256)) continue;
      Frame datagram(LanHeader::kSize + segments.part().size());
      std::ranges::copy(segments.head(), datagram.begin());
      std::ranges::copy(segments.part(), datagram.begin() + LanHeader::kSize);
      const auto message = LanMessage::parse(datagram);
      require(message.has_value());
      const auto whole = reassembly_.add(kHonest, *message, now_);
      if (!whole) continue;
      require(std::ranges::equal(whole->part, frame) && !came_[number]);
      came_[number] = true;
    }
  }

  fuzz::Input input_;
  LanCounters counters_;
  Reassembly reassembly_{kOptions, counters_};
  std::array<bool, 256> came_{};
  Time now_{1s};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Receiver(std::as_bytes(std::span(data, size))).live();
  return 0;
}
