// SPDX-License-Identifier: Apache-2.0
// The data services of a lab that work in the daemon: those that its file names, at each of their
// ports. Which service LIDs lead to a port is the subnet manager's to say, where the lab has its
// own; under another one, what the file says. The lab's own is told which of them are well, those
// that are processes too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer_pool.h"
#include "base/entropy.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/lab/part_records.h"
#include "daemon/service/firewall_log.h"
#include "daemon/service/place_ports.h"
#include "daemon/service/place_watches.h"
#include "daemon/service/service_maker.h"
#include "daemon/service/service_place.h"
#include "daemon/service/service_threads.h"
#include "fabric/fabric.h"
#include "fabric/lab_service.h"
#include "fabric/lab_subnets.h"
#include "io/clock.h"
#include "sm/policy/path_steering.h"

namespace weft::daemon {

class LabServices final : public PartRecordUser, private ServicePlace::Peers {
 public:
  // All outlive it; packets that it has sent lie in `blocks`, of ServicePlace::kBlock bytes each,
  // which outlives the fabric too. `clock`: what time it is. `threads`: who has
  // those that work in threads of their own; null: nobody, and they are not there.
  LabServices(fabric::Fabric& fabric, BufferPool& blocks, Entropy& entropy,
              std::function<Time()> clock = io::now, ServiceThreads* threads = nullptr)
      : fabric_(fabric),
        blocks_(blocks),
        entropy_(entropy),
        clock_(std::move(clock)),
        threads_(threads),
        subnets_(fabric.lab()) {}
  LabServices(const LabServices&) = delete;
  LabServices& operator=(const LabServices&) = delete;
  ~LabServices() override;

  // Makes those whose ports are here. Errors: a service's own file cannot be read or is wrong; a
  // type of service that does not work in a daemon; a port that has no room.
  Expected<void> open();

  // Whom to tell of them, and who says their LIDs. They outlive this.
  void steer_by(Steerings steerings) { steerings_ = std::move(steerings); }
  // Of a lab in parts: whom to tell what instances in other parts are to know. It outlives this.
  void tell_parts(PartRecordSink& parts) { parts_ = &parts; }
  // PartRecordUser
  void part_came(PartRecordSink& part) override;
  void record_came(const PartRecord& record) override;

  // After Fabric::run(), and at deadline(). True: the managers are to run, for one was told what
  // changes paths.
  bool run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] bool empty() const { return watches_.empty(); }
  // A row for each service and port: docs/cli.md. Of one by its name; empty: of all. `details`:
  // what each type has to tell, too.
  [[nodiscard]] nlohmann::json report(const std::string& name, bool details) const;
  // {"services": the same}. no_such_device: the lab has no service of that name.
  [[nodiscard]] Expected<nlohmann::json> answer(const std::string& name, bool details) const;
  // The rules of this one's file, as they are now, at each port that is here: {"services":
  // [{"name", "node", "port", "rules", "connections", "forgotten"}]}. Errors name what is wrong
  // with them, or that it has none that are read here; then everything stays as it is.
  [[nodiscard]] Expected<nlohmann::json> reload(const std::string& name);

 private:
  struct Seat {
    mgmt::PortNumber port = 0;
    Guid guid{};               // of the port
    std::vector<Lid> given{};  // LIDs that the lab file has for it, and for its pair
    std::size_t subnet = 0;    // of the lab's
  };
  struct Placed {
    const fabric::LabService* service = nullptr;
    std::vector<Seat> seats{};  // one; of a router several
    MadeService made{};         // but for the services themselves, which are in their place
    std::unique_ptr<ServicePlace> place{};
    std::unique_ptr<PlacePorts> ports{};  // null: the service need not know its subnets
    std::string trouble{};                // why it has not all of its LIDs
  };

  // ServicePlace::Peers
  void publish(ServicePlace& from, std::size_t service, Bytes record) override;
  bool mirror(ServicePlace& from, Bytes packet, const service::Arrival& arrival) override;
  [[nodiscard]] Time now() const override { return clock_(); }

  [[nodiscard]] Expected<const fabric::LabService*> find(const std::string& name) const;
  Expected<void> open(const fabric::LabService& service, std::size_t instance,
                      const fabric::LabServiceMember& member);
  Expected<void> divert(ServicePlace& place, const fabric::LabService& service);
  // Who has the copies of that one; null: nobody.
  [[nodiscard]] ServicePlace* mirror_of(const ServicePlace& from);
  // Of a router, at one more port of the same node.
  Expected<void> join(Placed& placed, std::size_t instance, const fabric::LabServiceMember& member);
  [[nodiscard]] Placed* find_router(const fabric::LabService& service, std::string_view node);
  // Of a process that joins subnets: the other ports that it has at the node of this one.
  [[nodiscard]] std::vector<mgmt::PortNumber> joined_ports(
      const fabric::LabService& service, const fabric::LabServiceMember& member) const;
  [[nodiscard]] Seat seat_of(const fabric::LabServiceInstance& instance,
                             const fabric::LabServiceMember& member);
  // Whether another part has instances of it.
  [[nodiscard]] bool is_elsewhere_too(const fabric::LabService& service) const;
  // As all parts have it that have the service.
  [[nodiscard]] std::uint64_t number_of(const fabric::LabService& service) const;
  void set_lids();
  [[nodiscard]] std::vector<Lid> lids_of(const fabric::LabService& service, const Seat& seat) const;
  // Ports that a subnet has no more.
  void forget_gone();

  fabric::Fabric& fabric_;
  BufferPool& blocks_;
  Entropy& entropy_;
  FirewallLog log_;
  const std::function<Time()> clock_;
  ServiceThreads* const threads_;
  const fabric::LabSubnets subnets_;
  Steerings steerings_;
  PartRecordSink* parts_ = nullptr;  // null: there are none
  std::vector<Placed> places_;
  PlaceWatches watches_;                     // of these, and of processes
  std::optional<std::uint64_t> generation_;  // of all steerings that the places know of
  std::vector<std::uint64_t> gone_;          // ports that they have forgotten, by subnet
};

}  // namespace weft::daemon
