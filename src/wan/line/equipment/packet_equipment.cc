// SPDX-License-Identifier: Apache-2.0
// What stands between lines of packets: the ends of two lines, each with a session of its own, and
// something that sends packets on from one to the other.
#include <fmt/format.h>

#include <array>
#include <deque>

#include "base/random.h"
#include "wan/encapsulation/ipv4_layer.h"
#include "wan/encapsulation/ipv6_layer.h"
#include "wan/encapsulation/mpls_layer.h"
#include "wan/line/equipment/equipment_parts.h"
#include "wan/line/equipment/foreign_packets.h"
#include "wan/line/equipment/forwarding.h"
#include "wan/line/stack/line_stack.h"

namespace weft::wan {
namespace {

// A queue of packets before a line, which says how full it is by dropping.
class PacketQueue final : public PacketSource {
 public:
  [[nodiscard]] bool put(Bytes packet) {
    constexpr std::size_t kMostBytes = std::size_t{256} << 10;
    if (bytes_ + packet.size() > kMostBytes) return false;
    bytes_ += packet.size();
    waiting_.emplace_back(packet.begin(), packet.end());
    return true;
  }
  [[nodiscard]] Bytes next() override {
    if (waiting_.empty()) return {};
    going_ = std::move(waiting_.front());
    waiting_.pop_front();
    bytes_ -= going_.size();
    return going_;
  }

 private:
  std::deque<std::vector<std::byte>> waiting_;
  std::size_t bytes_ = 0;
  std::vector<std::byte> going_;
};

class BetweenPackets final : public LineEquipment {
 public:
  enum class Kind : std::uint8_t { kRelay, kBridge, kRouter };

  BetweenPackets(Kind kind, const LineStack& names, const Carried& carried,
                 const EquipmentWord& word)
      : entropy_(Random(word.place)), trunk_(word.foreign_towards == From::kSecond ? 1 : 0) {
    if (word.foreign_bytes_per_s != 0) {
      host_.emplace(ForeignPackets::Options{.pair = word.foreign_pair,
                                            .second = word.foreign_towards == From::kFirst,
                                            .on_ethernet = kind == Kind::kBridge,
                                            .bytes_per_s = word.foreign_bytes_per_s});
    }
    switch (kind) {
      case Kind::kRelay:
        forwarding_ = std::make_unique<PlainForwarding>(counters_);
        break;
      case Kind::kBridge:
        forwarding_ = std::make_unique<BridgeForwarding>(counters_);
        break;
      case Kind::kRouter:
        forwarding_ = std::make_unique<RouterForwarding>(counters_, host_of_router());
    }
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      ends_[i].of = this;
      ends_[i].port = i;
      ends_[i].line = names.make(carried, &entropy_, ends_[i].queue, ends_[i]);
    }
  }

  void pass(From from, MutableBytes octets, Time now) override {
    Line& in = *ends_[static_cast<std::size_t>(from)].line;
    Line& out = *ends_[1 - static_cast<std::size_t>(from)].line;
    out.session().advance(now);
    send_of_host(now);
    // What it has heard a session does at once.
    pass_in_pieces(octets, in.in(), out.out(), [&] { in.session().advance(now); });
  }
  [[nodiscard]] std::vector<CounterValue> counters() const override {
    std::vector<CounterValue> out = counters_.snapshot();
    for (const End& end : ends_)
      accumulate(out, end.line->counters());
    if (host_) accumulate(out, host_->counters().snapshot());
    return out;
  }

 private:
  struct End final : PacketSink {
    void packet(Bytes bytes) override { of->came(port, bytes); }
    BetweenPackets* of = nullptr;
    std::size_t port = 0;
    PacketQueue queue;
    std::unique_ptr<Line> line;
  };

  [[nodiscard]] std::optional<RouterForwarding::Host> host_of_router() const {
    if (!host_) return std::nullopt;
    return RouterForwarding::Host{.address = host_->address(), .line = trunk_};
  }
  // There is nobody to talk to before the line is there.
  void send_of_host(Time now) {
    if (!host_ || !ends_[trunk_].line->session().up()) return;
    host_->advance(now);
    while (host_->is_due())
      came(kHostPort, host_->next());
  }
  void came(std::size_t from, Bytes bytes) {
    packet_.assign(bytes.begin(), bytes.end());
    const PortSet to = forwarding_->to(from, packet_);
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (to[i]) put(ends_[i]);
    }
    // A bridge sends everybody what it does not know.
    if (host_ && to[kHostPort] && host_->is_meant(packet_)) host_->take(packet_);
  }
  void put(End& end) {
    using Counter = ForwardingCounter;
    if (packet_.size() > end.line->longest_packet()) {
      counters_.add_in_turn(Counter::kTooLong);
    } else {
      counters_.add_in_turn(end.queue.put(packet_) ? Counter::kForwarded : Counter::kDroppedFull);
    }
  }

  SeededEntropy entropy_;
  const std::size_t trunk_;  // of the ends, the one that the host talks over
  ForwardingCounters counters_;
  std::optional<ForeignPackets> host_;
  std::unique_ptr<Forwarding> forwarding_;
  std::array<End, 2> ends_;
  std::vector<std::byte> packet_;
};

// What packets of a line are, by the name of the outermost layer of them.
Carried carried_of(std::string_view packets) {
  const std::string_view last = packets.substr(packets.find_last_of('/') + 1);
  if (last == "ipv6") return {.ip_protocol = {}, .ether_type = Ipv6Layer::kEtherType};
  if (last == "ipv4") return {.ip_protocol = {}, .ether_type = Ipv4Layer::kEtherType};
  if (last == "mpls") return {.ip_protocol = {}, .ether_type = MplsLayer::kEtherType};
  return last == "ethernet" ? Carried{} : kFrame;
}

MadeEquipment make_between(BetweenPackets::Kind kind, const EquipmentWord& word,
                           std::initializer_list<std::string_view> outermost) {
  if (!word.settings.empty()) {
    return word.wrong(fmt::format("{} is no setting of it", word.settings.front().first));
  }
  const auto names = LineStack::parse(word.line);
  if (!names) return word.wrong(names.error().message);
  const std::string_view packets = names->packets();
  const std::string_view last = packets.substr(packets.find_last_of('/') + 1);
  if (outermost.size() != 0 && std::ranges::find(outermost, last) == outermost.end()) {
    return word.wrong(fmt::format("it is for lines that carry {}, as in {}:{}/{}",
                                  *outermost.begin(), word.kind, *outermost.begin(),
                                  names->mapping().empty() ? "10gbase-r" : names->mapping()));
  }
  return std::make_unique<BetweenPackets>(kind, *names, carried_of(packets), word);
}

}  // namespace

MadeEquipment make_router(const EquipmentWord& word) {
  if (word.foreign_bytes_per_s != 0) {
    return make_between(BetweenPackets::Kind::kRouter, word, {"ipv6"});
  }
  return make_between(BetweenPackets::Kind::kRouter, word, {"ipv6", "ipv4"});
}

MadeEquipment make_bridge(const EquipmentWord& word) {
  return make_between(BetweenPackets::Kind::kBridge, word, {"ethernet"});
}

MadeEquipment make_relay(const EquipmentWord& word) {
  return make_between(BetweenPackets::Kind::kRelay, word, {});
}

}  // namespace weft::wan
