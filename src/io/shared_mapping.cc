// SPDX-License-Identifier: Apache-2.0
#include "io/shared_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace weft::io {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

Expected<UniqueFd> make_shared_file(const char* name, std::size_t size) {
  UniqueFd file(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return fail_errno(errno, "memfd_create");
  if (ftruncate(file.get(), static_cast<off_t>(size)) != 0) return fail_errno(errno, "ftruncate");
  if (fcntl(file.get(), F_ADD_SEALS, kSizeSeals) != 0) return fail_errno(errno, "F_ADD_SEALS");
  return file;
}

Expected<void> end_writing(int file) {
  if (fcntl(file, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0) return {};
  return fail_errno(errno, "F_SEAL_FUTURE_WRITE (Linux 5.1 or later has it)");
}

Expected<void> end_sealing(int file) {
  if (fcntl(file, F_ADD_SEALS, F_SEAL_SEAL) == 0) return {};
  return fail_errno(errno, "F_SEAL_SEAL");
}

Expected<UniqueFd> reopen_to_read(int file) {
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  UniqueFd out(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!out) return fail_errno(errno, path);
  return out;
}

SharedMapping::~SharedMapping() {
  if (begin_ != nullptr) munmap(begin_, size_);
}

Expected<SharedMapping> SharedMapping::map(int file, std::size_t size, Access access) {
  struct stat status {};
  const int seals = fcntl(file, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(file, &status) != 0 ||
      status.st_size < 0 || static_cast<std::size_t>(status.st_size) < size) {
    return fail(std::errc::bad_message, "not a file in memory of a fixed size, or too short");
  }
  const int protection = access == Access::kWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const begin = mmap(nullptr, size, protection, MAP_SHARED, file, 0);
  if (begin == MAP_FAILED) return fail_errno(errno, "mmap of shared memory");
  return SharedMapping(begin, size);
}

}  // namespace weft::io
