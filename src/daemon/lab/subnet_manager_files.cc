// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/subnet_manager_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "io/clock.h"

namespace weft::daemon {
namespace {

// Whether anybody reads from the FIFO that this is the writing end of.
bool has_readers(int writer) {
  pollfd state{writer, 0, 0};
  return ::poll(&state, 1, 0) == 0 || (state.revents & POLLERR) == 0;
}

}  // namespace

SubnetManagerFiles::SubnetManagerFiles(std::string directory, const Admission& admission,
                                       io::Reactor& reactor)
    : directory_(std::move(directory)), admission_(admission), reactor_(reactor) {
}

SubnetManagerFiles::~SubnetManagerFiles() {
  for (const auto& [key, file] : files_)
    unlink(file->path.c_str());
}

Expected<void> SubnetManagerFiles::start() {
  if (inotify_) return {};
  io::UniqueFd inotify(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify) return fail_errno(errno, "inotify_init1");
  auto watch = reactor_.watch(inotify.get(), EPOLLIN, [this](std::uint32_t) { read_news(); });
  if (!watch) return tl::unexpected(watch.error());
  inotify_ = std::move(inotify);
  news_ = std::move(*watch);
  return {};
}

Expected<std::string> SubnetManagerFiles::path_of(std::string_view name, const MadNode& node,
                                                  mgmt::PortNumber port) {
  const std::pair key(std::string(name), port);
  const auto found = files_.find(key);
  if (found != files_.end()) return found->second->path;
  if (auto started = start(); !started) return tl::unexpected(started.error());
  auto file = make(fmt::format("{}/issm{}", directory_, files_.size()), node, port);
  if (!file) return tl::unexpected(file.error());
  return files_.emplace(key, std::move(*file)).first->second->path;
}

Expected<std::unique_ptr<SubnetManagerFiles::File>> SubnetManagerFiles::make(
    const std::string& path, const MadNode& node, mgmt::PortNumber port) {
  unlink(path.c_str());  // of a daemon that was killed
  if (mkfifo(path.c_str(), 0600) != 0) return fail_errno(errno, path);
  auto file = std::make_unique<File>();
  file->path = path;
  file->node = node;
  file->port = port;
  // A writing end can be opened only while there is a reading one.
  const io::UniqueFd reader(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  file->writer.reset(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (!reader || !file->writer) return fail_errno(errno, path);
  file->watch = inotify_add_watch(inotify_.get(), path.c_str(), IN_OPEN);
  if (file->watch < 0) return fail_errno(errno, "inotify_add_watch " + path);
  if (auto given = admission_.give(path, false); !given) return tl::unexpected(given.error());
  return file;
}

void SubnetManagerFiles::read_news() {
  alignas(inotify_event) std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = ::read(inotify_.get(), buffer.data(), buffer.size());
    if (got <= 0) return;
    for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(got);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      at += sizeof event + event.len;
      const bool lost = (event.mask & IN_Q_OVERFLOW) != 0;
      for (const auto& [key, file] : files_) {
        if (lost || file->watch == event.wd) look_at(*file);
      }
    }
  }
}

void SubnetManagerFiles::look_at(File& file) {
  const bool open = has_readers(file.writer.get());
  if (open == static_cast<bool>(file.until_closed)) return;
  if (open) {
    // An error of the writing end, which epoll tells unasked: the last reader is gone.
    auto watch =
        reactor_.watch(file.writer.get(), 0, [this, &file](std::uint32_t) { look_at(file); });
    if (!watch) return;
    file.until_closed = std::move(*watch);
  } else {
    file.until_closed.reset();
  }
  file.node.management->set_subnet_manager(file.port, open, io::now());
  file.node.used();
}

}  // namespace weft::daemon
