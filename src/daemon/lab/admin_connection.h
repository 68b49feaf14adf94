// SPDX-License-Identifier: Apache-2.0
// One connection by which people ask something of a process of this user and tell it what to do. A
// request is a message, a JSON object of at most kLongestRequest bytes; the answer is {"ok": true}
// or {"error": "…"}, and what there is to report comes beside it as a file of JSON.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "io/reactor.h"
#include "io/unique_fd.h"

namespace weft::daemon {

// Of a request; empty where it has no such text.
[[nodiscard]] std::string text_of(const nlohmann::json& request, const char* name);

class AdminConnection {
 public:
  static constexpr std::size_t kLongestRequest = 4096;

  class Owner {
   public:
    virtual ~Owner() = default;
    // What to report; null: nothing.
    virtual Expected<nlohmann::json> carry_out(const nlohmann::json& request) = 0;
    // What the last refusal says beside its message: an object.
    [[nodiscard]] virtual nlohmann::json beside_error() const;
    // What came is no request: the connection ends.
    virtual void on_nonsense() = 0;
    // It is over, and may be destroyed from inside of this.
    virtual void on_end() = 0;
  };

  // The socket does not block. `owner` outlives it.
  AdminConnection(io::UniqueFd socket, Owner& owner);
  AdminConnection(const AdminConnection&) = delete;
  AdminConnection& operator=(const AdminConnection&) = delete;

  Expected<void> start(io::Reactor& reactor);
  [[nodiscard]] int socket() const { return socket_.get(); }

 private:
  // False when the connection is over.
  bool read_all();
  bool on_request(Bytes message);
  bool answer(const Expected<nlohmann::json>& result);

  io::UniqueFd socket_;
  Owner& owner_;
  io::Reactor::Registration watch_;
};

}  // namespace weft::daemon
