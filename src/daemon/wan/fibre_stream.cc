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
constexpr std::string_view kTcpTo = "tcp-to:";
constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kShm = "shm:";
constexpr std::string_view kFile = "file:";
constexpr int kFibreStreamReadsInATurn = 4;  // then others have theirs
// Bytes of memory that are read at once: the other end has room again while this one looks at them,
// and a turn leaves time for what is to be sent.
constexpr std::size_t kFibreStreamPiece = carrier::kRingBytes / 8;

}  // namespace

Expected<std::unique_ptr<FibreStream>> FibreStream::open(std::string_view address,
                                                         wan::StreamChannel& channel,
                                                         io::Reactor& reactor) {
  std::unique_ptr<FibreStream> stream(new FibreStream(channel, reactor));
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
  through_memory_ = address.starts_with(kShm);
  std::string socket(address);
  if (through_memory_) {
    socket.replace(0, kShm.size(), kUnix);
  } else if (address.starts_with(kTcp)) {
    socket.erase(0, kTcp.size());
  } else if (address.starts_with(kTcpTo)) {
    only_connects_ = true;
    socket.erase(0, kTcpTo.size());
  } else if (!address.starts_with(kUnix)) {
    return fail(std::errc::invalid_argument,
                "must be unix:PATH, shm:PATH, tcp:HOST:PORT, tcp-to:HOST:PORT or file:IN,OUT");
  }
  auto parsed = StreamAddress::parse(socket);
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
  if (memory_ != nullptr) {
    worked |= run_memory(now);
  } else if (now - looked_at_ > kLookAgain || (growing_ != nullptr && now >= look_at_)) {
    // Read before the channel goes by the clock: this process may not have run for long, and what
    // came meanwhile is no silence.
    look_at_ = now + kLookAgain;
    if (!read_all(now)) close(now);
  }
  if (!channel_.is_open()) return worked;
  if (!channel_.run(now) || !write_all(now)) {
    close(now);
  } else if (memory_ != nullptr) {
    memory_->show();
  }
  return worked;
}

// What came, and room that there was none before. True: there was something.
bool FibreStream::run_memory(Time now) {
  const bool has_room = waits_for_room_ && memory_->has_room();
  if (has_room) waits_for_room_ = false;
  const bool came = memory_->has_more();
  if (!read_all(now)) close(now);
  return has_room || came || memory_ == nullptr;
}

std::optional<Time> FibreStream::deadline() const {
  if (!channel_.is_open()) return try_at_;
  if (!channel_.pending().empty() && !waits_for_room_) return Time{};
  const auto due = channel_.deadline();
  return growing_ != nullptr && (!due || look_at_ < *due) ? look_at_ : due;
}

void FibreStream::on_ready(std::uint32_t events) {
  const Time now = io::now();
  if (through_memory_) return on_memory(now);
  if (growing_ != nullptr) growing_->hear();
  if ((events & EPOLLOUT) != 0) watch_for_room(false);
  const bool comes = (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0;
  if ((comes && !read_all(now)) || !write_all(now)) close(now);
}

// What it has woken for is for run() to look at. When the other end is gone, what it has written is
// still there.
void FibreStream::on_memory(Time now) {
  if (memory_ == nullptr) {
    if (auto taken = take_over(now); !taken) {
      close(now);
      why_ = taken.error().message;
    }
  } else if (!memory_->hear_wakes()) {
    static_cast<void>(read_all(now));
    close(now);
  }
}

// Nothing: not now. Zero: the other end has closed. A connection that nobody takes says so here.
std::optional<ssize_t> FibreStream::result_of(ssize_t done, const std::string& path) {
  if (done >= 0) return done;
  if (errno == EAGAIN || errno == EINTR) return std::nullopt;
  why_ = fail_errno(errno, is_files() ? path : address_.to_string()).value().message;
  return -1;
}

std::optional<ssize_t> FibreStream::read_growing(MutableBytes room) {
  const auto got = growing_->read(room);
  if (!got) {
    why_ = fmt::format("{}: {}", in_path_, got.error().message);
    return -1;
  }
  return *got ? std::optional(static_cast<ssize_t>(**got)) : std::nullopt;
}

std::optional<ssize_t> FibreStream::read(MutableBytes room) {
  if (growing_ != nullptr) return read_growing(room);
  if (memory_ == nullptr) {
    return result_of(::read(in_.get(), room.data(), room.size()), in_path_);
  }
  const std::size_t got = memory_->read(room.first(std::min(room.size(), kFibreStreamPiece)));
  memory_->show();
  if (memory_->lie()) channel_.out_of_step();
  if (memory_->lie()) return -1;
  return got != 0 ? std::optional(static_cast<ssize_t>(got)) : std::nullopt;
}

std::optional<ssize_t> FibreStream::write(Bytes bytes) {
  if (is_files()) return result_of(::write(out(), bytes.data(), bytes.size()), out_path_);
  if (memory_ == nullptr) {
    return result_of(::send(out(), bytes.data(), bytes.size(), MSG_NOSIGNAL), {});
  }
  const std::size_t gone = memory_->write(bytes);
  return gone != 0 || memory_->has_room() ? std::optional(static_cast<ssize_t>(gone))
                                          : std::nullopt;
}

bool FibreStream::read_all(Time now) {
  looked_at_ = now;
  for (int i = 0; i < kFibreStreamReadsInATurn && channel_.is_open(); ++i) {
    const MutableBytes room = channel_.room();
    const auto got = read(room);
    if (!got) return true;
    if (*got <= 0 || !channel_.arrived(static_cast<std::size_t>(*got), now)) return false;
    if (memory_ == nullptr && static_cast<std::size_t>(*got) < room.size()) return true;
  }
  look_at_ = now;  // of what has grown nobody tells again
  return true;
}

bool FibreStream::write_all(Time now) {
  while (channel_.is_open() && !waits_for_room_ && !channel_.pending().empty()) {
    const Bytes bytes = channel_.pending();
    const auto gone = write(bytes);
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
  if (memory_ != nullptr) return;
  const std::uint32_t room = wanted ? std::uint32_t{EPOLLOUT} : 0;
  static_cast<void>(out_ ? reactor_.change_events(out_watch_, room)
                         : reactor_.change_events(in_watch_, EPOLLIN | room));
}

void FibreStream::close(Time now) {
  in_watch_.reset();
  out_watch_.reset();
  memory_.reset();
  growing_.reset();
  in_.reset();
  out_.reset();
  waits_for_room_ = false;
  channel_.closed(now);
  try_at_ = now + kTryAgain;
}

}  // namespace weft::daemon
