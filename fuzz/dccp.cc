// SPDX-License-Identifier: Apache-2.0
// Two ends of a DCCP connection, and somebody between them who loses, doubles, mixes up, changes
// and makes up packets with right checksums and numbers that nearly fit, while ends begin anew and
// time passes: what is sent can be read and is no longer than the path carries, nobody is answered
// with more packets than he may be, a frame that comes lies in the packet that came, no deadline
// that has passed stays, little is kept; and when all is quiet both ends find each other.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "input.h"
#include "steps.h"
#include "wan/dccp/dccp_path.h"
#include "wan/encapsulation/internet_checksum.h"

using namespace weft;
using namespace weft::wan;
using namespace weft::wan::dccp;
using fuzz::require;

namespace {

Gid address(std::size_t end) {
  return Gid{{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(end + 1)}};
}

class Below final : public Path {
 public:
  bool established() const override { return true; }
  bool ready() const override { return true; }
  std::size_t longest_frame() const override { return 700; }
  void send(std::span<const OutFrame> frames, Time) override {
    for (const OutFrame& frame : frames) {
      std::vector<std::byte> whole;
      for (const Bytes part : frame.parts)
        whole.insert(whole.end(), part.begin(), part.end());
      require(whole.size() == frame.size && whole.size() <= longest_frame());
      sent.push_back(std::move(whole));
    }
  }
  std::deque<std::vector<std::byte>> sent;
};

class Two {
 public:
  explicit Two(fuzz::Input& input) : input_(input), partial_(input.byte() % 2 != 0) {
    begin(0);
    begin(1);
    settle();
  }

  void step() {
    const std::uint8_t what = input_.byte();
    const std::size_t end = what >> 7;
    switch (what % 16) {
      case 0:
      case 1:
        send(end);
        break;
      case 2:
      case 3:
      case 4:
      case 5:
        deliver(end, 0);
        break;
      case 6:
        deliver(end, input_.byte());
        break;
      case 7:
        if (!below_[end].sent.empty()) below_[end].sent.pop_front();
        break;
      case 8:
        if (!below_[end].sent.empty()) below_[end].sent.push_back(below_[end].sent.front());
        break;
      case 9:
        change(end);
        break;
      case 10:
      case 11:
        make_up(end);
        break;
      case 12:
        now_ += std::chrono::microseconds(100) * input_.word();
        break;
      case 13:
        if (input_.rarely()) begin(end);
        break;
      case 14:
        if (input_.rarely()) ends_[end]->stop(now_);
        break;
      default:
        arrive(end, input_.some());
    }
    settle();
  }

  // Everybody behaves from now on.
  void finish() {
    begin(0);
    begin(1);
    const Time end = now_ + 30s;
    while (now_ < end && !(ends_[0]->established() && ends_[1]->established())) {
      for (std::size_t from = 0; from < 2; ++from) {
        while (!below_[from].sent.empty())
          deliver(from, 0);
      }
      settle();
      now_ += 10ms;
    }
    require(ends_[0]->established() && ends_[1]->established());
  }

 private:
  void begin(std::size_t end) {
    below_[end].sent.clear();
    ends_[end] =
        std::make_unique<DccpPath>(below_[end],
                                   DccpEnds{.local = address(end),
                                            .remote = address(1 - end),
                                            .local_port = static_cast<std::uint16_t>(7000 + end),
                                            .remote_port = static_cast<std::uint16_t>(7001 - end),
                                            .partial_coverage = partial_},
                                   entropy_);
  }

  void settle() {
    for (std::size_t end = 0; end < 2; ++end) {
      DccpPath& path = *ends_[end];
      path.run(now_);
      const auto due = path.deadline();
      require(!due || *due > now_);
      static_cast<void>(path.take_changed());
      require(!path.state_text().empty() && path.burst() <= (Ccid2::kMostWindow << 10));
      while (below_[end].sent.size() > 200)
        below_[end].sent.pop_front();
      for (const auto& packet : below_[end].sent)
        require(parse(packet, address(end), address(1 - end)).has_value());
    }
  }

