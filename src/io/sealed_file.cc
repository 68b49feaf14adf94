// SPDX-License-Identifier: Apache-2.0
#include "io/sealed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace weft::io {
namespace {

constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;

}  // namespace

Expected<UniqueFd> make_sealed_file(const char* name, Bytes bytes) {
  UniqueFd file(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return fail_errno(errno, "memfd_create");
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail_errno(written == 0 ? ENOSPC : errno, "a file in memory");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  if (fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) return fail_errno(errno, "F_ADD_SEALS");
  return file;
}

Expected<std::size_t> sealed_file_size(int fd) {
  const int seals = fcntl(fd, F_GET_SEALS);
  struct stat status {};
  if (seals < 0 || (seals & kSeals) != kSeals || fstat(fd, &status) != 0 || status.st_size < 0) {
    return fail(std::errc::bad_message, "not a sealed file in memory");
  }
  return static_cast<std::size_t>(status.st_size);
}

Expected<void> read_sealed_file(int fd, MutableBytes out) {
  off_t at = 0;
  while (!out.empty()) {
    const ssize_t got = pread(fd, out.data(), out.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read from a file in memory");
    if (got == 0) return fail(std::errc::bad_message, "a file in memory is too short");
    at += got;
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

}  // namespace weft::io
