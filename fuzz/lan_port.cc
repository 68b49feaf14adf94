// SPDX-License-Identifier: Apache-2.0
// A LAN port between a host and peers that send whatever they like, IGMP and MLD among it, while
// peers and channels come and go: what the host is given is for it and from whom it says, what
// peers are sent is for those that there are, each frame is sent, given or counted once, and what
// is kept stays within its bounds.
#include "lan/lan_port.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "input.h"
#include "lan/segments.h"
#include "wire/endian.h"
#include "wire/ip.h"

using namespace weft;
using namespace weft::lan;
using fuzz::require;

namespace {

constexpr std::size_t kPeers = 4;
constexpr std::size_t kStations = 10;
using Frame = std::vector<std::byte>;

// Of Ethernet, without a LID.
MacAddress station(std::uint8_t number) {
  return {0x52, 0x54, 0, 0, 0, number};
}

// One of a few that frames are sent to and from, for interfaces.
MacAddress some_address(std::uint8_t number) {
  return station(static_cast<std::uint8_t>(0x40 + number % 4 * 4));
}

PortLids lids_of_port(std::uint64_t guid) {
  return {.base = Lid{static_cast<std::uint16_t>(guid * 4)}, .lmc = 1};
}

class Life final : public LanUser {
 public:
  explicit Life(Bytes decisions)
      : input_(decisions),
        bridge_(!decisions.empty() && (decisions.back() & std::byte{1}) != std::byte{0}) {}

  void live() {
    while (!input_.empty()) {
      step();
      answer_some();
      port_.run(now_);
      require(port_.deadline() > now_);
      require(port_.peers().all().size() <= kPeers);
      require(port_.host_groups().wanted().groups.size() <= GroupList::kMost);
      require(port_.channels().count() <= 2);
      require(port_.stations().count() <= kStations);
    }
  }

  void to_host(const Offload& offload, Bytes frame) override {
    const auto read = EthernetFrame::read(frame);
    require(read && offload.fits(frame.size()) && frame.size() <= kLongestFrame);
    const bool for_host = read->destination == port_.mac() || (read->destination[0] & 1) != 0;
    require(for_host || read->destination == port_.own_address() ||
            (bridge_ && kind_of(read->destination) == MacKind::kForeign));
    require(read->source != port_.own_address());
    if (read->source == kAskingAddress) return;  // a query of the port's own
    require(sender_.has_value());
    if (kind_of(read->source) == MacKind::kForeign) {
      require(port_.peer_bridges(*sender_) || port_.bonds().address(*sender_) == read->source);
    } else {
      const auto lids = lids_of(read->source);
      require(lids && port_.peers().find(lids->base) == sender_);
    }
    ++given_;
  }
  bool send_message(PeerId peer, Bytes head, Bytes frame) override {
    require(port_.channels().state(peer) == Channels::State::kUp);
    require(head.size() == LanHeader::kSize && frame.data() == sent_.data());
    ++messages_;
    return true;
  }
  std::size_t send_datagrams(std::span<const PeerId> peers, const LanHeader& header,
                             Bytes frame) override {
    for (const PeerId peer : peers)
      require(std::ranges::count(port_.peers().all(), peer) == 1 &&
              std::ranges::count(peers, peer) == 1);
    if (header.kind == MessageKind::kGroups) {
      require(GroupList::parse(frame).has_value());
    } else {
      require(frame.data() == sent_.data() && !peers.empty());
      for (const PeerId peer : peers) {
        const auto address = port_.bonds().address(peer);
        const bool several = std::ranges::any_of(
            peers, [&](PeerId other) { return other != peer && port_.bonds().same(peer, other); });
        require(!several);
        require(!address || peers.size() == 1 || address != port_.own_address());
      }
      ++messages_;
    }
    return 0;
  }
  bool send_to_group(const LanHeader& header, Bytes frame) override {
    require(joined_ && header.kind == MessageKind::kFrame && frame.data() == sent_.data());
    ++to_group_;
    return true;
  }
  void connect(PeerId peer) override { require(has(peer)); }
  void disconnect(PeerId peer) override { require(has(peer)); }
  bool ask(std::uint64_t number, const Question& question, Time) override {
    asked_.emplace_back(number, question);
    require(asked_.size() <= 32);
    return true;
  }
  void peer_came(PeerId peer) override { require(has(peer)); }
  void peer_moved(PeerId peer) override { require(has(peer)); }
  void peer_went(PeerId peer) override { require(has(peer)); }

