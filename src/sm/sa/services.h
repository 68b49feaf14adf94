// SPDX-License-Identifier: Apache-2.0
// Services that ports offer, as long as they say so: ServiceRecord, IBA 15.2.5.14.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>

#include "base/time.h"
#include "sm/sa/exchange.h"
#include "sm/subnet_store.h"
#include "wire/sa/service_record.h"

namespace weft::sm {

class ServiceTable {
 public:
  // Beyond `most`, none is taken.
  explicit ServiceTable(std::size_t most) : most_(most) {}

  // What becomes of services is recorded there from now on; null: nowhere.
  void record_to(SubnetStore* store) { store_ = store; }
  // Records all that there are.
  void record_all(Time now) const;
  // A service of before. False: there is no room for it, or it is there.
  [[nodiscard]] bool restore(const ServiceState& service, Time now);

  void set(const SubnetView& view, const SaRequest& request, SaReply& reply, Time now);
  // Only whoever knows its key ends a service; those without a key everybody.
  void remove(const SaRequest& request, SaReply& reply);
  void find(const SubnetView& view, const SaRequest& request, SaReply& reply, Time now) const;
  // Forgets those whose lease has ended.
  void run(Time now);
  // When to run: not later than when the next one ends.
  [[nodiscard]] std::optional<Time> deadline() const { return next_; }
  [[nodiscard]] std::size_t size() const { return services_.size(); }

 private:
  // What makes a service another one.
  using Name = std::tuple<std::uint64_t, Gid, std::uint16_t>;  // ServiceID, ServiceGID, P_Key
  struct Service {
    wire::ServiceRecord record;
    std::optional<Time> ends{};  // nothing: never
  };
  [[nodiscard]] static Name name_of(const wire::ServiceRecord& record) {
    return {record.id, record.gid, record.pkey.value()};
  }
  void put(const Service& service);
  void offer(const SaRequest& request, const Service& service, SaReply& reply, Time now) const;
  void record(const Service& service, Time now) const;

  const std::size_t most_;
  std::map<Name, Service> services_;
  std::optional<Time> next_;
  SubnetStore* store_ = nullptr;
};

}  // namespace weft::sm
