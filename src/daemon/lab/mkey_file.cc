// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/mkey_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <string_view>

#include "io/text_file.h"
#include "io/unique_fd.h"

namespace weft::daemon {
namespace {

// Of the largest subnet a few times over.
constexpr std::size_t kMkeyFileMostBytes = std::size_t{16} << 20;

Expected<void> write_all(int file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno(errno, path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fsync(file) != 0) return fail_errno(errno, path);
  return {};
}

}  // namespace

Expected<MKeyFile> MKeyFile::open(const std::string& path) {
  MKeyFile file(path);
  const auto text = io::read_text_file(path, kMkeyFileMostBytes);
  if (!text && text.error().code == std::errc::no_such_file_or_directory) return file;
  if (!text) return tl::unexpected(text.error());
  auto keys = sm::MKeys::parse(*text, path);
  if (!keys) return tl::unexpected(keys.error());
  file.keys_ = *keys;
  file.written_ = std::move(*keys);
  return file;
}

Expected<std::uint64_t> MKeyFile::own_key(Guid port, Entropy& entropy) {
  const std::uint64_t known = keys_.of(port).value_or(0);
  if (known != 0) return known;
  std::uint64_t drawn = 0;
  while (drawn == 0)
    drawn = entropy.draw();
  keys_.put(port, drawn);
  if (auto written = write(); !written) return tl::unexpected(written.error());
  return drawn;
}

Expected<void> MKeyFile::keep(const sm::Subnet& subnet) {
  for (const sm::PortRef& end : subnet.end_ports()) {
    const sm::SubnetPort& port = subnet.port(end);
    keys_.put(port.guid, port.info->mkey);
  }
  return keys_ == written_ ? Expected<void>() : write();
}

// Who begins anew finds the keys of before or those of now, whatever happens meanwhile.
Expected<void> MKeyFile::write() {
  const std::string fresh = path_ + ".new";
  const io::UniqueFd file(
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || fchmod(file.get(), 0600) != 0) return fail_errno(errno, fresh);
  if (auto done = write_all(file.get(), keys_.text(), fresh); !done) return done;
  if (std::rename(fresh.c_str(), path_.c_str()) != 0) return fail_errno(errno, path_);
  written_ = keys_;
  return {};
}

}  // namespace weft::daemon
