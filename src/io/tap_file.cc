// SPDX-License-Identifier: Apache-2.0
#include "io/tap_file.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace weft::io {

Expected<TapFile> open_tap_file(const std::string& name, short flags) {
  if (name.empty() || name.size() >= IFNAMSIZ) {
    return fail(std::errc::invalid_argument,
                name + ": the name of an interface has 1 to 15 characters");
  }
  UniqueFd fd(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "/dev/net/tun");
  ifreq request{};
  std::memcpy(request.ifr_name, name.data(), name.size());
  request.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | flags);
  if (ioctl(fd.get(), TUNSETIFF, &request) != 0) return fail_errno(errno, name);
  return TapFile{std::move(fd), request.ifr_name};
}

}  // namespace weft::io
