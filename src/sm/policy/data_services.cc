// SPDX-License-Identifier: Apache-2.0
#include "sm/policy/data_services.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/gid_prefix.h"
#include "base/random.h"
#include "wire/sm/tables.h"

namespace weft::sm {
namespace {

// Service LIDs begin here at least: forwarding tables are written in blocks of 64.
constexpr unsigned kFirstLid = 64;

std::uint64_t mix(std::uint64_t of, std::uint64_t more) {
  return Random(of ^ more).next();
}

std::uint64_t mix(std::uint64_t of, const Gid& gid) {
  const GidPrefix words(gid, GidPrefix::kMostBits);
  return mix(mix(of, words.subnet()), words.rest());
}

std::string text_of(Guid port) {
  return fmt::format("0x{:016x}", port.value());
}

template <class Each>
void each_member(const std::vector<DataService>& services, Each&& each) {
  for (const DataService& service : services) {
    for (const auto& instance : service.instances) {
      for (const ServiceMember& member : instance)
        each(service, member);
    }
  }
}

Expected<void> check(const DataService& service) {
  const auto wrong = [&](const std::string& text) {
    return fail(std::errc::invalid_argument, fmt::format("service {}: {}", service.name, text));
  };
  if (service.name.empty()) return fail(std::errc::invalid_argument, "a service without a name");
  if (service.elsewhere != service.instances.empty()) {
    return wrong(service.elsewhere ? "has a port here, and is elsewhere" : "has no port");
  }
  std::set<Guid> ports;
  for (const auto& instance : service.instances) {
    if (instance.empty() || instance.size() > 2) {
      return wrong("an instance is at one port, or at a pair");
    }
    for (const ServiceMember& member : instance) {
      if (member.port == Guid{}) return wrong("an instance is at no port");
      if (!ports.insert(member.port).second) {
        return wrong(fmt::format("port {} is named twice", text_of(member.port)));
      }
    }
  }
  return {};
}

}  // namespace

Expected<void> DataServices::set(std::vector<DataService> services) {
  std::set<std::string_view> names;
  for (const DataService& service : services) {
    if (auto checked = check(service); !checked) return checked;
    if (!names.insert(service.name).second) {
      return fail(std::errc::file_exists, fmt::format("there are two services {}", service.name));
    }
  }
  std::set<Lid> lids;
  Expected<void> checked;
  each_member(services, [&](const DataService& service, const ServiceMember& member) {
    for (const Lid lid : member.lids) {
      if (lid == Lid{} || lid.value() >= wire::MulticastBlock::kFirstLid) {
        checked =
            fail(std::errc::invalid_argument,
                 fmt::format("service {}: LID {} is no unicast LID", service.name, lid.value()));
      } else if (!lids.insert(lid).second) {
        checked = fail(std::errc::file_exists,
                       fmt::format("service {}: LID {} is there twice", service.name, lid.value()));
      }
    }
  });
  if (!checked) return checked;
  services_ = std::move(services);
  states_.clear();
  for (const DataService& service : services_) {
    std::vector<State>& states = states_.emplace_back();
    for (const auto& members : service.instances) {
      State& state = states.emplace_back();
      for (std::size_t i = 0; i < members.size(); ++i)
        state.has.push_back(service.pair == PairMode::kBoth ? i : 0);
    }
  }
  unwell_.clear();
  drained_.clear();
  given_.clear();
  remembered_.clear();
  ++generation_;
  settle();
  return {};
}

std::optional<std::size_t> DataServices::find(std::string_view name) const {
  const auto found = std::find_if(services_.begin(), services_.end(),
                                  [&](const DataService& each) { return each.name == name; });
  if (found == services_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - services_.begin());
}

bool DataServices::is_at(std::size_t service, Guid port) const {
  const auto& instances = services_[service].instances;
  return std::any_of(instances.begin(), instances.end(), [&](const auto& members) {
    return std::any_of(members.begin(), members.end(),
                       [&](const ServiceMember& member) { return member.port == port; });
  });
}

bool DataServices::is_any_at(Guid port) const {
  for (std::size_t i = 0; i < services_.size(); ++i) {
    if (is_at(i, port)) return true;
  }
  return false;
}

std::optional<std::size_t> DataServices::owner_of(Lid lid) const {
  std::optional<std::size_t> owner;
  each_member(services_, [&](const DataService& service, const ServiceMember& member) {
    if (std::find(member.lids.begin(), member.lids.end(), lid) == member.lids.end()) return;
    owner = static_cast<std::size_t>(&service - services_.data());
  });
  return owner;
}

void DataServices::set_ports(std::span<const PresentPort> ports) {
  knows_ports_ = true;
  std::vector<PresentPort> sorted(ports.begin(), ports.end());
  std::sort(sorted.begin(), sorted.end(), [](const PresentPort& a, const PresentPort& b) {
    return std::pair(a.system, a.port) < std::pair(b.system, b.port);
  });
  const auto before = std::exchange(here_, {});
  std::size_t rank = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    rank = i > 0 && sorted[i - 1].system == sorted[i].system ? rank + 1 : 0;
    here_.emplace(sorted[i].port, std::pair(sorted[i].system, rank));
  }
  for (const auto& [port, where] : before) {
    if (here_.contains(port)) continue;
    ++gone_;
    newest_gone_.push_back(port);
    if (newest_gone_.size() > kGoneKept) newest_gone_.pop_front();
  }
  settle();
}

