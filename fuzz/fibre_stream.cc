// SPDX-License-Identifier: Apache-2.0
// The stream of a fibre, of any content and in pieces of any size, while the port at this end comes
// and goes: what is taken for a packet has the length that its LRH says, nothing comes while there
// is no connection, and what waits stays within bounds.
#include <algorithm>
#include <cstdint>
#include <span>

#include "input.h"
#include "wan/fibre_channel.h"
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(std::as_bytes(std::span(data, size)));
  Port port;
  FibreChannel channel({.format = link::CreditFormat{.wide = true}});
  channel.set_user(&port);
  Time now{1s};
  bool seeks = false;
  const auto begin_anew = [&] {
    channel.closed(now);
    channel.opened(now);
  };
  channel.opened(now);
  while (!input.empty()) {
    switch (input.one_of(6)) {
      case 0:
        channel.seek(seeks = !seeks, now);
        break;
      case 1:
        now += Duration(input.number());
        if (!channel.run(now)) begin_anew();
        break;
      case 2:
        channel.sent(std::min<std::size_t>(input.byte(), channel.pending().size()), now);
        break;
      default: {
        const Bytes bytes = input.some();
        std::ranges::copy(bytes, channel.room().begin());
        if (!channel.arrived(bytes.size(), now)) begin_anew();
        require(channel.room().size() > link::kLongestPacket);
      }
    }
    // Whoever does not read is told of training and of nothing else, again and again.
    if (channel.pending().size() > 4096) channel.sent(channel.pending().size(), now);
  }
  return 0;
}
