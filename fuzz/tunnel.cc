// SPDX-License-Identifier: Apache-2.0
// An end of a tunnel under whatever frames may come, from strangers and from a peer that lies: it
// sends only frames that can be read, never beyond the credit that it was told, its FIFOs hold no
// more than they have room for, nothing is handed to the fabric that breaks the link's rules, and
// when all has ended nothing is kept.
#include <algorithm>
#include <vector>

#include "base/random.h"
#include "input.h"
#include "link/direct_link.h"
#include "steps.h"
#include "wan/encapsulation/options_layer.h"
#include "wan/tunnel_end.h"
#include "wire/endian.h"
#include "wire/link_crc.h"
#include "wire/packet.h"

using namespace weft;
using namespace weft::wan;
using fuzz::Input;
using fuzz::require;

namespace {

constexpr std::uint64_t kPeer = 0x1234'5678'9ABC'DEF0;
// Bytes of the ends of a packet in a group.
constexpr std::size_t kApart = GroupItem::kFront + wire::kVcrcSize;

class Fuzzer final : Path, TunnelUser, link::PortOwner {
 public:
  explicit Fuzzer(Input& input)
      : input_(input),
        recovery_(input.one_of(2) == 0),
        buffer_(buffer_options()),
        end_(tunnel_options(), buffer_.share(0), pool_, entropy_, *this, *this),
        port_({}, *this) {
    link_.join(port_, end_.port(), now_);
    end_.start(now_);
  }
  ~Fuzzer() override {
    kept_.clear();
    end_.port().connect(nullptr, now_);
    port_.connect(nullptr, now_);
  }

  void step() {
    switch (input_.one_of(12)) {
      case 0:
        end_.receive(input_.some(), now_);
        break;
      case 1:
        hello();
        break;
      case 2:
      case 3:
      case 4:
      case 5:
        traffic();
        break;
      case 6:
        fabric_sends();
        break;
      case 7:
        port_.set_state(static_cast<link::PortState>(1 + input_.one_of(4)), now_);
        break;
      case 8:
        now_ += Duration(std::int64_t{input_.word()} << input_.one_of(16));
        break;
      case 9:
        path();
        break;
      case 10:
        if (input_.one_of(2) == 0) keep_ = !keep_;
        if (!kept_.empty()) kept_.erase(kept_.begin());
        break;
      default:
        session_frame();
    }
    settle();
  }

  void finish() {
    end_.stop(now_);
    kept_.clear();
    settle();
    require(!end_.session().up());
    for (std::uint8_t vl = 0; vl < kLanes; ++vl)
      require(buffer_.share(0).fifo(Vl{vl}).used() == 0);
    require(pool_.in_use() == 0 && payloads_.in_use() == 0);
    require(buffer_.memory().used_bytes() == 0);
  }

 private:
  BulkBuffer::Options buffer_options() {
    return {.lane_bytes = 4300U + input_.word(), .block = BlockSize(input_.one_of(4))};
  }
  TunnelOptions tunnel_options() const {
    TunnelOptions options;
    options.recovery = recovery_;
    return options;
  }

