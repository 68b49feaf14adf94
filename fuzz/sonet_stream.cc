// SPDX-License-Identifier: Apache-2.0
// The receiving ends of a SONET/SDH line under whatever it may bring: frames of a sender with wrong
// bits, slips, cuts and other pointers, through a multiplexer and a regenerator or not, and octets
// that are of no sender. No more payload comes out than there was in what came in, what the
// counters say adds up, and whatever came before, a line on which nothing is wrong any more works.
//
// Byte 0 chooses what is expected, byte 1 the pointer, then come steps. STM-1 mostly, for speed, or
// STM-4.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "input.h"
#include "wan/line/sonet/add_drop.h"
#include "wan/line/sonet/explain.h"
#include "wan/line/sonet/regenerator.h"
#include "wan/line/sonet/terminal.h"

namespace {

using namespace weft;
using namespace weft::wan;
using namespace weft::wan::sonet;
using fuzz::Input;
using fuzz::require;

constexpr std::size_t kMostSteps = 48;

// Each octet is one more than the one before, modulo a number that is no power of two.
class Count final : public OctetSource {
 public:
  void fill(MutableBytes octets) override {
    for (std::byte& octet : octets) {
      octet = std::byte{next_};
      next_ = static_cast<std::uint8_t>((next_ + 1) % 251);
    }
  }

 private:
  std::uint8_t next_ = 0;
};

class Ear final : public OctetSink {
 public:
  void take(Bytes octets) override {
    taken += octets.size();
    for (const std::byte octet : octets) {
      const auto value = std::to_integer<std::uint8_t>(octet);
      if (value != (last_ + 1) % 251) ++breaks;
      last_ = value;
    }
  }
  std::uint64_t taken = 0;
  std::uint64_t breaks = 0;  // places where one octet does not follow the one before

 private:
  std::uint8_t last_ = 0;
};

Level level_of(std::uint8_t choice) {
  return choice >= 0xE0 ? Level::kStm4 : Level::kStm1;
}

TraceFormat format_of(std::uint8_t choice) {
  return static_cast<TraceFormat>(choice % 3);
}

TerminalOptions options_of(std::uint8_t choice, std::uint16_t pointer) {
  TerminalOptions options{.level = level_of(choice)};
  const TraceFormat format = format_of(choice);
  options.pointer = pointer;
  const auto trace = Trace::of(format, format == TraceFormat::kNone ? "" : "here");
  require(trace.has_value());
  options.section_trace = options.path_trace = *trace;
  options.expected_section_trace = options.expected_path_trace = *trace;
  options.sdh = choice % 2 == 0;
  return options;
}

class Line {
 public:
  Line(std::uint8_t choice, std::uint16_t pointer)
      : level_(level_of(choice)),
        traced_(format_of(choice) == TraceFormat::k64),
        sender_(options_of(choice, pointer), count_, nobody_),
        receiver_(options_of(choice, kAlignedPointer), count_of_receiver_, ear_),
        regenerator_(level_, Trace(), options_of(choice, 0).section_trace) {
    const AddDropOptions options{.level = level_,
                                 .traces = {Trace(), options_of(choice, 0).section_trace}};
    if (choice % 8 == 7) {
      multiplexer_.emplace(options, Side::kEast,
                           LocalPath{.label = label::kPpp,
                                     .trace = options_of(choice, 0).path_trace,
                                     .expected_trace = {},
                                     .add = &count_of_multiplexer_,
                                     .drop = &nobody_});
    } else {
      multiplexer_.emplace(options);
    }
  }

  void step(Input& input) {
    switch (input.one_of(9)) {
      case 0:
        bring(frames(1U + input.byte() % 8U));
        return;
      case 1:
        bring_wrong(input);
        return;
      case 2:
        bring(input.some());
        return;
      case 3: {
        // Overhead that no sender would send, with scrambler and framing right.
        std::vector<std::byte> line = frames(1);
        const std::size_t row = input.byte() % kRows;
        const std::size_t column = input.byte() % 10;
        const std::size_t times = 1U + input.byte() % 8U;
        const auto bits = std::byte{input.byte()};
        line[g_.at(row, column)] ^= bits;
        bring(line);
        for (std::size_t i = 1; i < times; ++i) {
          line = frames(1);
          line[g_.at(row, column)] ^= bits;
          bring(line);
        }
        return;
      }
      case 4: {
        std::vector<std::byte> octets(input.word() % 2048U, std::byte{input.byte()});
        bring(octets);
        return;
      }
      case 5:
        if (input.byte() % 2 == 0) {
          receiver_.interrupted();
        } else {
          receiver_.lose_signal();
        }
        return;
      case 6:
        way_ = static_cast<Way>(input.one_of(3));
        // Octets for each frame that the multiplexer's clock is faster or slower.
        clock_ = static_cast<int>(input.byte() / 8) - 16;
        return;
      case 7:
        now_ += Duration(1ms) * input.byte();
        receiver_.advance(now_);
        require(receiver_.next_deadline() > now_ || receiver_.next_deadline() == Time::max());
        return;
      case 8:
        name(input);
        return;
    }
  }

