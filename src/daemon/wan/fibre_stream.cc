// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/fibre_stream.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/clock.h"

namespace weft::daemon {
namespace {

constexpr std::string_view kTcp = "tcp:";
constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kFile = "file:";
constexpr int kReadsInATurn = 4;  // then others have theirs

// Nothing: not now. Zero: the other end has closed.
std::optional<ssize_t> result_of(ssize_t done) {
  if (done >= 0) return done;
  return errno == EAGAIN || errno == EINTR ? std::nullopt : std::optional<ssize_t>(-1);
}

}  // namespace

Expected<std::unique_ptr<FibreStream>> FibreStream::open(std::string_view address,
                                                         const wan::FibreChannel::Options& options,
                                                         io::Reactor& reactor) {
  std::unique_ptr<FibreStream> stream(new FibreStream(options, reactor));
  if (auto parsed = stream->parse(address); !parsed) {
    return fail(parsed.error().code, fmt::format("fibre {}: {}", address, parsed.error().message));
  }
  return stream;
}

Expected<void> FibreStream::parse(std::string_view address) {
  if (address.starts_with(kFile)) {
    const std::string_view both = address.substr(kFile.size());
    const std::size_t comma = both.find(',');
    if (comma == std::string_view::npos || comma == 0 || comma + 1 == both.size()) {
      return fail(std::errc::invalid_argument,
                  "two files are needed, as in file:/run/from-east,/run/to-east");
    }
    in_path_ = both.substr(0, comma);
    out_path_ = both.substr(comma + 1);
    return {};
  }
  if (!address.starts_with(kTcp) && !address.starts_with(kUnix)) {
    return fail(std::errc::invalid_argument, "must be unix:PATH, tcp:HOST:PORT or file:IN,OUT");
  }
  if (address.starts_with(kTcp)) address.remove_prefix(kTcp.size());
  auto parsed = StreamAddress::parse(address);
  if (!parsed) return tl::unexpected(parsed.error());
  address_ = std::move(*parsed);
  return {};
}

bool FibreStream::run(Time now) {
  bool worked = false;
  if (!channel_.is_open() && try_at_ && now >= *try_at_) {
    worked = true;
    why_.clear();
    try_at_ = now + kTryAgain;
    if (auto made = make(now); !made) why_ = made.error().message;
  }
  if (!channel_.is_open()) return worked;
  if (!channel_.run(now) || !write_all(now)) close(now);
  return worked;
}

std::optional<Time> FibreStream::deadline() const {
  if (!channel_.is_open()) return try_at_;
  if (!channel_.pending().empty() && !waits_for_room_) return Time{};
  return channel_.deadline();
}

void FibreStream::on_ready(std::uint32_t events) {
  const Time now = io::now();
  if ((events & EPOLLOUT) != 0) watch_for_room(false);
  const bool comes = (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0;
  if ((comes && !read_all(now)) || !write_all(now)) close(now);
}

bool FibreStream::read_all(Time now) {
  for (int i = 0; i < kReadsInATurn && channel_.is_open(); ++i) {
    const MutableBytes room = channel_.room();
    const auto got = result_of(::read(in_.get(), room.data(), room.size()));
    if (!got) return true;
    if (*got <= 0 || !channel_.arrived(static_cast<std::size_t>(*got), now)) return false;
    if (static_cast<std::size_t>(*got) < room.size()) return true;
  }
  return true;
}

bool FibreStream::write_all(Time now) {
  while (channel_.is_open() && !waits_for_room_ && !channel_.pending().empty()) {
    const Bytes bytes = channel_.pending();
    const auto gone =
        result_of(is_files() ? ::write(out(), bytes.data(), bytes.size())
                             : ::send(out(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
    if (!gone) {
      watch_for_room(true);
    } else if (*gone < 0) {
      return false;
    } else {
      channel_.sent(static_cast<std::size_t>(*gone), now);
    }
  }
  return true;
}

void FibreStream::watch_for_room(bool wanted) {
  if (wanted == waits_for_room_) return;
  waits_for_room_ = wanted;
  const std::uint32_t room = wanted ? std::uint32_t{EPOLLOUT} : 0;
  static_cast<void>(out_ ? reactor_.change_events(out_watch_, room)
                         : reactor_.change_events(in_watch_, EPOLLIN | room));
}

void FibreStream::close(Time now) {
  in_watch_.reset();
  out_watch_.reset();
  in_.reset();
  out_.reset();
  waits_for_room_ = false;
  channel_.closed(now);
  try_at_ = now + kTryAgain;
}

}  // namespace weft::daemon
