// SPDX-License-Identifier: Apache-2.0
#include "port/roce/slot_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <sys/socket.h>

#include <array>
#include <cassert>
#include <cerrno>

namespace weft::port {
namespace {

constexpr std::uint32_t kDestQpOffset = 5;  // in a BTH, which is where a UDP payload begins

// Picks the member of the group whose index is in bits 16-23 of DestQP; the first for any other.
Expected<void> steer(const io::UdpSocket& first, std::uint8_t members) {
  std::array<sock_filter, 4> code{{
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kDestQpOffset),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, members, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_A, 0),
  }};
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (setsockopt(first.fd(), SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program) == 0) {
    return {};
  }
  return fail_errno(errno, "setsockopt SO_ATTACH_REUSEPORT_CBPF on " + first.local().to_string());
}

// What came while nobody held the slot is nobody's.
void empty(const io::UdpSocket& socket) {
  std::array<std::byte, 1> scrap{};
  io::ReceivedDatagram ignored;
  while (socket.receive(scrap, ignored).status == io::IoStatus::kDone) {
  }
}

}  // namespace

Expected<std::shared_ptr<SlotGroup>> SlotGroup::open(const SlotGroupConfig& config) {
  assert(config.slots >= 2);
  // Alone first: another group of this user would let its port be shared, and take the packets.
  io::UdpOptions options;
  options.local.port = config.udp_port;
  if (auto alone = io::UdpSocket::open(options); !alone) {
    if (alone.error().code != std::errc::address_in_use) return tl::unexpected(alone.error());
    return fail(
        std::errc::address_in_use,
        fmt::format("UDP port {} is in use: one user at a time can have it, and neither the "
                    "kernel's rdma_rxe nor another RoCE program beside",
                    config.udp_port));
  }
  options.reuse_port = true;
  options.tell_overflows = false;
  options.coalesce = false;
  options.only_joined_groups = true;
  options.accept_zero_checksum6 = true;  // rdma_rxe and adapters send none over IPv6 either
  options.receive_buffer = config.socket_buffer;
  std::shared_ptr<SlotGroup> group(new SlotGroup);
  for (std::uint8_t i = 0; i < config.slots; ++i) {
    auto socket = io::UdpSocket::open(options);
    if (!socket) return tl::unexpected(socket.error());
    group->members_.push_back({std::move(*socket)});
  }
  if (auto ok = steer(group->members_[0].socket, config.slots); !ok) {
    return tl::unexpected(ok.error());
  }
  return group;
}

Expected<Slot> SlotGroup::hand_out(std::size_t number) {
  Member& member = members_[number];
  io::UniqueFd copy(fcntl(member.socket.fd(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return fail_errno(errno, "dup of a socket");
  auto socket = io::UdpSocket::adopt(std::move(copy));
  if (!socket) return tl::unexpected(socket.error());
  empty(*socket);
  member.taken = true;
  Lease lease([group = shared_from_this(), number] {
    const std::lock_guard guard(group->mutex_);
    group->members_[number].taken = false;
  });
  return Slot{static_cast<std::uint8_t>(number), std::move(*socket), std::move(lease)};
}

Expected<Slot> SlotGroup::take() {
  const std::lock_guard guard(mutex_);
  for (std::size_t tried = 1; tried < members_.size(); ++tried) {
    const std::size_t number = next_;
    next_ = next_ + 1 < members_.size() ? next_ + 1 : 1;
    if (!members_[number].taken) return hand_out(number);
  }
  return fail(std::errc::not_enough_memory,
              fmt::format("all {} shares of UDP port {} are taken: each device that a program uses "
                          "has one",
                          members_.size() - 1, members_[0].socket.port()));
}

Expected<Slot> SlotGroup::take_management() {
  const std::lock_guard guard(mutex_);
  if (members_[0].taken) {
    return fail(std::errc::address_in_use, "queue pair 1 is taken already");
  }
  return hand_out(0);
}

Expected<std::shared_ptr<SlotGroup>> OwnSlots::group() {
  const std::lock_guard guard(mutex_);
  if (!group_) {
    auto opened = SlotGroup::open(config_);
    if (!opened) return opened;
    group_ = std::move(*opened);
  }
  return group_;
}

Expected<Slot> OwnSlots::take() {
  auto opened = group();
  if (!opened) return tl::unexpected(opened.error());
  return (*opened)->take();
}

Expected<Slot> OwnSlots::take_management() {
  auto opened = group();
  if (!opened) return tl::unexpected(opened.error());
  return (*opened)->take_management();
}

}  // namespace weft::port
