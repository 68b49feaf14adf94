// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <unistd.h>

#include <future>
#include <string>
#include <thread>

namespace weft::io {

// A network namespace that lasts as long as this, and a thread in it.
class Elsewhere {
 public:
  Elsewhere() {
    thread_ = std::thread([this] {
      const bool apart = unshare(CLONE_NEWNET) == 0;
      started_.set_value(apart ? "/proc/" + std::to_string(getpid()) + "/task/" +
                                     std::to_string(gettid()) + "/ns/net"
                               : "");
      end_.get_future().wait();
    });
    path_ = started_.get_future().get();
  }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;
  ~Elsewhere() {
    end_.set_value();
    thread_.join();
  }
  // Its file, for this process and for others. Empty: there is none to be had.
  [[nodiscard]] const std::string& path() const { return path_; }
  // Before a command of a shell that is to run there.
  [[nodiscard]] std::string enter() const { return "nsenter --net=" + path_ + " -- "; }

 private:
  std::promise<std::string> started_;
  std::promise<void> end_;
  std::string path_;
  std::thread thread_;
};

}  // namespace weft::io
