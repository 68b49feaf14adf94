// SPDX-License-Identifier: Apache-2.0
#include "io/tap_interface.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "io/tap_file.h"

namespace weft::io {
namespace {

constexpr std::size_t kMostPieces = 64;

ifreq request_of(const std::string& name) {
  ifreq request{};
  std::memcpy(request.ifr_name, name.data(), std::min(name.size(), sizeof request.ifr_name - 1));
  return request;
}

// A thread is in a namespace by itself: the others of this process stay where they are.
Expected<void> in_namespace(const std::string& path, const std::function<Expected<void>()>& what) {
  if (path.empty()) return what();
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno(errno, path);
  Expected<void> result;
  std::thread([&] {
    if (setns(file.get(), CLONE_NEWNET) != 0) {
      result = fail_errno(errno, path + ": enter the network namespace (CAP_SYS_ADMIN)");
    } else {
      result = what();
    }
  }).join();
  return result;
}

// What the kernel does of itself is all right too: neighbours then find out later. In some
// containers these files cannot be written.
void tell_neighbours(const std::string& name) {
  for (const char* const option : {"ipv4/conf/{}/arp_notify", "ipv6/conf/{}/ndisc_notify"}) {
    const std::string path = "/proc/sys/net/" + fmt::format(fmt::runtime(option), name);
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file) static_cast<void>(!::write(file.get(), "1", 1));
  }
}

}  // namespace

Expected<std::unique_ptr<TapInterface>> TapInterface::make(const TapOptions& options) {
  if (options.queues < 1 || options.queues > kMostQueues) {
    return fail(std::errc::invalid_argument,
                fmt::format("{}: {} queues: 1 to {} are possible", options.name, options.queues,
                            kMostQueues));
  }
  std::unique_ptr<TapInterface> made(new TapInterface);
  const auto done =
      in_namespace(options.network_namespace, [&] { return made->make_here(options); });
  if (!done) return tl::unexpected(done.error());
  return made;
}

Expected<void> TapInterface::make_here(const TapOptions& options) {
  control_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!control_) return fail_errno(errno, "socket");
  name_ = options.name;
  // The kernel would hand out an interface that is there already, of another kind maybe.
  ifreq request = request_of(name_);
  if (ioctl(control_.get(), SIOCGIFINDEX, &request) == 0) return fail_errno(EEXIST, name_);
  for (unsigned queue = 0; queue < options.queues; ++queue) {
    if (auto added = add_queue(options); !added) return added;
  }
  if (auto opened = open_news(); !opened) return opened;
  tell_neighbours(name_);
  if (auto set = set_mac(options.mac); !set) return set;
  if (auto set = set_mtu(options.mtu); !set) return set;
  if (auto set = set_carrier(false); !set) return set;
  return set_up();
}

Expected<void> TapInterface::add_queue(const TapOptions& options) {
  const int several = options.queues > 1 ? IFF_MULTI_QUEUE : 0;
  const int fresh = queues_.empty() ? IFF_TUN_EXCL : 0;
  auto file = open_tap_file(name_, static_cast<short>(IFF_VNET_HDR | several | fresh));
  if (!file) return tl::unexpected(file.error());
  name_ = file->name;
  int header = kHeader;
  int little_endian = 1;
  const unsigned undone =
      options.offloads ? TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN : 0u;
  if (ioctl(file->fd.get(), TUNSETVNETHDRSZ, &header) != 0 ||
      ioctl(file->fd.get(), TUNSETVNETLE, &little_endian) != 0 ||
      ioctl(file->fd.get(), TUNSETOFFLOAD, undone) != 0) {
    return fail_errno(errno, name_);
  }
  queues_.push_back(std::move(file->fd));
  return {};
}

Expected<void> TapInterface::open_news() {
  ifreq request = request_of(name_);
  if (ioctl(control_.get(), SIOCGIFINDEX, &request) != 0) return fail_errno(errno, name_);
  index_ = static_cast<std::uint32_t>(request.ifr_ifindex);
  auto news = LinkMonitor::open();
  if (!news) return tl::unexpected(news.error());
  news_.emplace(std::move(*news));
  auto questions = LinkQuestions::open();
  if (!questions) return tl::unexpected(questions.error());
  questions_.emplace(std::move(*questions));
  return {};
}

Expected<void> TapInterface::set_up() {
  ifreq request = request_of(name_);
  if (ioctl(control_.get(), SIOCGIFFLAGS, &request) != 0) return fail_errno(errno, name_);
  request.ifr_flags |= IFF_UP;
  if (ioctl(control_.get(), SIOCSIFFLAGS, &request) != 0) return fail_errno(errno, name_);
  return {};
}

Expected<void> TapInterface::set_carrier(bool on) {
  int carrier = on ? 1 : 0;
  if (ioctl(queues_.front().get(), TUNSETCARRIER, &carrier) != 0) return fail_errno(errno, name_);
  return {};
}

Expected<void> TapInterface::set_mac(const std::array<std::uint8_t, 6>& mac) {
  ifreq request = request_of(name_);
  request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
  std::memcpy(request.ifr_hwaddr.sa_data, mac.data(), mac.size());
  if (ioctl(control_.get(), SIOCSIFHWADDR, &request) == 0) return {};
  return fail_errno(errno, fmt::format("{}: the address {:02x}", name_, fmt::join(mac, ":")));
}

Expected<void> TapInterface::set_mtu(std::uint32_t mtu) {
  ifreq request = request_of(name_);
  request.ifr_mtu = static_cast<int>(std::min<std::uint32_t>(mtu, 1u << 30));
  if (ioctl(control_.get(), SIOCSIFMTU, &request) == 0) return {};
  return fail_errno(errno, fmt::format("{}: an MTU of {} bytes", name_, mtu));
}

std::optional<LinkFacts> TapInterface::take_news() {
  if (!news_->drain(index_)) return std::nullopt;
  return questions_->ask(index_);
}

MutableBytes TapInterface::receive(std::size_t queue, MutableBytes place) {
  while (true) {
    const auto size = ::read(queues_[queue].get(), place.data(), place.size());
    if (size >= 0) return place.first(static_cast<std::size_t>(size));
    if (errno == EBADFD) gone_ = true;
    if (errno != EINTR) return {};
  }
}

std::errc TapInterface::send(std::size_t queue, std::span<const Bytes> pieces) {
  std::array<iovec, kMostPieces> parts;
  if (pieces.size() > parts.size()) return std::errc::argument_list_too_long;
  std::transform(pieces.begin(), pieces.end(), parts.begin(), [](Bytes piece) {
    return iovec{const_cast<std::byte*>(piece.data()), piece.size()};
  });
  while (writev(queues_[queue].get(), parts.data(), static_cast<int>(pieces.size())) < 0) {
    if (errno == EBADFD) gone_ = true;
    if (errno != EINTR) return static_cast<std::errc>(errno);
  }
  return {};
}

}  // namespace weft::io
