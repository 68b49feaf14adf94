// SPDX-License-Identifier: Apache-2.0
// Signals for a process that runs one thing until somebody ends it.
#pragma once

#include <signal.h>

#include <atomic>
#include <csignal>
#include <initializer_list>

namespace weft::cli {

// A program that has gone, and a file that may not grow, are told by the calls that meet them.
inline void ignore_broken_files() {
  for (const int signal : {SIGPIPE, SIGXFSZ})
    std::signal(signal, SIG_IGN);
}

// For as long as it lives, kTold is called with what is served and the signal's number, in the
// signal's handler: it may do no more than a handler may (signal-safety(7)). One for a type at a
// time, since a handler is told nothing but its signal.
template <typename Served, void (*kTold)(Served&, int)>
class Signals {
 public:
  Signals(Served& served, std::initializer_list<int> signals) {
    serving_ = &served;
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      if (Served* const served = serving_.load()) kTold(*served, signal);
    };
    for (const int signal : signals)
      sigaction(signal, &action, nullptr);
  }
  ~Signals() { serving_ = nullptr; }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  static inline std::atomic<Served*> serving_{nullptr};
};

}  // namespace weft::cli