 private:
  [[nodiscard]] bool has(PeerId peer) const {
    return std::ranges::count(port_.peers().all(), peer) == 1;
  }

  // With a GRH, or without.
  [[nodiscard]] Sender some_sender() {
    const std::uint16_t word = input_.word();
    Sender from{.lid = Lid{word}};
    if ((word & 0x8000) != 0) from.port = Guid{1U + word % 6U};
    return from;
  }

  void step() {
    switch (input_.one_of(11)) {
      case 0:
        return from_host(some_frame(port_.mac()));
      case 1:
        return from_fabric();
      case 2:
        sender_.reset();
        return port_.from_datagram(some_sender(), Qpn{input_.byte()}, input_.some(), now_);
      case 3:
        return change_channel();
      case 4: {
        const Guid guid{1U + input_.one_of(6)};
        (input_.byte() & 1) != 0 ? port_.directory().in_service(guid, now_)
                                 : port_.directory().out_of_service(guid, now_);
        return;
      }
      case 5:
        now_ += std::chrono::milliseconds(input_.word());
        return;
      case 6:
        return from_host(some_frame(station(input_.byte())));
      case 7:
        return from_fabric(station(input_.byte()));
      case 8:
        return say_groups();
      case 9:
        return port_.address_changed(some_address(input_.byte()), now_);
      default:
        joined_ = !joined_;
        joined_ ? port_.group_joined(now_) : port_.group_left(now_);
    }
  }

  void answer_some() {
    const std::array<Guid, 5> ports{Guid{2}, Guid{3}, Guid{4}, Guid{5}, Guid{6}};
    for (int i = 0; i < 8 && !asked_.empty(); ++i) {
      const auto [number, question] = asked_.front();
      asked_.pop_front();
      const PortLids lids = lids_of_port(question.of.value());
      const std::array<PeerPath, 2> paths{
          PeerPath{.dlid = lids.base},
          PeerPath{.dlid = Lid{static_cast<std::uint16_t>(lids.base.value() + 1)}}};
      if (question.kind == Question::Kind::kPaths) {
        port_.directory().answer(number, PortPaths{.lids = lids, .paths = paths}, now_);
      } else if (question.kind == Question::Kind::kEnd) {
        port_.directory().answer(number, DatagramEnd{.qpn = Qpn{7}}, now_);
      } else {
        port_.directory().answer(number, std::span<const Guid>(ports), now_);
      }
    }
  }

  // To anybody; in part what IGMP or MLD have, with right checksums.
  Frame some_frame(const MacAddress& from) {
    const Bytes body = input_.some();
    const std::uint8_t kind = input_.byte();
    Frame frame(14 + body.size());
    MacAddress to = kBroadcast;
    if (kind % 4 == 0 && kind >= 0x40) to = station(kind);
    if (kind % 4 == 0 && kind >= 0xC0) to = {0x01, 0x80, 0xC2, 0, 0, 0};
    if (kind % 4 == 1) to = mac_of(lids_of_port(1U + kind / 4 % 6));
    if (kind % 4 == 2) to = {0x01, 0x00, 0x5E, 1, 2, 3};
    if (kind % 4 == 3) to = {0x33, 0x33, 0, 0, 0, 0x16};
    std::memcpy(frame.data(), to.data(), to.size());
    std::memcpy(frame.data() + 6, from.data(), from.size());
    std::ranges::copy(body, frame.begin() + 14);
    wire::store_be16(frame.data() + 12,
                     kind % 4 == 2 ? EthernetFrame::kIpv4 : EthernetFrame::kIpv6);
    if (kind % 4 == 2 && body.size() >= 28 && body.size() % 2 == 0) make_igmp(frame);
    return frame;
  }

  static void make_igmp(Frame& frame) {
    wire::store_u8(frame.data() + 14, 0x45);
    wire::store_be16(frame.data() + 16, static_cast<std::uint16_t>(frame.size() - 14));
    wire::store_be16(frame.data() + 20, 0);
    wire::store_u8(frame.data() + 23, 2);
    wire::store_be16(frame.data() + 36, 0);
    wire::store_be16(frame.data() + 36, wire::internet_checksum(Bytes(frame).subspan(34)));
  }

