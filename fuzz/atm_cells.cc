// SPDX-License-Identifier: Apache-2.0
// A line of ATM under whatever it may bring: its own octets with wrong bits, slips and cuts, cells
// that a stranger makes up, and octets of nobody. What comes out as a packet was sent, in order;
// each octet is counted, no more is kept than there is room for, and a line that goes on as it
// should brings packets again.
//
// Byte 0 chooses whether payload is scrambled and how long a packet may be, then come steps.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "input.h"
#include "wan/line/atm/aal5_reassembler.h"
#include "wan/line/atm/cell_delineation.h"
#include "wan/line/atm/cell_source.h"
#include "wan/line/atm/oam_end.h"

namespace {

using namespace weft;
using namespace weft::wan;
using namespace weft::wan::atm;
using fuzz::Input;
using fuzz::require;

constexpr std::size_t kMostSteps = 64;
constexpr std::size_t kMostKept = 600;
constexpr Channel kOwn{.vpi = 0, .vci = 100};
constexpr Channel kBeside{.vpi = 1, .vci = 40};

class Line final : CellSink, Aal5Sink, PacketSource {
 public:
  Line(bool scrambled, std::size_t longest)
      : longest_(longest),
        in_(*this, scrambled),
        reassembler_({.longest_payload = longest, .most_kept = kMostKept, .patience = 40}),
        out_({&oam_, &packets_}, scrambled) {
    reassembler_.open(kOwn);
    reassembler_.open(kBeside);
  }

  void step(Input& input) {
    switch (input.one_of(7)) {
      case 0:
        pass(input, 1 + input.byte());
        break;
      case 1:
        add_packet(input);
        break;
      case 2:
        receive(input.some());
        genuine_ = false;
        break;
      case 3:
        made_up_cell(input);
        break;
      case 4:
        in_.interrupted();
        break;
      case 5:
        reassembler_.expire(in_.cell_times());
        now_ += std::chrono::milliseconds(input.byte() * 10);
        oam_.advance(now_);
        break;
      case 6:
        reassembler_.close(kBeside);
        reassembler_.open(kBeside);
        break;
    }
  }

  void check() const {
    std::uint64_t octets = in_.counters().get(CellCounter::kSkippedOctets);
    for (const CellCounter cells : {CellCounter::kUserCells, CellCounter::kIdleCells,
                                    CellCounter::kUnassignedCells, CellCounter::kDiscardedCells}) {
      octets += kCellSize * in_.counters().get(cells);
    }
    require(octets <= received_ && received_ - octets < kCellSize);
    require(reassembler_.kept() <= kMostKept);
    require(reassembler_.counters().get(Aal5Counter::kPdus) == came_);
  }

  // Whatever came before: after enough cells that are right, packets come.
  void bring_a_packet_at_last() {
    reassembler_.close(kOwn);
    reassembler_.open(kOwn);
    Input none(Bytes{});
    do {
      pass(none, 200 * kCellSize);
    } while (waiting_ < sent_.size());
    pass(none, 200 * kCellSize);
    require(in_.state() == DelineationState::kSync);
    genuine_ = false;
    // While cells were not where they seemed to be, one may have begun a PDU: then the first packet
    // is taken for the rest of it.
    sent_.emplace_back(1, std::byte{0x77});
    pass(none, 3 * kCellSize);
    sent_.emplace_back(1, std::byte{0x77});
    const std::uint64_t before = came_;
    pass(none, 3 * kCellSize);
    require(came_ == before + 1);
  }

 private:
  Bytes next() override {
    if (waiting_ == sent_.size()) return {};
    return sent_[waiting_++];
  }
  void take_cells(const CellRun& run) override {
    require(run.count != 0);
    if (run.header.is_user_data()) {
      reassembler_.take(run, in_.cell_times(), *this);
    } else if (run.header.channel == kOwn && run.header.payload_type == kOamEndToEnd) {
      oam_.take_oam(run);
    }
  }
  void pdu(const Channel& channel, Bytes payload, std::uint8_t) override {
    ++came_;
    require(!payload.empty() && payload.size() <= longest_);
    if (!genuine_ || channel != kOwn) return;
    // Nobody has made up a PDU: this one was sent, behind those that came before.
    const auto packet = read_llc_snap(payload);
    require(packet && packet->ether_type == 0x88B5);
    while (read_ < sent_.size() && !std::ranges::equal(sent_[read_], packet->packet))
      ++read_;
    require(read_ < waiting_);
    ++read_;
  }

  void add_packet(Input& input) {
    const Bytes some = input.some();
    const std::size_t size =
        std::min({some.size() * (1 + input.one_of(4)), PacketCells::kLongestPacket});
    std::vector<std::byte> packet(size + 1, std::byte{0x6A});
    std::ranges::copy(some, packet.begin());
    packet.push_back(static_cast<std::byte>(sent_.size()));
    sent_.push_back(std::move(packet));
  }

  // So many octets of the line, as the input changes them on the way.
  void pass(Input& input, std::size_t size) {
    std::vector<std::byte> octets(size);
    out_.fill(octets);
    if (input.rarely())
      octets[input.word() % size] ^= static_cast<std::byte>(1U << input.one_of(8));
    if (input.rarely()) octets.erase(octets.begin() + input.word() % static_cast<int>(size));
    if (input.rarely()) octets.insert(octets.begin(), input.byte(), std::byte{0x52});
    receive(octets);
  }

  void made_up_cell(Input& input) {
    std::vector<std::byte> cell(kCellSize);
    const Bytes some = input.some();
    std::ranges::copy(some.first(std::min(some.size(), kCellSize)), cell.begin());
    CellHeader header = read_header(cell);
    if (input.one_of(2) == 0) header.channel = kBeside;
    if (header.channel == kOwn && header.is_user_data()) genuine_ = false;
    write_header(header, cell);
    receive(cell);
  }

  void receive(Bytes octets) {
    received_ += octets.size();
    in_.take(octets);
  }

  const std::size_t longest_;
  CellDelineation in_;
  Aal5Reassembler reassembler_;
  OamEnd oam_{{.channel = kOwn}};
  PacketCells packets_{*this, {.channel = kOwn}, 0x88B5};
  CellSource out_;
  Time now_{};
  std::deque<std::vector<std::byte>> sent_;
  std::size_t waiting_ = 0;  // of sent_, the first that has not gone
  std::size_t read_ = 0;
  bool genuine_ = true;  // what comes is what was sent, but for errors of the line
  std::uint64_t received_ = 0;
  std::uint64_t came_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  const std::uint8_t first = input.byte();
  Line line((first & 1) != 0, 64 + first);
  for (std::size_t step = 0; step < kMostSteps && !input.empty(); ++step) {
    line.step(input);
    line.check();
  }
  line.bring_a_packet_at_last();
  line.check();
  return 0;
}
