// SPDX-License-Identifier: Apache-2.0
// How a fibre's stream is made.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "daemon/wan/fibre_stream.h"
#include "io/clock.h"
#include "io/unix_socket.h"

namespace weft::daemon {
namespace {

// Both ways, so that neither waits for the other end's to be opened. One that is not there is not
// made: whether it is to be a FIFO is for the user to say.
Expected<io::UniqueFd> open_file(const std::string& path) {
  io::UniqueFd file(::open(path.c_str(), O_RDWR | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!file) return fail_errno(errno, path);
  return file;
}

Expected<bool> is_regular(const io::UniqueFd& file, const std::string& path) {
  struct stat what {};
  if (fstat(file.get(), &what) != 0) return fail_errno(errno, path);
  if (S_ISFIFO(what.st_mode) || S_ISCHR(what.st_mode)) return false;
  if (S_ISREG(what.st_mode)) return true;
  return fail(std::errc::invalid_argument,
              fmt::format("{} is neither a FIFO, a serial device nor a regular file", path));
}

// What an earlier other end has left there is of no use. A FIFO holds no more than that (pipe(7));
// there are devices that never end.
constexpr std::size_t kMostLeft = std::size_t{1} << 20;

void drain(int file) {
  std::array<std::byte, 4096> bytes;
  for (std::size_t left = 0; left < kMostLeft;) {
    const ssize_t got = ::read(file, bytes.data(), bytes.size());
    if (got <= 0) return;
    left += static_cast<std::size_t>(got);
  }
}

}  // namespace

Expected<void> FibreStream::make(Time now) {
  if (is_files()) return open_files(now);
  const auto here = listens();
  if (!here) return tl::unexpected(here.error());
  if (*here) {
    try_at_.reset();  // the other one comes
    return {};
  }
  if (through_memory_) return meet(now);
  auto socket = connect_stream(address_);
  if (!socket) return tl::unexpected(socket.error());
  return use(std::move(*socket), {}, now);
}

Expected<void> FibreStream::open_files(Time now) {
  auto in = open_file(in_path_);
  if (!in) return tl::unexpected(in.error());
  auto out = open_file(out_path_);
  if (!out) return tl::unexpected(out.error());
  const auto grows = is_regular(*in, in_path_);
  if (!grows) return tl::unexpected(grows.error());
  if (*grows) {
    auto growing = io::GrowingFile::from_its_end(in->get(), in_path_);
    if (!growing) return tl::unexpected(growing.error());
    growing_ = std::move(*growing);
  } else {
    drain(in->get());
  }
  return use(std::move(*in), std::move(*out), now);
}

// Whether this is the one that listens, and if so, it does.
Expected<bool> FibreStream::listens() {
  if (only_connects_) return false;
  if (listener_) return true;
  if (!address_.path.empty()) {
    const std::string path = address_.path + ".lock";
    if (!lock_) lock_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock_) return fail_errno(errno, path);
    if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) return false;
  }
  const auto listening = listen_there();
  if (listening) return true;
  const auto code = listening.error().code;
  if (address_.path.empty() &&
      (code == std::errc::address_in_use || code == std::errc::address_not_available)) {
    return false;
  }
  return tl::unexpected(listening.error());
}

Expected<void> FibreStream::listen_there() {
  auto listener = through_memory_ ? io::listen_unix(address_.path, io::UnixKind::kSeqPacket)
                                  : listen_stream(address_);
  if (!listener) return tl::unexpected(listener.error());
  auto watch =
      reactor_.watch(listener->get(), EPOLLIN, [this](std::uint32_t) { accept_all(io::now()); });
  if (!watch) return tl::unexpected(watch.error());
  listener_ = std::move(*listener);
  listener_watch_ = std::move(*watch);
  return {};
}

void FibreStream::accept_all(Time now) {
  for (;;) {
    auto accepted = accept_stream(listener_.get());
    if (!accepted) {
      if (!channel_.is_open()) why_ = accepted.error().message;
      return turn_away(listener_.get(), spare_);
    }
    if (!*accepted) return;
    if (channel_.is_open()) continue;  // which closes it
    const auto used = through_memory_ ? hand_over(std::move(**accepted), now)
                                      : use(std::move(**accepted), {}, now);
    if (!used) why_ = used.error().message;
  }
}

// Who listens hands the memory over. One that is there and does not is tried again later.
Expected<void> FibreStream::meet(Time now) {
  auto socket = io::connect_unix(address_.path, io::UnixKind::kSeqPacket, kTryAgain);
  if (!socket) return tl::unexpected(socket.error());
  if (::fcntl(socket->get(), F_SETFL, O_NONBLOCK) != 0) return fail_errno(errno, address_.path);
  in_watch_.reset();
  auto in_watch = watch(socket->get());
  if (!in_watch) return tl::unexpected(in_watch.error());
  in_ = std::move(*socket);
  in_watch_ = std::move(*in_watch);
  try_at_ = now + kMeeting;
  return {};
}

Expected<void> FibreStream::take_over(Time now) {
  auto memory = FibreMemory::take_over(in_.get());
  if (!memory) return tl::unexpected(memory.error());
  if (*memory == nullptr) return {};
  memory_ = std::move(*memory);
  why_.clear();
  channel_.opened(now);
  return {};
}

Expected<void> FibreStream::hand_over(io::UniqueFd socket, Time now) {
  auto memory = FibreMemory::hand_over(socket.get());
  if (!memory) return tl::unexpected(memory.error());
  memory_ = std::move(*memory);
  return use(std::move(socket), {}, now);
}

Expected<io::Reactor::Registration> FibreStream::watch(int in) {
  return reactor_.watch(in, EPOLLIN, [this](std::uint32_t events) { on_ready(events); });
}

Expected<void> FibreStream::use(io::UniqueFd in, io::UniqueFd out, Time now) {
  auto in_watch = watch(growing_ != nullptr ? growing_->notices() : in.get());
  if (!in_watch) return tl::unexpected(in_watch.error());
  io::Reactor::Registration out_watch;
  const auto has_room = out ? is_regular(out, out_path_) : true;  // as these always have
  if (!has_room) return tl::unexpected(has_room.error());
  if (!*has_room) {
    auto watched = reactor_.watch(out.get(), 0, [this](std::uint32_t events) { on_ready(events); });
    if (!watched) return tl::unexpected(watched.error());
    out_watch = std::move(*watched);
  }
  in_ = std::move(in);
  out_ = std::move(out);
  in_watch_ = std::move(*in_watch);
  out_watch_ = std::move(out_watch);
  look_at_ = now;
  why_.clear();
  channel_.opened(now);
  return {};
}

}  // namespace weft::daemon
