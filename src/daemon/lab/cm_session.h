// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "daemon/lab/other_users.h"
#include "host/door.h"
#include "io/reactor.h"
#include "io/unique_fd.h"

namespace weft::daemon {

class CmServer;

// One connection of a program to the rdma_cm of its node. What it says is checked; what makes no
// sense ends the connection.
class CmSession {
 public:
  CmSession(CmServer& server, std::uint64_t id, io::UniqueFd socket, uid_t user,
            OtherUsers::Place place);
  ~CmSession();
  CmSession(const CmSession&) = delete;
  CmSession& operator=(const CmSession&) = delete;

  Expected<void> start(io::Reactor& reactor);

 private:
  // False when the connection is over.
  bool read_all();
  bool on_hello(Bytes message);
  bool on_request(Bytes message);
  bool answer(const host::door::Welcome& welcome, int descriptor);
  bool turn_away(const Error& why);
  bool keep(const Expected<void>& sent);  // counts who does not read
  bool nonsense();                        // counts it

  CmServer& server_;
  std::uint64_t id_;
  io::UniqueFd socket_;
  const uid_t user_;
  const OtherUsers::Place place_;
  std::optional<std::uint64_t> file_;
  std::vector<std::byte> buffer_;
  io::Reactor::Registration watch_;
};

}  // namespace weft::daemon
