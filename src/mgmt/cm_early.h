// SPDX-License-Identifier: Apache-2.0
// Requests that are here before somebody listens for them. Internal to mgmt/.
//
// A server may tell its client by other means that it is ready, and listen only then, as perftest
// does: where the client's host is the faster one, its request comes too early. Hosts whose
// connection managers take their time never notice; here such a request waits for a moment.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>

#include "base/bytes.h"
#include "base/time.h"
#include "hca/types.h"
#include "wire/cm_values.h"
#include "wire/mad.h"

namespace weft::mgmt {

class EarlyRequests {
 public:
  struct Request {
    std::array<std::byte, wire::kMadSize> mad{};
    hca::Path from{};
    PKey pkey{};
    std::uint64_t transaction = 0;
    wire::CommId id{};  // its sender's
    wire::ServiceId service{};
    Gid address{};  // that it is for
    Time until{};   // refused then
  };

  explicit EarlyRequests(std::size_t most) : most_(most) {}

  // False when it is full.
  bool keep(const Request& request);
  // Whether this one waits already: its sender repeats it.
  [[nodiscard]] bool has(const hca::Path& from, std::uint64_t transaction) const;

  // Its sender does not want an answer any more. False when there is none such.
  bool forget(const hca::Path& from, wire::CommId id);

  // Makes those due at once that `listens` now, given a service ID and an address.
  template <class Listens>
  void look_again(const Listens& listens) {
    for (Request& request : requests_) {
      if (listens(request.service, request.address)) request.until = Time{};
    }
  }

  [[nodiscard]] std::optional<Time> deadline() const;
  // One whose time has come, no more of the list.
  std::optional<Request> take_due(Time now);

 private:
  std::size_t most_;
  std::list<Request> requests_;  // few: looking through all of them is nothing
};

}  // namespace weft::mgmt