  void from_host(const Frame& frame) {
    sent_ = frame;
    const std::uint64_t before = dropped();
    messages_ = 0;
    to_group_ = 0;
    port_.from_host({}, frame, now_);
    // Besides what goes to the group, those may get copies that it does not reach.
    require(to_group_ <= 1 && messages_ <= 1);
    require(std::max(messages_, to_group_) + dropped() - before == 1);
  }

  void from_fabric(const std::optional<MacAddress>& source = std::nullopt) {
    const Guid guid{1U + input_.one_of(6)};
    sender_ = port_.peers().find(lids_of_port(guid.value()).base);
    const bool honest = !input_.rarely();
    const MacAddress port = mac_of(lids_of_port(honest ? guid.value() : 9));
    const Frame message = message_of(MessageKind::kFrame, some_frame(source.value_or(port)));
    const std::uint64_t before = dropped();
    given_ = 0;
    if (sender_ && port_.channels().state(*sender_) == Channels::State::kUp) {
      port_.from_channel(*sender_, message, now_);
    } else {
      port_.from_datagram({.lid = lids_of_port(guid.value()).base}, Qpn{7}, message, now_);
    }
    require(given_ + dropped() - before == 1);
    sender_.reset();
  }

  void say_groups() {
    GroupList list{.all = (input_.byte() & 1) != 0,
                   .bridges = (input_.byte() & 1) != 0,
                   .joined = (input_.byte() & 1) != 0,
                   .asks = (input_.byte() & 1) != 0,
                   .groups = {}};
    if (input_.rarely()) list.groups.push_back({0x01, 0x00, 0x5E, 1, 2, 3});
    const std::uint8_t address = input_.byte();
    if (address % 4 != 0) list.address = some_address(address);
    Frame text;
    list.write(text);
    const Guid guid{1U + input_.one_of(6)};
    port_.from_datagram({.lid = lids_of_port(guid.value()).base}, Qpn{7},
                        message_of(MessageKind::kGroups, text), now_);
  }

  Frame message_of(MessageKind kind, const Frame& frame) {
    Frame message(LanHeader::kSize + frame.size());
    LanHeader{.kind = kind, .number = ++number_, .total = static_cast<std::uint32_t>(frame.size())}
        .write(message);
    std::ranges::copy(frame, message.begin() + LanHeader::kSize);
    return message;
  }

  void change_channel() {
    const auto peer = port_.peers().find(lids_of_port(1U + input_.one_of(6)).base);
    if (!peer) return;
    switch (input_.one_of(5)) {
      case 0:
        if (port_.accept_channel(*peer, now_)) require(port_.channel_up(*peer, now_));
        break;
      case 1: {
        const bool up = port_.channel_up(*peer, now_);
        require(up == (port_.channels().state(*peer) == Channels::State::kUp));
        break;
      }
      case 2:
        port_.channel_refused(*peer, now_);
        break;
      default:
        port_.channel_down(*peer, now_);
        break;
    }
  }

  // Frames, by whatever reason.
  [[nodiscard]] std::uint64_t dropped() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < LanCounters::kSize; ++i) {
      const auto counter = static_cast<LanCounter>(i);
      const bool tx = counter >= LanCounter::kTxTooShort && counter <= LanCounter::kTxNoRoom;
      if (tx || counter >= LanCounter::kRxNotLan) sum += port_.counters().get(counter);
    }
    return sum;
  }

  static LanOptions options(bool bridge) {
    LanOptions out{.lids = lids_of_port(1), .bridge = bridge};
    out.directory.own = Guid{1};
    out.directory.peers = kPeers;
    out.channels.most = 2;
    out.reassembly = {.frames = 4, .frames_each = 2};
    out.stations = {.most = kStations, .most_of_one = 8};
    return out;
  }

  fuzz::Input input_;
  Time now_{1s};
  const bool bridge_;
  LanPort port_{options(bridge_), *this, now_};
  std::deque<std::pair<std::uint64_t, Question>> asked_;
  Bytes sent_{};
  std::optional<PeerId> sender_;
  bool joined_ = false;
  unsigned messages_ = 0;
  unsigned to_group_ = 0;
  unsigned given_ = 0;
  std::uint32_t number_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Life(std::as_bytes(std::span(data, size))).live();
  return 0;
}
