// SPDX-License-Identifier: Apache-2.0
// Two or more connection managers in virtual time, on a network that loses, repeats, delays and
// reorders what they send.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/random.h"
#include "mgmt/connection_manager.h"
#include "sim/scheduler.h"
#include "wire/cm_field.h"

namespace weft::mgmt::test {

struct CmFaults {
  double loss = 0;
  double duplicate = 0;
  Duration delay = 1ms;   // one way
  Duration jitter = 0ms;  // up to that much more for each by itself, so that they overtake
};

inline Gid address_of(unsigned host) {
  return Gid::from_ipv4(0x0A00'0000 + host);
}

class CmWorld;

// One host: a manager, and everything that it was told.
class CmHost final : private LocalEnds, private MadSink, private EventSink {
 public:
  CmHost(CmWorld& world, unsigned number, const CmConfig& config, Random random)
      : gid(address_of(number)),
        number_(number),
        world_(world),
        entropy_(random),
        manager(config, *this, entropy_, *this, this) {}

  // A call to the manager; its timer is set anew afterwards.
  template <class Call>
  auto call(Call&& what);

  [[nodiscard]] Guid guid() const { return Guid{std::uint64_t{0x0200'00FF'FE00'0000} + number_}; }
  [[nodiscard]] hca::Path path_to(const CmHost& other) const {
    return {.sgid = gid, .dgid = other.gid};
  }

  // The events so far that are of this kind.
  template <class Kind>
  [[nodiscard]] std::vector<CmEvent> all() const {
    std::vector<CmEvent> some;
    std::copy_if(events.begin(), events.end(), std::back_inserter(some),
                 [](const CmEvent& event) { return std::holds_alternative<Kind>(event.what); });
    return some;
  }
  template <class Kind>
  [[nodiscard]] std::size_t count() const {
    return all<Kind>().size();
  }
  // What the only event of this kind says; fails the test by an exception when it is not the only.
  template <class Kind>
  [[nodiscard]] Kind only() const {
    const auto some = all<Kind>();
    if (some.size() != 1) throw std::runtime_error("not one event of the kind");
    return std::get<Kind>(some.front().what);
  }
  template <class Kind>
  [[nodiscard]] CmId only_id() const {
    (void)only<Kind>();
    return all<Kind>().front().id;
  }
  [[nodiscard]] std::uint64_t counter(CmCounter which) const {
    return manager.counters().get(which);
  }

  const Gid gid;
  std::vector<CmEvent> events;
  std::function<void(const CmEvent&)> on_each = [](const CmEvent&) {};
  std::function<bool(const Mad&)> drops = [](const Mad&) { return false; };  // of what it sends
  std::vector<Mad> sent;
  std::set<PKey> sent_in;  // partitions
  std::vector<Gid> more_addresses;

 private:
  friend class CmWorld;
  std::optional<LocalEnd> find(const Gid& address) const override {
    if (address != gid &&
        std::find(more_addresses.begin(), more_addresses.end(), address) == more_addresses.end()) {
      return std::nullopt;
    }
    return LocalEnd{.ca_guid = guid(), .port = 1, .sgid_index = 3};
  }
  void send(const hca::Path& to, PKey pkey, std::span<const std::byte, kMadSize> mad) override;
  void on_event(const CmEvent& event) override {
    events.push_back(event);
    on_each(event);
  }
  void set_timer();

  unsigned number_;
  CmWorld& world_;
  SeededEntropy entropy_;
  std::optional<Time> timer_;

 public:
  ConnectionManager manager;
};

template <class Call>
auto CmHost::call(Call&& what) {
  struct Rearm {
    CmHost& host;
    ~Rearm() { host.set_timer(); }
  } rearm{*this};
  return what(manager);
}

class CmWorld {
 public:
  explicit CmWorld(std::uint64_t seed = 1, const CmFaults& faults = {}, const CmConfig& config = {},
                   unsigned hosts = 2)
      : faults_(faults), random_(seed) {
    for (unsigned i = 1; i <= hosts; ++i) {
      hosts_.push_back(std::make_unique<CmHost>(*this, i, config, random_.fork()));
    }
  }
  CmHost& a() { return *hosts_[0]; }
  CmHost& b() { return *hosts_[1]; }
  CmHost& host(std::size_t index) { return *hosts_[index]; }
  [[nodiscard]] Time now() const { return scheduler_.now(); }
  sim::Scheduler& scheduler() { return scheduler_; }
  Random& random() { return random_; }
  void set_faults(const CmFaults& faults) { faults_ = faults; }

  void run(Duration time) {
    const Time end = now() + time;
    scheduler_.at(end, [] {});  // so that it is then, whether something happens or not
    scheduler_.run_until(end);
  }
  // Until nothing is left to happen; false when that takes longer than an hour.
  bool run_out() { return scheduler_.run_until(now() + std::chrono::hours(1)); }

  // `mad` arrives at `to` as if `from` had sent it.
  void deliver(CmHost& to, const Gid& from, const Mad& mad) {
    to.call([&](ConnectionManager& manager) {
      manager.receive(mad, {.sgid = to.gid, .dgid = from}, kDefaultPKey, now());
    });
  }

 private:
  friend class CmHost;
  void carry(const Gid& from, const Gid& to, PKey pkey, const Mad& mad) {
    if (random_.chance(faults_.loss)) return;
    const int copies = random_.chance(faults_.duplicate) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      const Duration jitter(random_.below(static_cast<std::uint64_t>(faults_.jitter.count()) + 1));
      scheduler_.after(faults_.delay + jitter, [this, from, to, pkey, mad] {
        for (const auto& host : hosts_) {
          const auto& more = host->more_addresses;
          const bool has = host->gid == to || std::find(more.begin(), more.end(), to) != more.end();
          if (!has) continue;
          host->call([&](ConnectionManager& manager) {
            manager.receive(mad, {.sgid = to, .dgid = from}, pkey, now());
          });
        }
      });
    }
  }

  CmFaults faults_;
  Random random_;
  sim::Scheduler scheduler_;
  std::vector<std::unique_ptr<CmHost>> hosts_;
};

inline void CmHost::send(const hca::Path& to, PKey pkey,
                         std::span<const std::byte, kMadSize> bytes) {
  Mad mad;
  std::copy(bytes.begin(), bytes.end(), mad.begin());
  sent.push_back(mad);
  sent_in.insert(pkey);
  if (!drops(mad)) world_.carry(to.sgid, to.dgid, pkey, mad);
}

inline void CmHost::set_timer() {
  const auto deadline = manager.deadline();
  if (!deadline || (timer_ && *timer_ <= *deadline)) return;
  timer_ = std::max(*deadline, world_.now());
  world_.scheduler_.at(*timer_, [this] {
    timer_.reset();
    const auto due = manager.deadline();
    if (due && *due <= world_.now()) manager.expire(world_.now());
    set_timer();
  });
}

inline wire::CmMessage kind_of(const Mad& mad) {
  return static_cast<wire::CmMessage>(wire::MadHeader::parse(mad)->attribute_id);
}

inline std::uint64_t transaction_of(const Mad& mad) {
  return wire::MadHeader::parse(mad)->transaction_id;
}

template <class Message>
Message body_of(const Mad& mad) {
  return *Message::parse(Bytes(mad).subspan(wire::MadHeader::kSize));
}

inline std::vector<std::byte> text(std::string_view characters) {
  std::vector<std::byte> bytes(characters.size());
  std::transform(characters.begin(), characters.end(), bytes.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

inline bool begins_with(const PrivateData& data, std::string_view characters) {
  const auto wanted = text(characters);
  return data.bytes().size() >= wanted.size() &&
         std::equal(wanted.begin(), wanted.end(), data.bytes().begin());
}

inline constexpr ServiceId kService{0x0000'0000'0106'1C06};

inline ConnectParameters connect_parameters(const CmHost& from, const CmHost& to) {
  return {.path = from.path_to(to),
          .service_id = kService,
          .qpn = Qpn{0x11},
          .responder_resources = 4,
          .initiator_depth = 3};
}

}  // namespace weft::mgmt::test