  void send(std::size_t end) {
    DccpPath& path = *ends_[end];
    if (!path.established() || !path.ready()) return;
    const std::vector<std::byte> frame(1 + input_.byte() * 2U, std::byte{7});
    const Bytes whole(frame);
    const OutFrame out{.parts = {&whole, 1}, .size = whole.size()};
    const std::array<OutFrame, 2> two{out, out};
    path.send(std::span(two).first(1 + input_.one_of(2)), now_);
  }

  void deliver(std::size_t from, std::size_t place) {
    auto& sent = below_[from].sent;
    if (sent.empty()) return;
    place %= sent.size();
    const auto packet = std::move(sent[place]);
    sent.erase(sent.begin() + static_cast<std::ptrdiff_t>(place));
    note(from, packet);
    arrive(1 - from, packet);
  }

  void note(std::size_t from, Bytes packet) {
    const auto read = parse(packet, address(from), address(1 - from));
    if (read) seen_[from] = read->header;
  }

  void arrive(std::size_t to, Bytes packet) {
    constexpr std::size_t kMostAnswers = 3;
    const std::size_t before = below_[to].sent.size();
    const Bytes frame = ends_[to]->receive(packet, input_.byte() == 255, now_);
    ends_[to]->run(now_);
    const bool waits = before + kMostAnswers < below_[to].sent.size();
    // More are frames that had to wait for room, which there is now.
    if (waits) require(below_[to].sent.size() - before <= kMostAnswers + 2);
    if (frame.empty()) return;
    require(frame.data() >= packet.data() &&
            frame.data() + frame.size() <= packet.data() + packet.size());
  }

  // A packet that was sent, with other bytes and a right checksum.
  void change(std::size_t from) {
    if (below_[from].sent.empty()) return;
    auto packet = below_[from].sent.front();
    const std::size_t at = input_.byte() % packet.size();
    packet[at] ^= static_cast<std::byte>(input_.byte());
    packet[6] = packet[7] = std::byte{0};
    InternetChecksum sum(address(from), address(1 - from), 33,
                         static_cast<std::uint32_t>(packet.size()));
    sum.add(packet);
    packet[6] = static_cast<std::byte>(sum.value() >> 8);
    packet[7] = static_cast<std::byte>(sum.value());
    arrive(1 - from, packet);
  }

  // Of any type, with numbers near those that were seen, and any options.
  void make_up(std::size_t from) {
    Header header{.source_port = seen_[from].source_port,
                  .destination_port = seen_[from].destination_port,
                  .type = static_cast<PacketType>(input_.one_of(10)),
                  .sequence = seen_[from].sequence + 1 + input_.byte(),
                  .acknowledged = {},
                  .service_code = DccpPath::kServiceCode};
    if (input_.rarely()) header.source_port = input_.word();
    if (input_.rarely()) header.sequence = Sequence(input_.number());
    if (input_.rarely()) header.service_code = 0;
    if (has_acknowledgement(header.type)) {
      header.acknowledged = seen_[1 - from].sequence - input_.one_of(8);
    }
    const Bytes options = input_.some();
    std::vector<std::byte> packet(header_bytes(header, options.size()));
    write(header, options, {}, address(from), address(1 - from), packet);
    seen_[from].sequence = header.sequence;
    arrive(1 - from, packet);
  }

  fuzz::Input& input_;
  const bool partial_;
  SeededEntropy entropy_{Random(1)};
  Time now_ = Time{} + 10s;
  std::array<Below, 2> below_;
  std::array<std::unique_ptr<DccpPath>, 2> ends_;
  std::array<Header, 2> seen_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(std::as_bytes(std::span(data, size)));
  Two two(input);
  return fuzz::run(two, input);
}
