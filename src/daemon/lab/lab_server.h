// SPDX-License-Identifier: Apache-2.0
// A lab that runs in this process: its fabric, driven by the clock, and the sockets by which others
// use it. One thread does it all, but for what is written to the subnet database.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer_pool.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/lab/admin_session.h"
#include "daemon/lab/attach_server.h"
#include "daemon/lab/cm_server.h"
#include "daemon/lab/connection_managers.h"
#include "daemon/lab/lab_counters.h"
#include "daemon/lab/lab_doors.h"
#include "daemon/lab/lab_managers.h"
#include "daemon/lab/lab_paths.h"
#include "daemon/lab/link_captures.h"
#include "daemon/lab/mad_server.h"
#include "daemon/lab/other_users.h"
#include "daemon/lab/part_links.h"
#include "daemon/lan/lan_server.h"
#include "daemon/listener.h"
#include "daemon/service/external_services.h"
#include "daemon/service/lab_services.h"
#include "daemon/service/service_threads.h"
#include "daemon/wan/wan_links.h"
#include "fabric/fabric.h"
#include "fabric/lab.h"
#include "fabric/lab_access.h"
#include "io/reactor.h"
#include "io/system_entropy.h"
#include "io/unique_fd.h"

namespace weft::daemon {

class LabServer {
 public:
  // Takes the lab's name for itself and listens at its sockets; what programs ask waits until
  // run(). device_or_resource_busy: a lab of that name runs. `part`: runs only this one of
  // Lab::parts, which `paths` name. `access`: who is let in besides this user; errors as
  // open_doors() has them.
  static Expected<std::unique_ptr<LabServer>> open(fabric::Lab lab, const LabPaths& paths,
                                                   std::optional<std::uint16_t> part = std::nullopt,
                                                   const fabric::LabAccess& access = {});
  ~LabServer();

  // What is to be said to whoever begins it: sentences.
  [[nodiscard]] std::vector<std::string> notes() const;
  // Serves until stop() is called or somebody asks the lab to end. Its sockets are gone then.
  Expected<void> run();
  // From any thread, and from signal handlers.
  void stop();

 private:
  friend class AdminSession;

  LabServer(fabric::Lab lab, LabPaths paths, std::optional<std::uint16_t> part);
  Expected<void> start(const fabric::LabAccess& access);
  Expected<void> start_manager();
  Expected<void> start_programs();
  Expected<void> start_administration();
  void take(io::UniqueFd socket, const io::PeerCredentials& peer);
  Expected<MadNode> find_mad_node(std::string_view name);
  void end(std::uint64_t session);
  // One turn of what programs send and the fabric does with it. False: there was nothing to do.
  bool work(Time now);
  [[nodiscard]] bool lan_is_alone() const;
  bool run_fabric(Time now);
  bool run_services(Time now);
  bool manage(Time now, bool fabric_ran);
  // How long the reactor may sleep from then on.
  [[nodiscard]] Duration time_to_deadline(Time now) const;
  Expected<void> sleep(Time now);

  LabPaths paths_;
  io::UniqueFd lock_;
  LabDoors doors_;
  OtherUsers others_;
  std::unique_ptr<io::Reactor> reactor_;
  LinkCaptures captures_;  // the fabric's links know it
  // Packets of the fabric lie in its memory. Null: the lab has neither extenders nor services on
  // external servers.
  std::unique_ptr<WanLinks> wan_;
  BufferPool service_blocks_;  // packets of the fabric lie in it too
  fabric::Fabric fabric_;
  io::SystemEntropy entropy_;
  std::unique_ptr<LabManagers> manager_;  // null: the lab has none of its own, or not in this part
  std::unique_ptr<PartLinks> parts_;      // null: the lab has no other parts
  ServiceThreads service_threads_;        // end when the sockets of what follows are gone
  std::unique_ptr<MadServer> mads_;
  std::unique_ptr<AttachServer> programs_;
  std::unique_ptr<ConnectionManagers> connection_managers_;
  std::unique_ptr<CmServer> connections_;
  std::unique_ptr<LanServer> lan_;
  std::unique_ptr<LabServices> services_;
  std::unique_ptr<ExternalServices> external_;  // null: there are none
  CounterSet<LabCounter, kLabCounters> counters_;
  std::map<std::uint64_t, std::unique_ptr<AdminSession>> sessions_;
  std::uint64_t last_session_ = 0;
  Duration since_{};  // on the wall's clock
  std::atomic<bool> stopping_{false};
  std::vector<std::unique_ptr<Listener>> admin_;
};

}  // namespace weft::daemon