  void settle() {
    for (int rounds = 0; woken_ || due(port_.deadline()) || due(end_.deadline()); ++rounds) {
      require(rounds < 10'000);
      woken_ = false;
      port_.run(now_);
      end_.run(now_);
      for (std::uint8_t vl = 0; vl < kLanes; ++vl) {
        const Fifo& fifo = buffer_.share(0).fifo(Vl{vl});
        require(fifo.used() <= fifo.capacity());
      }
    }
  }
  bool due(std::optional<Time> when) const { return when && *when <= now_; }

  // A frame with the head given, as far as the input says so.
  std::vector<std::byte> frame(FrameType type, std::uint64_t epoch) {
    std::vector<std::byte> out(FrameHead::kSize);
    FrameHead head{.type = type,
                   .port_state = input_.one_of(5),
                   .port_downs = input_.one_of(3),
                   .open = input_.byte(),
                   .epoch = epoch,
                   .sequence = sequence_,
                   .acknowledged = acknowledged_ + input_.one_of(4)};
    if (input_.rarely()) head.sequence += input_.number();
    if (input_.rarely()) head.acknowledged += input_.number();
    head.open = static_cast<std::uint32_t>(std::min<std::uint64_t>(head.open, head.sequence));
    if (input_.one_of(8) != 0) ++sequence_;
    acknowledged_ = std::min(head.acknowledged, sent_);
    head.write(out);
    return out;
  }

  void hello() {
    const bool names = input_.one_of(4) != 0;
    auto out = frame(FrameType::kSession, names ? own_ : input_.number());
    Hello hello{.own = kPeer + input_.one_of(2),
                .wants_answer = input_.one_of(2) == 0,
                .recovery = input_.one_of(2) == 0,
                .options = sequence_ % 4 != 0,
                .groups = sequence_ % 3 != 0,
                .mode = input_.rarely() ? TunnelMode::kRouter : TunnelMode::kBridge,
                .data_vls = static_cast<std::uint8_t>(1 + input_.one_of(15)),
                .block = BlockSize(input_.one_of(3)),
                .longest_frame = input_.rarely() ? input_.word() : 9000U,
                .silence_ms = input_.word(),
                .capacity = {}};
    if (input_.rarely()) hello.own = own_;
    hello.capacity.fill(input_.rarely() ? input_.word() : 300);
    out.resize(FrameHead::kSize + Hello::kSize);
    write_hello_item(hello, MutableBytes(out).subspan(FrameHead::kSize));
    const std::uint64_t sessions = begun();
    end_.receive(out, now_);
    if (begun() == sessions) return;
    peer_ = hello.own;
    sequence_ = acknowledged_ = sent_ = 0;
    capacity_ = hello.capacity;
    groups_ = hello.groups;
    std::fill(capacity_.begin() + hello.data_vls, capacity_.end(), 0);
    block_ = hello.block;
    sent_blocks_.fill(0);
    limits_ = capacity_;
  }
  std::uint64_t begun() const {
    return end_.counters().get(TunnelCounter::kSessions) +
           end_.counters().get(TunnelCounter::kPeerRestarts) * 1'000'000;
  }

  void session_frame() {
    auto out = frame(FrameType::kSession, input_.one_of(2) == 0 ? own_ : frame_epoch(own_, peer_));
    const std::size_t at = out.size();
    out.resize(at + 4);
    if (input_.one_of(2) == 0) {
      write_end_item(MutableBytes(out).subspan(at));
    } else {
      write_refusal_item(static_cast<Refusal>(1 + input_.one_of(5)), MutableBytes(out).subspan(at));
    }
    end_.receive(out, now_);
  }

  void traffic() {
    auto out = frame(FrameType::kTraffic, frame_epoch(own_, peer_));
    // Credit may be in IPv6 options, which may be cut short.
    std::vector<std::byte> options;
    std::vector<std::byte>& credits = sequence_ % 2 == 0 ? out : options;
    for (unsigned items = input_.one_of(5); items > 0; --items) {
      const std::size_t at = out.size();
      switch (input_.one_of(5)) {
        case 0:
          credits.resize(credits.size() + CreditItem::kSize);
          write_credit_item(credit(), MutableBytes(credits).last(CreditItem::kSize));
          break;
        case 1:
          out.resize(at + AcknowledgeItem::kSize + AcknowledgeItem::kRangeSize);
          write_acknowledge_item(1, MutableBytes(out).subspan(at));
          write_range({.offset = input_.byte(), .length = input_.byte()},
                      MutableBytes(out).subspan(at + AcknowledgeItem::kSize));
          break;
        case 2: {
          const auto packet = some_packet(link::kVl15);
          out.resize(at + ManagementItem::kSize + packet.size());
          write_management_item(static_cast<std::uint16_t>(packet.size()),
                                MutableBytes(out).subspan(at));
          std::copy(packet.begin(), packet.end(), out.begin() + static_cast<long>(at) + 4);
          break;
        }
        default:
          data(out);
      }
    }
    end_group(out);
    if (sequence_ % 16 == 15 && !options.empty()) options.pop_back();
    end_.receive(out, now_, options);
  }

  CreditItem credit() {
    const Vl vl{input_.one_of(15)};
    CreditItem item{.credit = {.vl = vl,
                               .packets = input_.byte(),
                               .sent = input_.word(),
                               .limit = sent_blocks_[vl.value()] + input_.word() % 400},
                    .settled = input_.byte()};
    if (input_.rarely()) item.credit.limit = ~std::uint64_t{0} - input_.word();
    return item;
  }

  void data(std::vector<std::byte>& out) {
    const Vl vl{input_.one_of(3)};
    const auto packet = some_packet(vl);
    std::uint32_t& sequence = sequences_[vl.value()];
    PacketTag tag{.vl = vl, .sequence = sequence, .position = positions_[vl.value()]};
    switch (input_.one_of(4)) {
      case 0:  // as it should be
        ++sequence;
        positions_[vl.value()] +=
            static_cast<std::uint32_t>(buffer_.share(0).block().blocks(packet.size()));
        break;
      case 1:
        tag.sequence += input_.one_of(8) - 4U;
        tag.position += input_.one_of(64) - 32U;
        break;
      case 2:
        sequence = positions_[vl.value()] = 0;
        break;
      default:
        break;
    }
    const std::size_t at = out.size();
    if (input_.one_of(2) == 0) {
      if (sequence_ % 2 != 0 && packet.size() > kApart) return add_to_group(tag, packet);
      out.resize(at + PacketItem::kSize + packet.size());
      write_packet_item(tag, static_cast<std::uint16_t>(packet.size()),
                        MutableBytes(out).subspan(at));
      std::copy(packet.begin(), packet.end(), out.end() - static_cast<long>(packet.size()));
      return;
    }
    const std::size_t offset = input_.word() % packet.size();
    const std::size_t length = 1 + input_.word() % (packet.size() - offset);
    out.resize(at + PacketItem::kSegmentSize + length);
    write_segment_item(tag, static_cast<std::uint16_t>(offset), static_cast<std::uint16_t>(length),
                       static_cast<std::uint16_t>(packet.size()), MutableBytes(out).subspan(at));
    std::copy_n(packet.begin() + static_cast<long>(offset), length,
                out.end() - static_cast<long>(length));
  }

  void add_to_group(const PacketTag& tag, Bytes packet) {
    const std::size_t at = ends_.size();
    ends_.resize(at + PacketItem::kSize);
    write_packet_item(tag, static_cast<std::uint16_t>(packet.size()),
                      MutableBytes(ends_).subspan(at));
    const auto front = packet.begin() + GroupItem::kFront;
    const auto vcrc = packet.end() - static_cast<long>(wire::kVcrcSize);
    ends_.insert(ends_.end(), packet.begin(), front);
    ends_.insert(ends_.end(), vcrc, packet.end());
    between_.insert(between_.end(), front, vcrc);
    ++grouped_;
  }
  // Behind all else that is in the frame.
  void end_group(std::vector<std::byte>& out) {
    if (grouped_ == 0) return;
    const std::size_t at = out.size();
    out.resize(at + GroupItem::kSize);
    const unsigned more = input_.rarely() ? input_.one_of(3) : 0U;
    const auto packets = static_cast<std::uint16_t>(grouped_ + more);
    write_group_item(packets, MutableBytes(out).subspan(at));
    out.insert(out.end(), ends_.begin(), ends_.end());
    out.insert(out.end(), between_.begin(), between_.end());
    ends_.clear();
    between_.clear();
    grouped_ = 0;
  }

  std::vector<std::byte> some_packet(Vl vl) {
    const std::size_t words = 6 + input_.byte() % (vl == link::kVl15 ? 60U : 200U);
    std::vector<std::byte> bytes(words * 4 + 2);
    wire::Lrh{.vl = vl,
              .next_header = wire::Lnh::iba_local,
              .dlid = Lid{2},
              .packet_words = static_cast<std::uint16_t>(words - (input_.rarely() ? 1 : 0)),
              .slid = Lid{1}}
        .write(bytes);
    const Bytes covered = Bytes(bytes).first(bytes.size() - 2);
    const std::uint16_t vcrc = wire::crc16_finish(wire::crc16_update(wire::kVcrcPreset, covered));
    wire::store_le16(bytes.data() + covered.size(), vcrc);
    return bytes;
  }

  void fabric_sends() {
    const Vl vl{input_.rarely() ? std::uint8_t{15} : input_.one_of(8)};
    if (auto packet = pool_.copy(some_packet(vl))) port_.transmit(std::move(packet), vl, now_);
  }

  void path() {
    switch (input_.one_of(4)) {
      case 0:
        ready_ = !ready_;
        break;
      case 1:
        established_ = input_.one_of(4) != 0;
        break;
      default:
        longest_ = kLeastFrame + input_.word() % 9000;
    }
    end_.path_changed();
  }

  // --- Path
  bool established() const override { return established_; }
  bool ready() const override { return ready_; }
  std::size_t longest_frame() const override { return longest_; }
  std::size_t options_room() const override { return recovery_ ? OutPacket::kMostOptions : 0; }
  void send(std::span<const OutFrame> frames, Time) override {
    require(established_ && ready_);
    for (const OutFrame& out : frames) {
      std::vector<std::byte> bytes;
      for (const Bytes part : out.parts)
        bytes.insert(bytes.end(), part.begin(), part.end());
      require(bytes.size() == out.size && out.options.size() <= options_room());
      require(out.size + OptionsLayer::header_size(out.options.size()) <= longest_);
      auto view = FrameView::parse(bytes, out.options);
      require(view.has_value());
      if (view->head().type == FrameType::kTraffic) {
        require(view->head().sequence >= sent_);
        sent_ = view->head().sequence + 1;
      }
      while (const auto item = view->next())
        look(*item);
    }
  }
  void look(const Item& item) {
    if (const auto* const hello = std::get_if<Hello>(&item)) own_ = hello->own;
    const auto* const packet = std::get_if<PacketItem>(&item);
    if (packet == nullptr) return;
    const std::size_t vl = packet->tag.vl.value();
    const std::uint64_t end = packet->tag.position + block_.blocks(packet->total);
    sent_blocks_[vl] = std::max(sent_blocks_[vl], end);
    require(end <= end_.sender().credit(packet->tag.vl).limit());
    require(capacity_[vl] != 0);
    require(groups_ || !packet->grouped());
  }

  // --- TunnelUser, link::PortOwner
  void wake(TunnelEnd&) override { woken_ = true; }
  void received(link::Port&, link::PacketPtr packet, Time) override {
    if (keep_) kept_.push_back(std::move(packet));
  }
  void state_changed(link::Port&, link::PortState, Time) override {}
  void wake(link::Port&) override { woken_ = true; }

  Input& input_;
  const bool recovery_;
  BufferPool payloads_{link::PacketPool::kPayloadBlock, 500};
  link::PacketPool pool_{1000, payloads_};
  SeededEntropy entropy_{Random(1)};
  Time now_{1s};
  bool woken_ = true;
  bool ready_ = true;
  bool established_ = true;
  bool keep_ = false;
  std::size_t longest_ = 1472;
  std::uint64_t own_ = 0;  // what the end calls itself
  std::uint64_t peer_ = kPeer;
  std::uint64_t sequence_ = 0;  // of our next frame
  std::uint64_t acknowledged_ = 0;
  std::uint64_t sent_ = 0;  // frames of the end
  std::array<std::uint32_t, kLanes> sequences_{};
  std::array<std::uint32_t, kLanes> positions_{};
  BlockSize block_;
  bool groups_ = false;
  std::array<std::uint64_t, kLanes> capacity_{};
  std::array<std::uint64_t, kLanes> limits_{};
  std::array<std::uint64_t, kLanes> sent_blocks_{};
  // Of a frame that is put together: packets of a group.
  std::uint16_t grouped_ = 0;
  std::vector<std::byte> ends_;
  std::vector<std::byte> between_;
  std::vector<link::PacketPtr> kept_;
  link::DirectLink link_{pool_};
  BulkBuffer buffer_;
  TunnelEnd end_;
  link::Port port_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  Fuzzer fuzzer(input);
  return fuzz::run(fuzzer, input);
}
