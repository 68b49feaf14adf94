// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/fibre_links.h"

#include <fmt/format.h>

#include <cassert>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/fibre_address.h"
#include "daemon/counters_json.h"
#include "daemon/wan/fibre_stream.h"
#include "link/credit.h"
#include "link/direct_link.h"
#include "link/half_link.h"
#include "wan/fibre_channel.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;

wan::FibreOptions options_of(const fabric::LabExtender& extender, std::size_t remote,
                             std::uint8_t data_vls) {
  return {.near = {.data_vls = data_vls, .vl_buffer = link::kMostCredit},
          .far = wan::fibre_port(extender.buffer_bytes, data_vls),
          .egress = extender.remotes[remote].egress.value_or(fabric::LabEgress()).of_vl};
}

}  // namespace

struct FibreLinks::Remote {
  Remote(const fabric::LabExtender& extender, std::size_t index, fabric::Fabric& fabric,
         const wan::FibreChannel::Options& options, wan::FibreUser& user)
      : extender(extender),
        lab(extender.remotes[index]),
        number(extender.port_of(index)),
        port(fabric.node(extender.node).port(number)),
        channel(options),
        end(options_of(extender, index, fabric.lab().nodes[extender.node].limits.data_vls), user),
        local(fabric.pool()),
        fibre(fabric.pool(), 0) {}

  // Bytes that wait for the fabric.
  [[nodiscard]] std::uint64_t buffered() const {
    std::uint64_t blocks = 0;
    for (std::uint8_t vl = 0; vl < end.far().options().data_vls; ++vl)
      blocks += end.far().options().vl_buffer - end.far().receive_room(Vl{vl});
    return blocks * link::Packet::kBlock;
  }

  const fabric::LabExtender& extender;
  const fabric::LabRemote& lab;
  const std::uint8_t number;
  fabric::NodePort& port;
  wan::FibreChannel channel;
  std::unique_ptr<FibreStream> stream;
  wan::FibreEnd end;
  link::DirectLink local;
  link::HalfLink fibre;
};

FibreLinks::FibreLinks(fabric::Fabric& fabric) : fabric_(fabric) {
}

FibreLinks::~FibreLinks() = default;

Expected<void> FibreLinks::open(const fabric::LabExtender& extender, io::Reactor& reactor) {
  const auto data_vls = fabric_.lab().nodes[extender.node].limits.data_vls;
  wan::FibreChannel::Options options{
      .format = wan::fibre_port(extender.buffer_bytes, data_vls).credit_format};
  for (std::size_t i = 0; i < extender.remotes.size(); ++i) {
    wan::FibreUser& user = *this;
    const auto address = FibreAddress::parse(extender.remotes[i].fibre);
    assert(address);  // the lab file was read
    options.code = static_cast<wan::FibreCodeKind>(address->code);
    auto remote = std::make_unique<Remote>(extender, i, fabric_, options, user);
    auto stream = FibreStream::open(address->stream, remote->channel, reactor);
    if (!stream) {
      return fail(stream.error().code,
                  fmt::format("extender {}: remote {}: {}", fabric_.lab().nodes[extender.node].name,
                              extender.remotes[i].name, stream.error().message));
    }
    remote->stream = std::move(*stream);
    remotes_.push_back(std::move(remote));
  }
  extenders_.push_back(&extender);
  return {};
}

void FibreLinks::start(Time now) {
  for (const auto& remote : remotes_) {
    const fabric::LabNode& node = fabric_.lab().nodes[remote->extender.node];
    // What the port of the other site enables is the subnet manager's business, as it is here.
    remote->port.set_far_partner(node.limits, std::nullopt, std::nullopt);
    if (remote->lab.rate_bytes_per_s != 0) {
      remote->fibre.set_emulation({.rate_bytes_per_s = remote->lab.rate_bytes_per_s}, now);
    }
    remote->local.join(remote->port.link(), remote->end.near(), now);
    remote->fibre.join(remote->end.far(), now);
    remote->fibre.set_channel(&remote->channel, now);
    remote->end.start(now);
  }
}

void FibreLinks::stop(Time now) {
  for (const auto& remote : remotes_) {
    remote->end.stop(now);
    remote->end.run(now);
    remote->stream->run(now);  // the other end is told
    remote->port.link().connect(nullptr, now);
    remote->end.near().connect(nullptr, now);
    remote->end.far().connect(nullptr, now);
    remote->fibre.set_channel(nullptr, now);
  }
}

void FibreLinks::wake(wan::FibreEnd& end) {
  woken_.push_back(&end);
}

bool FibreLinks::run(Time now) {
  std::swap(running_, woken_);
  bool worked = !running_.empty();
  for (wan::FibreEnd* const end : running_)
    end->run(now);
  running_.clear();
  for (const auto& remote : remotes_) {
    const auto due = remote->end.deadline();
    if (due && *due <= now) {
      remote->end.run(now);
      worked = true;
    }
    worked |= remote->stream->run(now);
  }
  return worked;
}

bool FibreLinks::sleep() {
  for (const auto& remote : remotes_) {
    if (remote->stream->sleep()) continue;
    awake();
    return false;
  }
  return true;
}

void FibreLinks::awake() {
  for (const auto& remote : remotes_)
    remote->stream->awake();
}

std::optional<Time> FibreLinks::deadline() const {
  if (!woken_.empty()) return Time{};
  std::optional<Time> first;
  const auto earlier = [&first](std::optional<Time> when) {
    if (when && (!first || *when < *first)) first = when;
  };
  for (const auto& remote : remotes_) {
    earlier(remote->end.deadline());
    earlier(remote->stream->deadline());
  }
  return first;
}

Json FibreLinks::report(const Remote& remote) const {
  const bool up = remote.channel.is_connected();
  std::vector<CounterValue> counters = remote.channel.counters().snapshot();
  for (const CounterValue& value : remote.channel.line_counters())
    counters.push_back(value);
  for (const CounterValue& value : remote.end.far().counters().snapshot())
    counters.push_back(value);
  Json row{{"remote", remote.lab.name},
           {"address", remote.lab.fibre},
           {"port", remote.number},
           {"session", up ? "up" : "looking"},
           {"active", remote.port.link().state() == link::PortState::kActive},
           {"sealed", false},
           {"buffer_bytes", remote.buffered()},
           {"credit_block_bytes", link::Packet::kBlock << remote.end.far().send_format().scale},
           {"credit_blocks", remote.end.far().send_format().most()},
           {"counters", counters_json(counters)}};
  if (!remote.stream->why().empty()) row["why"] = remote.stream->why();
  return row;
}

Json FibreLinks::report() const {
  Json out = Json::array();
  for (const fabric::LabExtender* const extender : extenders_) {
    Json remotes = Json::array();
    for (const auto& remote : remotes_) {
      if (&remote->extender == extender) remotes.push_back(report(*remote));
    }
    out.push_back({{"extender", fabric_.lab().nodes[extender->node].name},
                   {"mode", "bridge"},
                   {"listen", "its fibres"},
                   {"counters", Json::object()},
                   {"remotes", std::move(remotes)}});
  }
  return out;
}

}  // namespace weft::daemon
