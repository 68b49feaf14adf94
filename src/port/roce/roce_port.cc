// SPDX-License-Identifier: Apache-2.0
#include "port/roce/roce_port.h"

#include "port/udp/multicast.h"
#include "port/udp/port_numbers.h"
#include "port/udp/udp_endpoint.h"
#include "port/udp/udp_inlet.h"

namespace weft::port {
// A slot and the queue pair numbers in it.
class RocePort::Share : public std::enable_shared_from_this<Share> {
 public:
  Share(std::uint8_t slot, std::shared_ptr<UdpInlet> inlet, Entropy& entropy,
        std::shared_ptr<Agreements> agreements)
      : slot_(slot),
        inlet_(std::move(inlet)),
        numbers_(0, 0xFFFF, entropy),
        agreements_(std::move(agreements)) {}

  [[nodiscard]] const std::shared_ptr<Agreements>& agreements() const { return agreements_; }

  Expected<std::unique_ptr<Endpoint>> open_endpoint(const std::shared_ptr<UdpShared>& shared) {
    const auto number = numbers_.take();
    if (!number) {
      return fail(std::errc::not_enough_memory, "all 65536 queue pair numbers are in use");
    }
    Lease lease(
        [self = shared_from_this(), number = *number] { self->numbers_.give_back(number); });
    const Qpn qpn{static_cast<std::uint32_t>(slot_) << kSlotShift | *number};
    return std::make_unique<UdpEndpoint>(shared, inlet_, qpn, std::move(lease));
  }

 private:
  std::uint8_t slot_;
  std::shared_ptr<UdpInlet> inlet_;
  PortNumbers numbers_;
  std::shared_ptr<Agreements> agreements_;
};

Expected<std::unique_ptr<RocePort>> RocePort::open(const RocePortConfig& config,
                                                   std::shared_ptr<SlotSource> slots,
                                                   Entropy& entropy) {
  WireRules rules;
  rules.fixed_port = config.udp_port;
  rules.counts_identification = true;
  auto shared = UdpShared::create(config, rules);
  if (!shared) return tl::unexpected(shared.error());
  return std::unique_ptr<RocePort>(new RocePort(std::move(*shared), std::move(slots), entropy));
}

Gid RocePort::group_address(const Gid& group) const {
  return multicast_group(group);
}

// What the network says of a datagram goes to the port that it came from, and of the sockets of
// port 4791 to any. So each slot sends from a port of its own.
Expected<std::shared_ptr<UdpInlet>> RocePort::open_inlet(Slot& slot) {
  auto sender = shared_->open_sender();
  if (!sender) return tl::unexpected(sender.error());
  return UdpShared::open_inlet(shared_, std::move(slot.socket), std::move(slot.lease),
                               std::move(*sender));
}

Expected<std::unique_ptr<Endpoint>> RocePort::open_endpoint(Service) {
  const std::lock_guard guard(mutex_);
  auto share = share_.lock();
  if (!share) {
    auto slot = slots_->take();
    if (!slot) return tl::unexpected(slot.error());
    auto inlet = open_inlet(*slot);
    if (!inlet) return tl::unexpected(inlet.error());
    share = std::make_shared<Share>(slot->number, std::move(*inlet), entropy_,
                                    std::move(slot->agreements));
    share_ = share;
  }
  return share->open_endpoint(shared_);
}

std::shared_ptr<Agreements> RocePort::agreements() {
  const std::lock_guard guard(mutex_);
  const auto share = share_.lock();
  return share ? share->agreements() : nullptr;
}

Expected<std::unique_ptr<Endpoint>> RocePort::open_management() {
  auto slot = slots_->take_management();
  if (!slot) return tl::unexpected(slot.error());
  auto inlet = open_inlet(*slot);
  if (!inlet) return tl::unexpected(inlet.error());
  return std::make_unique<UdpEndpoint>(shared_, std::move(*inlet), kQp1, Lease{});
}

}  // namespace weft::port
