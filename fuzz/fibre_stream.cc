// SPDX-License-Identifier: Apache-2.0
// The stream of a fibre in each line code, of any content and in pieces of any size, among it what
// another end says, bits of it changed or missing, while the port at this end comes and goes, and
// sends: what is taken for a packet has the length that its LRH says, nothing comes while there is
// no connection, no deadline that has passed stays, and what waits stays within bounds.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "input.h"
#include "link/packet_pool.h"
#include "wan/fibre_channel.h"
#include "wire/endian.h"
#include "wire/flow_control.h"
#include "wire/lrh.h"

using namespace weft;
using namespace weft::wan;
using fuzz::require;

namespace {

class Port final : public link::ChannelUser {
 public:
  void connected(Time) override { require(!std::exchange(connected_, true)); }
  void disconnected(Time) override { require(std::exchange(connected_, false)); }
  void arrived(Bytes packet, Time) override {
    require(connected_);
    require(packet.size() >= link::kShortestPacket && packet.size() <= link::kLongestPacket);
    require(wire::Lrh::parse(packet)->packet_bytes() + wire::kVcrcSize == packet.size());
  }
  void arrived_flow_control(link::SignalBytes, Time) override { require(connected_); }
  void may_send(Time) override {}

 private:
  bool connected_ = false;
};

// Says what a fibre's end says.
class OtherEnd {
 public:
  explicit OtherEnd(FibreCodeKind code) : code_(make_fibre_code(code)) {}
  Bytes says(fuzz::Input& input) {
    said_.clear();
    switch (input.one_of(4)) {
      case 0:
        code_->put_training(said_, {.own = input.byte(),
                                    .heard = input.byte(),
                                    .format = link::CreditFormat{.scale = input.byte()}});
        break;
      case 1:
        code_->put_skip(said_);
        break;
      case 2:
        code_->put_flow_control(said_, credit(input).bytes());
        break;
      default:
        if (const auto one = packet(input.byte())) require(code_->put_packet(said_, *one));
    }
    if (input.rarely() && !said_.empty()) {
      said_[input.word() % said_.size()] ^= std::byte{input.byte()};
    }
    if (input.rarely()) said_.resize(said_.size() / 2);
    return said_;
  }

  [[nodiscard]] link::PacketPtr packet(std::size_t words) {
    std::vector<std::byte> bytes(12 + 4 * words + wire::kVcrcSize);
    wire::store_be16(bytes.data() + 4, static_cast<std::uint16_t>(3 + words));
    return pool_.copy(bytes);
  }
  static wire::FlowControl credit(fuzz::Input& input) {
    return {.op = static_cast<wire::FlowControl::Op>(input.one_of(3)),
            .vl = Vl{input.one_of(16)},
            .fctbs = input.byte(),
            .fccl = input.byte()};
  }

 private:
  BufferPool payloads_{link::PacketPool::kPayloadBlock, 4};
  link::PacketPool pool_{4, payloads_};
  std::unique_ptr<FibreCode> code_;
  std::vector<std::byte> said_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(std::as_bytes(std::span(data, size)));
  Port port;
  const auto code = static_cast<FibreCodeKind>(input.one_of(3));
  FibreChannel channel({.code = code, .format = link::CreditFormat{.wide = true}});
  OtherEnd other(code);
  channel.set_user(&port);
  Time now{1s};
  bool seeks = false;
  const auto begin_anew = [&] {
    channel.closed(now);
    channel.opened(now);
  };
  channel.opened(now);
  const auto bring = [&](Bytes bytes) {
    std::ranges::copy(bytes, channel.room().begin());
    if (!channel.arrived(bytes.size(), now)) begin_anew();
    require(channel.room().size() > link::kLongestPacket);
  };
  while (!input.empty()) {
    switch (input.one_of(8)) {
      case 0:
        channel.seek(seeks = !seeks, now);
        break;
      case 1:
        now += Duration(input.number());
        if (!channel.run(now)) begin_anew();
        if (const auto next = channel.deadline()) require(*next > now);
        break;
      case 2:
        channel.sent(std::min<std::size_t>(input.byte(), channel.pending().size()), now);
        break;
      case 3:
      case 4:
        bring(other.says(input));
        break;
      case 7:
        if (const auto packet = other.packet(input.byte())) channel.send(*packet, now);
        channel.send_flow_control(OtherEnd::credit(input).bytes(), now);
        break;
      default:
        bring(input.some());
    }
    // Whoever does not read is told of training and of nothing else, again and again.
    if (channel.pending().size() > 4096) channel.sent(channel.pending().size(), now);
  }
  return 0;
}