std::vector<Guid> DataServices::gone_since(std::uint64_t count) const {
  const std::uint64_t more = gone_ > count ? gone_ - count : 0;
  const auto kept = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(more, newest_gone_.size()));
  return {newest_gone_.end() - kept, newest_gone_.end()};
}

void DataServices::set_health(Guid port, bool well) {
  if (well ? unwell_.erase(port) > 0 : unwell_.insert(port).second) settle();
}

void DataServices::set_drained(Guid port, bool drained) {
  std::set<Guid> ports{port};
  each_member(services_, [&](const DataService& service, const ServiceMember& member) {
    if (member.port != port || !service.joins) return;
    for (const auto& instance : service.instances) {
      for (const ServiceMember& other : instance) {
        if (other.node == member.node) ports.insert(other.port);
      }
    }
  });
  bool changed = false;
  for (const Guid each : ports)
    changed |= drained ? drained_.insert(each).second : drained_.erase(each) > 0;
  if (changed) settle();
}

void DataServices::set_load(Guid port, std::uint64_t load) {
  for (std::size_t i = 0; i < services_.size(); ++i) {
    for (std::size_t j = 0; j < services_[i].instances.size(); ++j) {
      State& state = states_[i][j];
      for (const std::size_t member : state.has) {
        if (services_[i].instances[j][member].port != port) continue;
        state.load = load;
        state.paths_told = state.paths;
      }
    }
  }
}

void DataServices::set_rates(std::size_t service, std::span<const std::uint64_t> rates) {
  std::vector<State>& states = states_[service];
  const double all = std::accumulate(rates.begin(), rates.end(), 0.0);
  if (all <= 0 || rates.size() != states.size()) return;
  std::uint64_t paths = 0;
  for (const State& state : states)
    paths += state.paths;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const double share = static_cast<double>(rates[i]) / all * static_cast<double>(paths);
    states[i].load = (states[i].paths + static_cast<std::uint64_t>(std::llround(share))) / 2;
    states[i].paths_told = states[i].paths;
  }
}

bool DataServices::is_well(Guid port) const {
  return (!knows_ports_ || here_.contains(port)) && !unwell_.contains(port) && !is_drained(port);
}

