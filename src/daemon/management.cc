// SPDX-License-Identifier: Apache-2.0
#include "daemon/management.h"

#include <utility>

#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/packet.h"

namespace weft::daemon {
namespace {

constexpr std::size_t kBudget = 256;
// A GSI queue pair takes packets of any partition that it is a member of; there is one.
constexpr std::uint16_t kDefaultPartition = kDefaultPKey.value() & kPartitionBits;
constexpr std::size_t kHeaders = wire::Bth::kSize + wire::Deth::kSize;

}  // namespace

Expected<std::unique_ptr<Management>> Management::open(port::Port& port, io::Reactor& reactor,
                                                       Receiver& receiver) {
  auto endpoint = port.open_management();
  if (!endpoint) return tl::unexpected(endpoint.error());
  std::unique_ptr<Management> out(new Management(std::move(*endpoint), receiver));
  for (const int descriptor : out->endpoint_->inlet()->descriptors()) {
    auto watch = reactor.watch(descriptor, EPOLLIN, [self = out.get()](std::uint32_t events) {
      // Reports of the network about what was sent.
      if ((events & EPOLLERR) != 0) self->endpoint_->inlet()->expect_errors();
      self->receive();
    });
    if (!watch) return tl::unexpected(watch.error());
    out->watches_.push_back(std::move(*watch));
  }
  return out;
}

void Management::receive() {
  endpoint_->inlet()->receive(*this, kBudget);
}

Bytes Management::mad_in(Bytes frame) {
  const auto bth = wire::Bth::parse(frame);
  const bool shaped = bth && bth->opcode == wire::Opcode::ud_send_only && bth->dest_qp == kQp1 &&
                      frame.size() == kHeaders + mgmt::kMadSize + wire::kIcrcSize;
  return shaped ? frame.subspan(kHeaders, mgmt::kMadSize) : Bytes{};
}

Bytes Management::mad_in(const hca::Burst& burst) {
  const auto pieces = burst.empty() ? std::span<const Bytes>{} : burst.pieces(burst.packets()[0]);
  return pieces.empty() ? Bytes{} : pieces[0];
}

void Management::send(const hca::Path& to, PKey, std::span<const std::byte, mgmt::kMadSize> mad) {
  burst_.clear();
  burst_.path = to;
  burst_.destination = kQp1;
  hca::OutPacket& packet = burst_.open();
  wire::Bth bth;
  bth.opcode = wire::Opcode::ud_send_only;
  bth.pkey = kDefaultPKey;
  bth.dest_qp = kQp1;
  bth.psn = psn_;
  ++psn_;
  const MutableBytes header(packet.header);
  bth.write(header);
  wire::Deth{.qkey = kGsiQKey, .src_qp = kQp1}.write(header.subspan(wire::Bth::kSize));
  packet.header_length = kHeaders;
  burst_.add_piece(packet, mad);
  burst_.close(packet, wire::kIcrcSize);
  // What the wire cannot take now is lost, as it could be on its way: the manager repeats it.
  const bool sent = endpoint_->send(burst_).outcome == hca::SendOutcome::kSent;
  counters_.add(sent ? ManagementCounter::kTxMads : ManagementCounter::kTxLost);
}

void Management::deliver(const hca::InDatagram& datagram) {
  const auto bth = wire::Bth::parse(datagram.transport);
  const bool shaped = bth && bth->opcode == wire::Opcode::ud_send_only && bth->dest_qp == kQp1 &&
                      bth->transport_version == 0 && bth->pad_count == 0 &&
                      datagram.transport.size() == kHeaders + mgmt::kMadSize;
  if (!shaped) return counters_.add(ManagementCounter::kRxMalformed);
  const auto deth = wire::Deth::parse(datagram.transport.subspan(wire::Bth::kSize));
  if (deth->qkey != kGsiQKey || deth->src_qp != kQp1 ||
      (bth->pkey.value() & kPartitionBits) != kDefaultPartition) {
    return counters_.add(ManagementCounter::kRxForeign);
  }
  counters_.add(ManagementCounter::kRxMads);
  hca::Path from;
  from.sgid = datagram.destination;
  from.dgid = datagram.source;
  from.scope_id = datagram.scope_id;
  from.traffic_class = datagram.traffic_class;
  receiver_.received(datagram.transport.subspan(kHeaders), from);
}

void Management::undelivered(const hca::Undelivered& packet) {
  const auto bth = wire::Bth::parse(packet.transport);
  const bool shaped = bth && bth->opcode == wire::Opcode::ud_send_only && bth->dest_qp == kQp1 &&
                      packet.transport.size() > kHeaders;
  if (shaped) receiver_.undelivered(packet.transport.subspan(kHeaders), packet.destination);
}

}  // namespace weft::daemon
