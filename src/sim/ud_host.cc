// SPDX-License-Identifier: Apache-2.0
#include "sim/ud_host.h"

#include <array>
#include <bit>
#include <cassert>
#include <utility>

#include "wire/endian.h"
#include "wire/packet.h"
#include "wire/roce.h"

namespace weft::sim {
namespace {

constexpr hca::PdHandle kPd = 1;
constexpr std::uint16_t kMulticastPort = 65'535;

void expect(bool true_condition) {
  assert(true_condition);
  (void)true_condition;
}

}  // namespace

UdHost::UdHost(Scheduler& scheduler, Network& network, Random random, const UdHostConfig& config)
    : scheduler_(scheduler),
      network_(network),
      config_(config),
      entropy_(random),
      table_(entropy_),
      memory_(config.memory),
      completions_(config.queue_pair.max_sends + config.queue_pair.max_receives),
      sink_(*this),
      shared_(config.queue_pair),
      queue_pair_(
          [&] {
            hca::UdConfig with_pd = config.queue_pair;
            with_pd.pd = kPd;
            return with_pd;
          }(),
          table_, sink_, sink_, config.shared_receives ? &shared_ : nullptr),
      socket_(
          network.open({config.gid, port_of(config.queue_pair.qpn)}, config.socket_buffer,
                       [this] { scheduler_.after(config_.read_time, [this] { read_one(); }); })) {
  const auto added = table_.add({.base = memory_.data(),
                                 .iova = std::bit_cast<std::uintptr_t>(memory_.data()),
                                 .length = memory_.size(),
                                 .access = hca::kLocalWrite,
                                 .pd = kPd});
  expect(added.has_value());
  region_ = *added;
}

void UdHost::start(QKey qkey, Psn first) {
  using namespace hca;
  QpAttributes attributes{.state = QpState::kInit, .port = 1, .qkey = qkey, .sq_psn = first};
  expect(queue_pair_.modify(attributes, kAttrState | kAttrPKeyIndex | kAttrPort | kAttrQKey)
             .has_value());
  attributes.state = QpState::kRtr;
  expect(queue_pair_.modify(attributes, kAttrState).has_value());
  attributes.state = QpState::kRts;
  expect(queue_pair_.modify(attributes, kAttrState | kAttrSqPsn).has_value());
}

void UdHost::attach(const Gid& group) {
  expect(queue_pair_.attach(group).has_value());
  network_.join(socket_, group);
}

hca::Sge UdHost::piece(std::size_t offset, std::size_t length) const {
  assert(offset + length <= memory_.size());
  return {.address = region_.iova + offset,
          .length = static_cast<std::uint32_t>(length),
          .lkey = LKey{region_.key}};
}

std::errc UdHost::post_send(const hca::SendRequest& request) {
  const std::errc error = queue_pair_.post_send(request);
  // After the caller has posted the rest of what it posts at this moment.
  if (error == std::errc{} && !std::exchange(pump_due_, true)) {
    scheduler_.after(0ns, [this] {
      pump_due_ = false;
      pump();
    });
  }
  return error;
}

std::errc UdHost::post_receive(const hca::ReceiveRequest& request) {
  const std::errc error =
      config_.shared_receives ? shared_.queue.post(request) : queue_pair_.post_receive(request);
  if (std::exchange(shared_.post_awaited, false)) queue_pair_.receives_posted();
  if (queue_pair_.has_work()) pump();
  return error;
}

void UdHost::Sink::complete(const hca::Completion& completion) {
  expect(host_.completions_.push(completion).stored);
  if (std::exchange(host_.poll_due_, true)) return;
  host_.scheduler_.after(host_.config_.poll_time, [&host = host_] { host.poll(); });
}

void UdHost::poll() {
  poll_due_ = false;
  std::array<hca::Completion, 32> batch;
  while (const std::size_t count = completions_.poll(batch)) {
    for (std::size_t i = 0; i < count; ++i) {
      if (on_completion) on_completion(batch[i]);
    }
  }
}

hca::SendResult UdHost::send(const hca::Burst& burst) {
  const bool multicast = burst.destination == kMulticastQpn;
  Run run{{}, {burst.path.dgid, multicast ? kMulticastPort : port_of(burst.destination)}, {}};
  const wire::IcrcFlow flow(config_.gid, burst.path.dgid, port_of(qpn()), run.to.port);
  for (const hca::OutPacket& packet : burst.packets()) {
    std::vector<std::byte> datagram(packet.header.begin(),
                                    packet.header.begin() + packet.header_length);
    for (const Bytes piece : burst.pieces(packet))
      datagram.insert(datagram.end(), piece.begin(), piece.end());
    datagram.resize(datagram.size() + packet.pad);
    assert(datagram.size() == packet.length());
    const std::uint32_t icrc = flow.icrc(datagram);
    datagram.resize(datagram.size() + wire::kIcrcSize);
    wire::store_le32(datagram.data() + datagram.size() - wire::kIcrcSize, icrc);
    run.datagrams.push_back(std::move(datagram));
  }
  if (!network_.send(socket_, std::move(run))) {
    return {.outcome = hca::SendOutcome::kWouldBlock};
  }
  return {};
}

void UdHost::pump() {
  const bool done = queue_pair_.transmit(scheduler_.now(), scratch_, *this);
  if (!done) {
    wake_at(network_.when_writable(socket_));
  } else if (const auto deadline = queue_pair_.deadline()) {
    wake_at(*deadline);
  }
}

void UdHost::wake_at(Time when) {
  if (wake_at_ && *wake_at_ <= when) return;
  wake_at_ = when;
  scheduler_.at(when, [this, when] {
    if (wake_at_ != when) return;
    wake_at_.reset();
    pump();
  });
}

void UdHost::read_one() {
  const Run run = network_.read(socket_);
  for (const auto& datagram : run.datagrams)
    receive(run, datagram);
  if (network_.readable(socket_)) scheduler_.after(config_.read_time, [this] { read_one(); });
  if (queue_pair_.has_work()) pump();
}

void UdHost::receive(const Run& run, Bytes datagram) {
  const wire::IcrcFlow flow(run.from.gid, run.to.gid, run.from.port, run.to.port);
  if (flow.check(datagram) != wire::IcrcVerdict::good) {
    ++bad_icrc_;
    return;
  }
  std::array<std::byte, hca::kGrhArea> header{};
  queue_pair_.receive({.transport = datagram.first(datagram.size() - wire::kIcrcSize),
                       .network_header = &header,
                       .source = run.from.gid,
                       .destination = run.to.gid,
                       .source_qpn = Qpn{run.from.port},
                       .multicast = run.to.gid.is_multicast()},
                      scheduler_.now());
}

}  // namespace weft::sim
