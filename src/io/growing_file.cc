// SPDX-License-Identifier: Apache-2.0
#include "io/growing_file.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace weft::io {
namespace {

// Bytes that go back at once: more would stay for longer, less would cost a call each time.
constexpr off_t kHole = off_t{1} << 20;

}  // namespace

Expected<std::unique_ptr<GrowingFile>> GrowingFile::from_its_end(int file,
                                                                 const std::string& path) {
  UniqueFd notices(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!notices) return fail_errno(errno, "inotify_init1");
  if (inotify_add_watch(notices.get(), path.c_str(), IN_MODIFY) < 0) {
    return fail_errno(errno, "inotify_add_watch " + path);
  }
  struct stat what {};
  if (fstat(file, &what) != 0) return fail_errno(errno, path);
  std::unique_ptr<GrowingFile> growing(new GrowingFile(file, std::move(notices), what.st_size));
  growing->give_back();
  return growing;
}

void GrowingFile::hear() {
  std::array<std::byte, 4096> events;
  while (::read(notices_.get(), events.data(), events.size()) > 0) {
  }
}

Expected<std::optional<std::size_t>> GrowingFile::read(MutableBytes room) {
  const ssize_t got = ::pread(file_, room.data(), room.size(), at_);
  if (got < 0) return fail_errno(errno, "pread");
  if (got == 0) {
    struct stat what {};
    if (fstat(file_, &what) != 0) return fail_errno(errno, "fstat");
    if (what.st_size < at_) {
      return fail(std::errc::io_error, "somebody has made the file shorter");
    }
    return std::nullopt;
  }
  at_ += got;
  if (at_ - given_back_ >= kHole) give_back();
  return static_cast<std::size_t>(got);
}

// Where there are no holes the file keeps all.
void GrowingFile::give_back() {
  const off_t end = at_ / kHole * kHole;
  if (end == given_back_) return;
  static_cast<void>(
      fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, given_back_, end - given_back_));
  given_back_ = end;
}

}  // namespace weft::io
