// SPDX-License-Identifier: Apache-2.0
#include "host/report_server.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <utility>

#include "io/clock.h"
#include "io/unix_socket.h"

namespace weft::host {
namespace {

// A reader that does not read is given up after this long, so that others get their turn.
constexpr Duration kPatience = 1s;

// Between two attempts to accept while the program is out of descriptors.
constexpr int kPauseMs = 100;

enum class Wake : std::uint8_t { kReady, kStop, kTimeout, kBroken };

// Waits until `fd` has one of `events`, `stop` is readable, or `timeout_ms` (-1: never) passed.
Wake wait_for(int fd, short events, int stop, int timeout_ms) {
  std::array<pollfd, 2> watched{pollfd{fd, events, 0}, pollfd{stop, POLLIN, 0}};
  int ready = 0;
  do {
    ready = poll(watched.data(), watched.size(), timeout_ms);
  } while (ready < 0 && errno == EINTR);
  if (ready < 0 || watched[1].revents != 0) return ready < 0 ? Wake::kBroken : Wake::kStop;
  if (ready == 0) return Wake::kTimeout;
  return watched[0].revents & events ? Wake::kReady : Wake::kBroken;
}

// The report holds addresses and keys of the program: for its own user and root only, whatever the
// socket's directory allows.
bool peer_may_read(int fd) {
  const auto peer = io::peer_credentials(fd);
  return peer && (peer->uid == 0 || peer->uid == geteuid());
}

// Bound under a name of its own, then renamed, so that a reader never finds a socket that does not
// listen yet and takes it for a dead one.
Expected<io::UniqueFd> listen_on(const std::string& path) {
  const std::string fresh = path + ".new";
  auto listener = io::listen_unix(fresh, io::UnixKind::kStream);
  if (!listener) return listener;
  if (chmod(fresh.c_str(), 0600) != 0 || rename(fresh.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(fresh.c_str());
    return fail_errno(error, path);
  }
  return listener;
}

void send_all(int fd, int stop, std::string_view text) {
  Time deadline = io::now() + kPatience;
  while (!text.empty()) {
    const ssize_t sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
      deadline = io::now() + kPatience;
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - io::now());
    if (left.count() <= 0) return;
    if (wait_for(fd, POLLOUT, stop, static_cast<int>(left.count())) != Wake::kReady) return;
  }
}

}  // namespace

struct ReportServer::Shared {
  io::UniqueFd listener;
  io::UniqueFd stop;  // eventfd: readable once the server shall end
  std::function<std::string()> report;
};

ReportServer::ReportServer(std::shared_ptr<Shared> shared, std::string path)
    : shared_(std::move(shared)), path_(std::move(path)) {
}

Expected<std::unique_ptr<ReportServer>> ReportServer::start(const std::string& path,
                                                            std::function<std::string()> report) {
  auto listener = listen_on(path);
  if (!listener) return tl::unexpected(listener.error());
  auto shared = std::make_shared<Shared>();
  shared->listener = std::move(*listener);
  shared->stop.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  shared->report = std::move(report);
  std::unique_ptr<ReportServer> server(new ReportServer(shared, path));
  if (!shared->stop) return fail_errno(errno, "eventfd");

  // The thread inherits the mask: no handler of the program ever runs in it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto argument = std::make_unique<std::shared_ptr<Shared>>(shared);
  const int error = pthread_create(&server->thread_, nullptr, run, argument.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return fail_errno(error, "starting the report thread");
  (void)argument.release();  // the thread's now
  server->running_ = true;
  pthread_setname_np(server->thread_, "weft-report");
  return server;
}

ReportServer::~ReportServer() {
  if (!shared_) return;
  unlink(path_.c_str());
  if (!running_) return;
  const std::uint64_t one = 1;
  if (write(shared_->stop.get(), &one, sizeof one) != sizeof one) return;
  if (is_current_thread()) {
    pthread_detach(thread_);
  } else {
    pthread_join(thread_, nullptr);
  }
}

void ReportServer::abandon_after_fork() {
  shared_->listener.reset();
  shared_->stop.reset();
  shared_.reset();
}

bool ReportServer::is_current_thread() const {
  return running_ && pthread_equal(pthread_self(), thread_) != 0;
}

void* ReportServer::run(void* argument) {
  const std::unique_ptr<std::shared_ptr<Shared>> owned(
      static_cast<std::shared_ptr<Shared>*>(argument));
  const std::shared_ptr<Shared> shared = *owned;
  const int stop = shared->stop.get();
  // Anything unexpected ends the thread: a program that closed descriptors it does not own (daemons
  // do) may have reused ours for something else.
  while (wait_for(shared->listener.get(), POLLIN, stop, -1) == Wake::kReady) {
    const io::UniqueFd reader(
        accept4(shared->listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!reader) {
      if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR) continue;
      if (errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS) break;
      if (wait_for(stop, POLLIN, stop, kPauseMs) != Wake::kTimeout) break;
      continue;
    }
    if (peer_may_read(reader.get())) send_all(reader.get(), stop, shared->report());
  }
  return nullptr;
}

}  // namespace weft::host