// Who has the LIDs of each member. Of a standby pair both are at one port, and stay there while it
// is well, unless others must find the same one, or it has not begun: while a fabric comes up the
// second may be seen before the first. Of one where both work each comes home.
std::vector<std::size_t> DataServices::carriers(const DataService& service,
                                                const std::vector<ServiceMember>& members,
                                                const State& state) const {
  const std::vector<std::size_t>& now = state.has;
  const bool prefers_first = service.joins || !state.begun;
  std::vector<std::size_t> next = now;
  for (std::size_t i = 0; members.size() == 2 && i < 2; ++i) {
    const std::size_t wanted = service.pair == PairMode::kBoth ? i : prefers_first ? 0 : now[i];
    const std::size_t other = 1 - wanted;
    const bool moves = !is_well(members[wanted].port) && is_well(members[other].port);
    // Nobody is well: the LIDs stay where they are.
    const bool stays = !is_well(members[wanted].port) && !is_well(members[other].port);
    next[i] = stays ? now[i] : moves ? other : wanted;
  }
  return next;
}

void DataServices::settle(const DataService& service, const std::vector<ServiceMember>& members,
                          State& state) {
  const std::vector<std::size_t> before = state.has;
  state.has = carriers(service, members, state);
  state.begun |= !knows_ports_ || here_.contains(members.front().port);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (state.has[i] == before[i]) continue;
    ++generation_;
    // In a standby pair both members' LIDs move together.
    if (i > 0 && service.pair == PairMode::kStandby) continue;
    events_.push_back(fmt::format("service {}: port {} takes over from {}", service.name,
                                  text_of(members[state.has[i]].port),
                                  text_of(members[before[i]].port)));
  }
  const bool usable = std::any_of(members.begin(), members.end(), [&](const ServiceMember& member) {
    return is_well(member.port);
  });
  if (usable == state.usable) return;
  state.usable = usable;
  ++generation_;
  events_.push_back(fmt::format("service {}: the instance at port {} is {}", service.name,
                                text_of(members.front().port),
                                usable ? "well again" : "gone, or not well"));
}

void DataServices::settle() {
  if (!knows_ports_) return;
  for (std::size_t i = 0; i < services_.size(); ++i) {
    for (std::size_t j = 0; j < services_[i].instances.size(); ++j)
      settle(services_[i], services_[i].instances[j], states_[i][j]);
  }
}

bool DataServices::wants_lids() const {
  bool wants = false;
  each_member(services_, [&](const DataService&, const ServiceMember& member) {
    wants = wants || member.lids.empty();
  });
  return wants;
}

bool DataServices::assign_lids(const std::set<Lid>& taken) {
  if (!wants_lids()) return true;
  std::set<Lid> used = taken;
  each_member(services_, [&](const DataService&, const ServiceMember& member) {
    used.insert(member.lids.begin(), member.lids.end());
  });
  // As far again above the ports as they reach: the fabric may double.
  const unsigned highest = taken.empty() ? 0 : taken.rbegin()->value();
  unsigned next = std::max(kFirstLid, std::bit_ceil(2 * highest + 1));
  if (next >= wire::MulticastBlock::kFirstLid) next = highest + 1;
  for (DataService& service : services_) {
    for (auto& members : service.instances) {
      for (ServiceMember& member : members) {
        if (!member.lids.empty()) continue;
        while (next < wire::MulticastBlock::kFirstLid &&
               used.contains(Lid{static_cast<std::uint16_t>(next)}))
          ++next;
        if (next >= wire::MulticastBlock::kFirstLid) return false;
        member.lids.push_back(Lid{static_cast<std::uint16_t>(next++)});
        ++generation_;
      }
    }
  }
  return true;
}

std::vector<ServiceLid> DataServices::lids() const {
  std::vector<ServiceLid> lids;
  for (std::size_t i = 0; i < services_.size(); ++i) {
    for (std::size_t j = 0; j < services_[i].instances.size(); ++j) {
      const auto& members = services_[i].instances[j];
      for (std::size_t k = 0; k < members.size(); ++k) {
        for (const Lid lid : members[k].lids)
          lids.push_back({.lid = lid, .port = members[states_[i][j].has[k]].port});
      }
    }
  }
  return lids;
}

