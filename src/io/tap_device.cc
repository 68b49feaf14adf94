// SPDX-License-Identifier: Apache-2.0
#include "io/tap_device.h"

#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "io/tap_file.h"

namespace weft::io {
namespace {

// Administratively up, as far as this user may do that: his own interface somebody else has set up.
void set_up(const ifreq& named) {
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = named;
  if (!socket || ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0) return;
  request.ifr_flags |= IFF_UP;
  static_cast<void>(ioctl(socket.get(), SIOCSIFFLAGS, &request));
}

}  // namespace

Expected<std::unique_ptr<TapDevice>> TapDevice::open(const std::string& interface,
                                                     std::span<const sock_filter> filter) {
  auto file = open_tap_file(interface);
  if (!file) return tl::unexpected(file.error());
  UniqueFd fd = std::move(file->fd);
  ifreq request{};
  std::memcpy(request.ifr_name, interface.data(), interface.size());
  sock_fprog program{static_cast<unsigned short>(filter.size()),
                     const_cast<sock_filter*>(filter.data())};
  if (ioctl(fd.get(), TUNATTACHFILTER, &program) != 0) return fail_errno(errno, interface);
  set_up(request);
  if (ioctl(fd.get(), SIOCGIFHWADDR, &request) != 0) return fail_errno(errno, interface);
  Mac mac;
  std::memcpy(mac.data(), request.ifr_hwaddr.sa_data, mac.size());
  // The other end of the cable is another station: local, and no group.
  mac[0] = static_cast<std::uint8_t>((mac[0] | 2) & ~1);
  mac[5] ^= 1;
  return std::unique_ptr<TapDevice>(new TapDevice(std::move(fd), interface, mac));
}

BatchSent TapDevice::send(Datagrams frames) {
  BatchSent sent;
  std::vector<iovec> parts;
  while (sent.count < frames.size()) {
    parts.clear();
    for (const Bytes part : frames[sent.count])
      parts.push_back({const_cast<std::byte*>(part.data()), part.size()});
    const auto written = writev(fd_.get(), parts.data(), static_cast<int>(parts.size()));
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) sent.error = static_cast<std::errc>(errno);
      return sent;
    }
    ++sent.count;
  }
  return sent;
}

std::span<const Bytes> TapDevice::receive() {
  received_.clear();
  while (received_.size() < kBatch) {
    const MutableBytes place = room(received_.size());
    const auto size = ::read(fd_.get(), place.data(), place.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EBADFD) gone_ = true;
    if (size <= 0) break;
    received_.push_back(place.first(static_cast<std::size_t>(size)));
  }
  return received_;
}

}  // namespace weft::io
