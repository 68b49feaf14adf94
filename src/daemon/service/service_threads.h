// SPDX-License-Identifier: Apache-2.0
// The data services of a lab that work in threads of their own in its daemon (`threads` of a
// service). The fabric has one thread, and is not to be touched by another one; so each of these
// threads is a program on the node's adapter, as one of `weft service run` is: packets come and go
// by rings, paths are asked of the subnet administrator by a socket, and the port spreads flows
// over the threads. What it costs is the way through the rings; what it brings is that classifying
// and changing packets is done by as many processors as there are threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/service/firewall_rules.h"
#include "daemon/service/service_process.h"
#include "fabric/lab_service.h"
#include "mgmt/mad_envelope.h"

namespace weft::daemon {

class ServiceThreads {
 public:
  ServiceThreads();
  ServiceThreads(const ServiceThreads&) = delete;
  ServiceThreads& operator=(const ServiceThreads&) = delete;
  // The lab's sockets are gone by then, without which no thread goes on.
  ~ServiceThreads();

  // One at a port of a node, before start(). A router has several there.
  void add(const fabric::LabService& service, const std::string& node, mgmt::PortNumber port);
  // When the lab whose directory this is serves, or will soon. One that ends, or cannot begin, says
  // why on standard error and is begun anew.
  void start(const std::string& lab);
  // The lab's sockets go from now on: threads that end are not begun anew, and say nothing of it.
  void end();

  // Puts into the row of a service's place what its threads have counted. Waits for them, for a
  // moment.
  void report(const fabric::LabService& service, const std::string& node,
              nlohmann::json& row) const;
  // The rules of this service's file, as they are now, in all its threads, those that begin just
  // now too: a row for each place whose threads have them. Errors: what is wrong with them, and
  // then everything stays as it is; a place has not said in time that it has them, and then it has
  // them when it can.
  [[nodiscard]] Expected<nlohmann::json> reload(const fabric::LabService& service);

 private:
  struct Worked;

  void run(Worked& worked);
  Expected<void> serve(Worked& worked);
  // To all other instances of the same service.
  void publish(const Worked& from, std::size_t service, Bytes record) const;
  [[nodiscard]] bool is_ending() const;

  std::string lab_;
  std::vector<std::unique_ptr<Worked>> worked_;  // stays as it is from start() on
  mutable std::mutex mutex_;                     // of what follows, and of all that Worked has
  mutable std::condition_variable changed_;
  bool ending_ = false;
};

}  // namespace weft::daemon
