// SPDX-License-Identifier: Apache-2.0
// The links that leave a part of a lab: which other part each goes to, and what carries it there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/entropy.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/lab/datagram_parts.h"
#include "daemon/lab/lab_paths.h"
#include "daemon/lab/part_records.h"
#include "daemon/lab/ring_parts.h"
#include "fabric/fabric.h"
#include "io/reactor.h"

namespace weft::daemon {

// A turn of the reactor's thread is
//
//   poll(now)        what other parts have sent goes into the fabric
//   fabric.run(now)
//   flush(now)       what the fabric has for them goes there
class PartLinks final : public PartRecordSink {
 public:
  // Of the part that `fabric` runs, which it must. Listens at once; what it is given outlives it.
  static Expected<std::unique_ptr<PartLinks>> open(fabric::Fabric& fabric, const LabPaths& paths,
                                                   io::Reactor& reactor, Entropy& entropy);
  PartLinks(const PartLinks&) = delete;
  PartLinks& operator=(const PartLinks&) = delete;
  // Says goodbye.
  ~PartLinks() override;

  // Who has records for other parts, and hears those of them: before start(). It outlives this.
  void set_record_user(PartRecordUser& user) { record_user_ = &user; }
  // After the fabric's: from now on other parts are looked for.
  void start(Time now);
  // To all parts on this machine.
  void tell(const PartRecord& record) override;

  // True: there was something.
  bool poll(Time now);
  void flush();
  // From now on, and until awake(), descriptors become ready for whatever comes. False: something
  // has, poll() again.
  [[nodiscard]] bool sleep();
  void awake();
  // When to poll() again, besides.
  [[nodiscard]] std::optional<Time> deadline() const;

  // The other parts that links go to, as docs/cli.md has them.
  [[nodiscard]] nlohmann::json report() const;
  // What carries a link, if it leaves the part; null: it does not.
  [[nodiscard]] nlohmann::json report(std::size_t link) const;
  [[nodiscard]] std::vector<CounterValue> counters() const;

 private:
  struct Cut {
    std::uint16_t part = 0;  // the other one
    fabric::PartCarrier carrier{};
    const carrier::RingChannel* ring = nullptr;
    const carrier::DatagramChannel* datagrams = nullptr;
  };

  PartLinks(fabric::Fabric& fabric, Entropy& entropy) : fabric_(fabric), entropy_(entropy) {}
  Expected<void> open_carriers(const LabPaths& paths, io::Reactor& reactor);
  void add_part(std::uint16_t part);
  void add_link(std::size_t link, Time now);
  // Parts on this machine that have an instance of a service that is here too.
  [[nodiscard]] std::vector<std::uint16_t> sharing_parts() const;

  fabric::Fabric& fabric_;
  Entropy& entropy_;
  std::map<std::size_t, Cut> cuts_;           // by their numbers in Lab::links
  std::unique_ptr<RingParts> rings_;          // null: no other part is on this machine
  std::unique_ptr<DatagramParts> datagrams_;  // null: none is on another
  PartRecordUser* record_user_ = nullptr;     // null: nobody
  std::map<std::uint16_t, RingPart*> ring_parts_;
  std::map<std::uint16_t, DatagramPart*> datagram_parts_;
};

// The number by which both parts know a link, of all that both must agree on: its names, its ends,
// and what these can do.
[[nodiscard]] std::uint64_t number_of_link(const fabric::Lab& lab, std::size_t link);

}  // namespace weft::daemon