  void check() const {
    const auto value = [&](SonetCounter counter) { return receiver_.counters().get(counter); };
    require(value(SonetCounter::kPayloadIn) == ear_.taken);
    require(ear_.taken <= brought_);
    require(value(SonetCounter::kB1Errors) >= value(SonetCounter::kB1Frames));
    require(value(SonetCounter::kB2Errors) >= value(SonetCounter::kB2Frames));
    require(value(SonetCounter::kB3Errors) >= value(SonetCounter::kB3Containers));
    require(value(SonetCounter::kFramesIn) * g_.frame() <= brought_);
    if (receiver_.up()) {
      require(receiver_.receiver().aligner().aligned());
      require(!receiver_.defects().stands(Defect::kLof));
    }
    require(explain(level_, receiver_.frame_sent()).size() >= 27);
    require(!receiver_.defects().any() || !receiver_.defects().text().empty());
    (void)receiver_.receiver().section_trace();
  }

  // A trace of 64 octets takes the longest to be the right one again.
  void work_at_last() {
    way_ = Way::kStraight;
    bring(frames(traced_ ? 400 : 150));
    require(receiver_.up());
    const std::uint64_t breaks = ear_.breaks;
    const std::uint64_t taken = ear_.taken;
    bring(frames(10));
    require(ear_.breaks == breaks);
    require(ear_.taken == taken + 10 * g_.payload());
  }

 private:
  enum class Way : std::uint8_t { kStraight, kRegenerator, kMultiplexer };

  std::vector<std::byte> frames(std::size_t count) {
    std::vector<std::byte> line(count * g_.frame());
    sender_.fill(line);
    return line;
  }

  // A trace that is one comes as it is sent.
  static void name(Input& input) {
    const auto format = static_cast<TraceFormat>(input.one_of(3));
    std::string text;
    for (const std::byte octet : input.some())
      text += static_cast<char>(octet);
    const auto trace = Trace::of(format, text);
    if (!trace) return;
    TraceSender sender(*trace);
    TraceReceiver receiver(*trace);
    for (std::size_t i = 0; i + 1 < trace->octets().size(); ++i)
      require(receiver.take(sender.next()) == TraceReceiver::Message::kNone);
    const auto last = receiver.take(sender.next());
    require(format == TraceFormat::kNone || last == TraceReceiver::Message::kAsExpected);
    require(text.starts_with(receiver.text()));
  }

  void bring_wrong(Input& input) {
    std::vector<std::byte> line = frames(1U + input.byte() % 3U);
    const std::size_t at = input.word() % line.size();
    const auto place = line.begin() + static_cast<std::ptrdiff_t>(at);
    require(!explain_line(level_, Bytes(line).first(g_.frame())).empty());
    switch (input.one_of(4)) {
      case 0:
        line[at] ^= std::byte{input.byte()};
        break;
      case 1:
        line.erase(place);
        break;
      case 2:
        line.insert(place, std::byte{input.byte()});
        break;
      case 3:
        late_ = input.byte() % 8U;
        break;
    }
    bring(line);
  }

  // All octets begin so many bits later, from now on.
  void make_late(std::vector<std::byte>& line) {
    for (std::byte& octet : line) {
      const std::byte now = octet;
      if (late_ != 0) octet = before_ << (8 - late_) | now >> late_;
      before_ = now;
    }
  }

  void bring(Bytes octets) {
    std::vector<std::byte> out(octets.begin(), octets.end());
    if (way_ == Way::kRegenerator) {
      regenerator_.take(octets);
      regenerator_.fill(out);
    } else if (way_ == Way::kMultiplexer) {
      const auto more = static_cast<std::ptrdiff_t>(octets.size() / g_.frame()) * clock_;
      out.resize(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(octets.size()) + more));
      multiplexer_->from(Side::kWest).take(octets);
      multiplexer_->to(Side::kEast).fill(out);
    }
    make_late(out);
    brought_ += out.size();
    receiver_.take(out);
    // What it answers is read by the sender.
    std::vector<std::byte> answer(octets.size());
    receiver_.fill(answer);
    sender_.take(answer);
  }

  const Level level_;
  const bool traced_;
  const Geometry g_ = geometry(level_);
  Count count_;
  Count count_of_receiver_;
  Count count_of_multiplexer_;
  Ear nobody_;
  Ear ear_;
  Terminal sender_;
  Terminal receiver_;
  Regenerator regenerator_;
  std::optional<AddDropMultiplexer> multiplexer_;
  int clock_ = 0;
  unsigned late_ = 0;   // bits
  std::byte before_{};  // the octet of the line before the next one
  Way way_ = Way::kStraight;
  std::uint64_t brought_ = 0;
  Time now_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  const std::uint8_t choice = input.byte();
  const auto pointer = static_cast<std::uint16_t>(input.byte() * 3U % kPointers);
  Line line(choice, pointer);
  for (std::size_t step = 0; step < kMostSteps && !input.empty(); ++step) {
    line.step(input);
    line.check();
  }
  line.work_at_last();
  line.check();
  return 0;
}
