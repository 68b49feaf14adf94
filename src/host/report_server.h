// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "io/unique_fd.h"

namespace weft::host {

// Answers `weft resource`: a Unix socket of this process, on which every connection of the same
// user (or of root) is sent one JSON document and closed. A thread of its own serves it, with all
// signals blocked, so that the program's handlers never run there.
class ReportServer {
 public:
  // Listens on `path` (mode 0600; a dead process's socket of that name is replaced). `report` is
  // called in the server's thread, once for each reader.
  static Expected<std::unique_ptr<ReportServer>> start(const std::string& path,
                                                       std::function<std::string()> report);
  // Stops the thread, waits for it and removes the socket. From within the server's own thread (a
  // report that drops the last reference to a context) it does not wait.
  ~ReportServer();
  ReportServer(const ReportServer&) = delete;
  ReportServer& operator=(const ReportServer&) = delete;

  // In a forked child: the thread does not exist here and the socket is the parent's. Closes the
  // descriptors and leaves the rest alone.
  void abandon_after_fork();

  // True in the server's thread.
  [[nodiscard]] bool is_current_thread() const;

 private:
  struct Shared;
  ReportServer(std::shared_ptr<Shared> shared, std::string path);
  static void* run(void* shared);

  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive this object (see above)
  std::string path_;
  pthread_t thread_{};
  bool running_ = false;
};

}  // namespace weft::host