// Rendezvous hashing: of an instance that is gone only its own paths move, and come back with it.
std::optional<std::size_t> DataServices::by_hash(std::size_t service, const Pair& ends) const {
  std::optional<std::size_t> best;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < states_[service].size(); ++i) {
    if (!states_[service][i].usable) continue;
    const ServiceMember& at = services_[service].instances[i].front();
    const Guid key = services_[service].joins ? at.node : at.port;
    const std::uint64_t weight = mix(mix(mix(0, key.value()), ends.first), ends.second);
    if (best && weight <= most) continue;
    best = i;
    most = weight;
  }
  return best;
}

std::optional<std::size_t> DataServices::by_load(std::size_t service, const Pair& ends,
                                                 bool remember) {
  const Key key{service, ends};
  const auto known = given_.find(key);
  if (known != given_.end()) {
    if (states_[service][known->second.instance].usable) {
      if (remember) remembered_.splice(remembered_.end(), remembered_, known->second.turn);
      return known->second.instance;
    }
    if (remember) forget(known);
  }
  const auto load = [](const State& state) { return state.load + state.paths - state.paths_told; };
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < states_[service].size(); ++i) {
    const State& state = states_[service][i];
    if (state.usable && (!best || load(state) < load(states_[service][*best]))) best = i;
  }
  if (best && remember) give(key, *best);
  return best;
}

void DataServices::give(const Key& key, std::size_t instance) {
  if (given_.size() >= limits_.remembered) forget(given_.find(remembered_.front()));
  remembered_.push_back(key);
  given_.emplace(key, Given{.instance = instance, .turn = std::prev(remembered_.end())});
  ++states_[key.first][instance].paths;
}

void DataServices::forget(std::map<Key, Given>::iterator given) {
  State& state = states_[given->first.first][given->second.instance];
  --state.paths;
  state.paths_told = std::min(state.paths_told, state.paths);
  remembered_.erase(given->second.turn);
  given_.erase(given);
}

// Which port of its machine it is: the next one is given to the other member. Machines begin with
// either.
std::size_t DataServices::rank_of(const FlowEnds& ends) const {
  const auto here = here_.find(ends.first_port);
  if (here == here_.end()) return static_cast<std::size_t>(mix(0, ends.first) >> 1);
  const auto& [system, rank] = here->second;
  return static_cast<std::size_t>(mix(0, system.value()) >> 1) + rank;
}

std::optional<ServiceHop> DataServices::choose(std::size_t service, const FlowEnds& ends,
                                               bool remember) {
  const DataService& wanted = services_[service];
  const Pair pair{.first = ends.first, .second = ends.second};
  const auto instance =
      wanted.balance == Balance::kHash ? by_hash(service, pair) : by_load(service, pair, remember);
  if (!instance) return std::nullopt;
  const auto& members = wanted.instances[*instance];
  const std::vector<std::size_t>& has = states_[service][*instance].has;
  // Where the first end is in another subnet, its ports are not known.
  const std::size_t turn =
      wanted.joins ? static_cast<std::size_t>(mix(0, ends.first) >> 1) : rank_of(ends);
  // In a standby pair the LIDs of both lead to who works. In another subnet nobody sees by which
  // of them a packet has come, and what an end sees may not change: those of the first, always.
  const std::size_t standby = wanted.joins ? 0 : has[0];
  const std::size_t member = wanted.pair == PairMode::kBoth ? turn % members.size() : standby;
  if (members[member].lids.empty()) return std::nullopt;
  states_[service][*instance].begun |= remember;
  return ServiceHop{.service = service,
                    .instance = *instance,
                    .member = member,
                    .port = members[has[member]].port,
                    .lids = members[member].lids};
}

std::vector<std::string> DataServices::take_events() {
  return std::exchange(events_, {});
}

}  // namespace weft::sm
