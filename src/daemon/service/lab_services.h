// SPDX-License-Identifier: Apache-2.0
// The data services of a lab that work in the daemon: those that its file names, at each of their
// ports. Which service LIDs lead to a port is the subnet manager's to say, where the lab has its
// own; under another one, what the file says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/buffer_pool.h"
#include "base/entropy.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/service/service_place.h"
#include "fabric/fabric.h"
#include "fabric/lab_service.h"
#include "sm/policy/path_steering.h"

namespace weft::daemon {

class LabServices final : private ServicePlace::Peers {
 public:
  // All outlive it; packets that it has sent lie in `blocks`, of ServicePlace::kBlock bytes each,
  // which outlives the fabric too.
  LabServices(fabric::Fabric& fabric, BufferPool& blocks, Entropy& entropy)
      : fabric_(fabric), blocks_(blocks), entropy_(entropy) {}
  LabServices(const LabServices&) = delete;
  LabServices& operator=(const LabServices&) = delete;
  ~LabServices() override;

  // Makes those whose ports are here. Errors: a service's own file cannot be read or is wrong; a
  // type of service that does not work in a daemon; a port that has no room.
  Expected<void> open();

  // After Fabric::run(), and at deadline(). `steering`: of the lab's own subnet manager; null: it
  // has none.
  void run(Time now, const sm::PathSteering* steering);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] bool empty() const { return places_.empty(); }
  // A row for each service and port: docs/cli.md.
  [[nodiscard]] nlohmann::json report() const;

 private:
  struct Placed {
    const fabric::LabService* service = nullptr;
    Guid guid{};               // of the port
    std::vector<Lid> given{};  // LIDs that the lab file has for it
    std::unique_ptr<ServicePlace> place{};
    std::string trouble{};  // why it has not all of its LIDs
  };

  // ServicePlace::Peers
  void publish(ServicePlace& from, std::size_t service, Bytes record) override;
  void mirror(ServicePlace& from, Bytes packet, const service::Arrival& arrival) override;

  Expected<void> open(const fabric::LabService& service, const fabric::LabServiceMember& member);
  void set_lids(const sm::PathSteering* steering);

  fabric::Fabric& fabric_;
  BufferPool& blocks_;
  Entropy& entropy_;
  std::vector<Placed> places_;
  std::optional<std::uint64_t> generation_;  // of the steering that the places know of
};

}  // namespace weft::daemon
