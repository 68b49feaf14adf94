// SPDX-License-Identifier: Apache-2.0
// The stream of bytes that a fibre is, between two processes that name it alike:
//
//   unix:PATH      a Unix socket: the first of the two that comes listens there, the other connects
//   shm:PATH       memory of this machine, handed over at such a socket (fibre_memory.h)
//   tcp:HOST:PORT  the one whose machine has that address listens, or the first that comes
//   tcp-to:HOST:PORT  somebody else listens there, as whoever stands between the two
//   file:IN,OUT    two FIFOs or devices, of which the other end has the same in the other order; or
//                  regular files that grow, as on a file system that two machines share
//
// When it breaks it is made anew. There is one other end at a time; who comes later is turned away.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"
#include "daemon/wan/fibre_memory.h"
#include "daemon/wan/stream_address.h"
#include "io/growing_file.h"
#include "io/reactor.h"
#include "io/unique_fd.h"
#include "wan/stream_channel.h"

namespace weft::daemon {

class FibreStream {
 public:
  // Looks for nobody yet. Errors name the address. Everything happens in the reactor's thread; the
  // reactor, and the channel that the stream is for, outlive it.
  static Expected<std::unique_ptr<FibreStream>> open(std::string_view address,
                                                     wan::StreamChannel& channel,
                                                     io::Reactor& reactor);
  FibreStream(const FibreStream&) = delete;
  FibreStream& operator=(const FibreStream&) = delete;

  // Makes the stream where there is none, takes in what came through memory, and sends what waits.
  // False: there was nothing to do.
  bool run(Time now);
  // When to run(); what is put into the channel is to be sent at once besides.
  [[nodiscard]] std::optional<Time> deadline() const;
  // Takes in what has come without the reactor's telling, for who has no more turns of it.
  void look(Time now) {
    if (channel_.is_open() && !read_all(now)) close(now);
  }
  // From now on, and until awake(), the reactor tells when something has come through memory, as it
  // always does of other streams. False: something has, run() again.
  [[nodiscard]] bool sleep() { return memory_ == nullptr || memory_->sleep(); }
  void awake() {
    if (memory_ != nullptr) memory_->awake();
  }
  // Why there is no stream, for a person; empty: there is one, or nobody has come.
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  static constexpr Duration kTryAgain = 250ms;
  // Beyond that the reactor may have been kept from telling what has come; that a file has grown,
  // nobody need tell.
  static constexpr Duration kLookAgain = 20ms;
  static constexpr Duration kMeeting = 3s;  // for who listens, to hand its memory over

  FibreStream(wan::StreamChannel& channel, io::Reactor& reactor)
      : reactor_(reactor), channel_(channel) {}
  Expected<void> parse(std::string_view address);
  [[nodiscard]] bool is_files() const { return !in_path_.empty(); }

  // fibre_stream_open.cc
  Expected<void> make(Time now);
  Expected<void> open_files(Time now);
  [[nodiscard]] Expected<bool> listens();
  Expected<void> listen_there();
  void accept_all(Time now);
  Expected<void> meet(Time now);
  Expected<void> take_over(Time now);
  Expected<void> hand_over(io::UniqueFd socket, Time now);
  [[nodiscard]] Expected<io::Reactor::Registration> watch(int in);
  Expected<void> use(io::UniqueFd in, io::UniqueFd out, Time now);

  [[nodiscard]] int out() const { return out_ ? out_.get() : in_.get(); }
  void on_ready(std::uint32_t events);
  void on_memory(Time now);
  std::optional<ssize_t> result_of(ssize_t done, const std::string& path);
  [[nodiscard]] std::optional<ssize_t> read_growing(MutableBytes room);
  [[nodiscard]] std::optional<ssize_t> read(MutableBytes room);
  [[nodiscard]] std::optional<ssize_t> write(Bytes bytes);
  [[nodiscard]] bool read_all(Time now);
  [[nodiscard]] bool write_all(Time now);
  [[nodiscard]] bool run_memory(Time now);
  void watch_for_room(bool wanted);
  void close(Time now);

  io::Reactor& reactor_;
  wan::StreamChannel& channel_;
  StreamAddress address_;        // of sockets
  bool through_memory_ = false;  // the socket is where it is handed over
  bool only_connects_ = false;
  std::string in_path_;  // of files
  std::string out_path_;
  std::string why_;
  io::UniqueFd lock_;  // of who listens at a Unix socket
  io::UniqueFd listener_;
  io::SpareDescriptor spare_;
  io::UniqueFd in_;  // what comes; of a socket, what goes too
  io::UniqueFd out_;
  std::unique_ptr<FibreMemory> memory_;
  std::unique_ptr<io::GrowingFile> growing_;  // what comes, where that is a regular file
  Time look_at_{};                            // there, unasked
  std::optional<Time> try_at_ = Time{};
  bool waits_for_room_ = false;
  Time looked_at_{};  // when it was last read, by turns
  // Before what they watch.
  io::Reactor::Registration listener_watch_;
  io::Reactor::Registration in_watch_;
  io::Reactor::Registration out_watch_;
};

}  // namespace weft::daemon
