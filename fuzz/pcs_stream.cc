// SPDX-License-Identifier: Apache-2.0
// A line of 66-bit blocks under anything: octets of any content, blocks of any type and code behind
// a scrambler that is in step, words that no MAC would send. No frame is longer than the longest,
// what can be decoded encodes to itself, a frame that is whole between idle blocks always comes, or
// is counted as too long, and after any disorder the line is found again.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "input.h"
#include "wan/line/pcs/explain.h"
#include "wan/line/pcs/frame_transmitter.h"
#include "wan/line/pcs/pcs_receiver.h"
#include "wan/line/pcs/pcs_session.h"
#include "wan/line/pcs/set_message.h"
#include "wan/line/pcs/xgmii_receiver.h"

using namespace weft;
using namespace weft::wan;
using fuzz::require;

namespace {

constexpr std::size_t kLongest = 20;  // octets of a frame
// Those that begin at the first bit are found in a window; in as many more the fault is forgotten.
constexpr std::size_t kBlocksToBegin = 2 * BlockLock::kWindow;
constexpr std::size_t kBlocksToFind = 330;

struct Came final : FrameSink {
  void frame(Bytes octets) override {
    require(octets.size() <= kLongest);
    frames.emplace_back(octets.begin(), octets.end());
  }
  void bad_frame() override {}
  void ordered_set(const OrderedSet& set) override {
    require(set.value < 1U << 24);
    if (const auto message = messages.push(set)) {
      SetMessageReader reader;
      std::optional<SetMessage> again;
      for (const OrderedSet& part : message->sets())
        again = reader.push(part);
      require(again == message);
    }
  }
  std::vector<std::vector<std::byte>> frames;
  SetMessageReader messages;
};

struct OnePacket final : PacketSource {
  Bytes next() override { return bytes; }
  std::array<std::byte, 30> bytes{};
};

class Line {
 public:
  Line() {
    idle(kBlocksToBegin);
    flush();
    require(receiver_.good() && lanes_.fault() == LinkFault::kNone);
  }
  void raw(Bytes octets) {
    disturbed_ = true;
    receiver_.take(octets);
  }
  void block(const Block& block) {
    if (block != idle_) {
      const DecodedBlock decoded = decode_block(block);
      const EncodedBlock encoded = encode_block(decoded.word);
      require(encoded.kind == decoded.kind);
      require(decode_block(encoded.block).word == decoded.word);
      all_idle_ = false;
    }
    payloads_.push_back(block.payload);
    headers_.push_back(block.header);
  }
  // As a transmitter would have it, in its turn or as an error.
  void word(const XgmiiWord& word) { block(states_.next(word)); }
  // A whole frame between idle words, which comes out as it is, or not at all.
  void frame(Bytes octets) {
    // Blocks that wait may make a frame too.
    idle(2);
    flush();
    const bool was_good = !disturbed_ && receiver_.good();
    const std::size_t before = came_.frames.size();
    const std::uint64_t overlong = counters_.get(PcsCounter::kOverlong);
    word({Xgmii::kStart, 1});
    std::vector<std::byte> all(7);
    all.insert(all.end(), octets.begin(), octets.end());
    for (std::size_t at = 7; at < all.size(); at += 8) {
      XgmiiWord out = kIdleWord;
      for (unsigned lane = 0; lane < 8; ++lane) {
        if (at + lane > all.size()) break;
        const bool ends = at + lane == all.size();
        out.octets &= ~(std::uint64_t{0xFF} << (8 * lane));
        out.octets |=
            std::uint64_t{ends ? Xgmii::kTerminate : std::to_integer<std::uint8_t>(all[at + lane])}
            << (8 * lane);
        if (!ends) out.control = static_cast<std::uint8_t>(out.control & ~(1U << lane));
      }
      word(out);
    }
    if ((all.size() - 7) % 8 == 0) word({0x0707'0707'0707'07FD, 0xFF});
    idle(2);
    flush();
    if (!was_good || !receiver_.good()) return;
    const bool fits = all.size() <= kLongest;
    require(came_.frames.size() == before + (fits ? 1 : 0));
    require(counters_.get(PcsCounter::kOverlong) == overlong + (fits ? 0 : 1));
    if (fits) require(came_.frames.back() == all);
  }
  void idle(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      word(kIdleWord);
  }
  void flush() {
    while (payloads_.size() % kGroupBlocks != 0)
      word(kIdleWord);
    std::vector<std::byte> octets(payloads_.size() / kGroupBlocks * kGroupOctets);
    scrambler_.pack(payloads_, headers_, octets);
    // What is on the line can be explained; of idleness no more is to be learnt.
    if (octets.size() <= 2 * kGroupOctets && !all_idle_) {
      (void)explain_blocks(octets, BitOrder::kLeastFirst);
    }
    all_idle_ = true;
    payloads_.clear();
    headers_.clear();
    receiver_.take(octets);
  }
  // Idle until the line is found, which does not take for ever.
  void find() {
    idle(kBlocksToFind);  // in which what is not where it was is found out
    flush();
    disturbed_ = false;
    for (int tries = 0; tries < 8 && !receiver_.locked(); ++tries) {
      idle(kBlocksToFind);
      flush();
    }
    require(receiver_.locked());
  }
  void interrupt() { receiver_.interrupted(); }
  void judge(Time now) {
    session_.advance(now);
    require(!session_.up() || receiver_.good());
    require(session_.next_deadline() >= Time{});
    std::array<std::uint64_t, 3> octets;
    std::array<std::uint8_t, 3> control;
    sender_.fill(octets, control);
    for (std::size_t i = 0; i < octets.size(); ++i)
      require(encode_block({octets[i], control[i]}).kind != BlockKind::kError);
  }

 private:
  PcsCounters counters_;
  OnePacket packet_;
  FrameTransmitter sender_{LineFrames::kEthernet, packet_};
  TransmitStates states_;
  BlockScrambler scrambler_;
  const Block idle_ = encode_block(kIdleWord).block;
  bool all_idle_ = true;    // what waits
  bool disturbed_ = false;  // blocks may begin elsewhere than the receiver believes
  std::vector<std::uint64_t> payloads_;
  std::vector<std::uint8_t> headers_;
  Came came_;
  XgmiiReceiver lanes_{kLongest, came_, counters_};
  PcsReceiver receiver_{{.error_rate_blocks = 1000}, lanes_, counters_};
  PcsSession session_{{}, receiver_, lanes_, sender_};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(std::as_bytes(std::span(data, size)));
  Line line;
  Time now{1s};
  const auto payload = [&] { return std::uint64_t{input.number()} << 32 | input.number(); };
  while (!input.empty()) {
    switch (input.one_of(8)) {
      case 0:
        line.raw(input.some());
        break;
      case 1: {  // of a type that there is
        const std::uint8_t type = kBlockLayouts[input.one_of(kBlockLayouts.size())].type;
        line.block({Block::kControl, payload() << 8 | type});
        break;
      }
      case 2:
        line.block({static_cast<std::uint8_t>(input.one_of(4)), payload()});
        break;
      case 3: {
        const std::uint64_t octets = payload();
        line.word({octets, input.byte()});
        break;
      }
      case 4:
        line.frame(input.some());
        break;
      case 5:
        line.flush();
        line.find();
        break;
      case 6: {
        const Bytes octets = input.some();
        (void)explain_blocks(octets, BitOrder::kMostFirst);
        SetMessage message{.kind = input.one_of(16)};
        for (std::byte& one : message.content)
          one = std::byte{input.byte()};
        const auto sets = message.sets();
        for (std::size_t i = 0; i < sets.size(); ++i) {
          if (input.rarely()) continue;
          line.word({to_column(sets[i]) | kIdleWord.octets << 32, 0xF1});
        }
        break;
      }
      default:
        if (input.rarely()) line.interrupt();
        now += Duration(input.number());
        line.flush();
        line.judge(now);
    }
  }
  line.flush();
  line.find();
  return 0;
}
