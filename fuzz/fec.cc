// SPDX-License-Identifier: Apache-2.0
// Forward error correction between an encoder and a decoder, and somebody on the way who loses,
// mixes up, repeats, changes and makes up frames and repairs: frames that nobody has changed are
// made again as they were sent, no other number than that of a frame of a block is, each once, and
// whatever the code, nothing is made of repairs of another one.
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "input.h"
#include "wan/fec_decoder.h"
#include "wan/fec_encoder.h"

using namespace weft;
using namespace weft::wan;
using fuzz::require;

namespace {

class Way {
 public:
  explicit Way(fuzz::Input& input) : input_(input) {
    code_ = {.frames = static_cast<std::uint8_t>(1 + input.one_of(FecCode::kMostFrames)),
             .repairs = static_cast<std::uint8_t>(1 + input.one_of(FecCode::kMostRepairs))};
    encoder_.begin(code_);
    decoder_.begin(code_);
  }

  void step() {
    switch (input_.one_of(6)) {
      case 0:
      case 1:
        send_frame();
        break;
      case 2:
        send_repair();
        break;
      case 3:
        number_ += input_.byte();
        break;
      case 4:
        now_ += std::chrono::microseconds(input_.word());
        break;
      default:
        stranger();
    }
    while (encoder_.full())
      send_repair();
    recover();
  }

 private:
  void send_frame() {
    std::vector<std::byte> frame(FrameHead::kSize + input_.byte());
    for (const std::byte each : input_.some())
      frame[std::to_integer<std::size_t>(each) % frame.size()] ^= each;
    const Bytes whole(frame);
    encoder_.cover(number_, {&whole, 1}, whole.size(), 0, now_);
    sent_[number_] = frame;
    come(number_++, std::move(frame));
  }
  void come(std::uint64_t number, std::vector<std::byte> frame) {
    const std::uint8_t fate = input_.one_of(4);
    if (fate == 0) return;
    if (fate == 1 && input_.rarely()) {
      changed_ = true;
      frame[input_.byte() % frame.size()] ^= std::byte{1};
    }
    came_.insert(number);
    decoder_.keep(number, frame);
  }

  void send_repair() {
    if (!encoder_.full() && !encoder_.pauses(now_)) return;
    const RepairItem item = encoder_.take(number_, now_);
    std::vector<std::byte> frame(FrameHead::kSize + RepairItem::kSize + item.symbol.size());
    FrameHead{}.write(frame);
    write_repair_item(item, MutableBytes(frame).subspan(FrameHead::kSize));
    std::ranges::copy(item.symbol, frame.begin() + FrameHead::kSize + RepairItem::kSize);
    const std::uint64_t number = number_++;
    if (input_.one_of(4) == 0) return;
    if (input_.rarely()) {
      changed_ = true;
      frame[FrameHead::kSize + input_.word() % (frame.size() - FrameHead::kSize)] ^=
          std::byte{input_.byte()};
    }
    take(frame, number);
  }

  void stranger() {
    std::vector<std::byte> frame(FrameHead::kSize);
    FrameHead{}.write(frame);
    const Bytes some = input_.some();
    if (some.empty()) return;
    changed_ = true;
    frame.insert(frame.end(), some.begin(), some.end());
    frame[FrameHead::kSize] = std::byte{static_cast<std::uint8_t>(ItemType::kRepair)};
    take(frame, number_ + input_.byte());
  }

  void take(Bytes frame, std::uint64_t number) {
    auto view = FrameView::parse(frame);
    if (!view) return;
    while (const auto item = view->next()) {
      if (const auto* const repair = std::get_if<RepairItem>(&*item))
        decoder_.take(*repair, number);
    }
  }

  void recover() {
    while (const auto again = decoder_.next()) {
      require(again->frame.size() >= FrameHead::kSize && again->frame.size() <= UINT16_MAX);
      if (changed_) continue;
      require(!came_.contains(again->number));
      require(made_.insert(again->number).second);
      const auto sent = sent_.find(again->number);
      require(sent != sent_.end() && std::ranges::equal(sent->second, again->frame));
    }
    if (!changed_) require(counters_.get(TunnelCounter::kRxRepairRefused) == 0);
  }

  fuzz::Input& input_;
  FecCode code_;
  FecEncoder encoder_;
  TunnelCounters counters_;
  FecDecoder decoder_{counters_};
  std::uint64_t number_ = 0;
  Time now_{1s};
  bool changed_ = false;
  std::map<std::uint64_t, std::vector<std::byte>> sent_;
  std::set<std::uint64_t> came_, made_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(std::as_bytes(std::span(data, size)));
  Way way(input);
  while (!input.empty())
    way.step();
  return 0;
}
