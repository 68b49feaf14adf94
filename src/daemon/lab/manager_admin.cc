// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/manager_admin.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/lab/lab_words.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kManagerAdminMostSessions = 64;

}  // namespace

class ManagerAdmin::Session final : private AdminConnection::Owner {
 public:
  Session(ManagerAdmin& admin, std::uint64_t id, io::UniqueFd socket)
      : admin_(admin), id_(id), connection_(std::move(socket), *this) {}
  Expected<void> start() { return connection_.start(admin_.reactor_); }

 private:
  Expected<Json> carry_out(const Json& request) override { return admin_.carry_out(request); }
  void on_nonsense() override { admin_.counters_.add(ManagerAdminCounter::kNonsense); }
  void on_end() override { admin_.sessions_.erase(id_); }

  ManagerAdmin& admin_;
  std::uint64_t id_;
  AdminConnection connection_;
};

ManagerAdmin::ManagerAdmin(ManagedSubnet& subnet, const fabric::Lab* lab, io::Reactor& reactor)
    : subnet_(subnet), lab_(lab), reactor_(reactor) {
}

ManagerAdmin::~ManagerAdmin() = default;

Expected<std::unique_ptr<ManagerAdmin>> ManagerAdmin::open(const std::string& socket,
                                                           ManagedSubnet& subnet,
                                                           const fabric::Lab* lab,
                                                           io::Reactor& reactor) {
  std::unique_ptr<ManagerAdmin> admin(new ManagerAdmin(subnet, lab, reactor));
  auto listener = Listener::open(
      socket, reactor,
      [raw = admin.get()](io::UniqueFd peer, const io::PeerCredentials&) {
        raw->take(std::move(peer));
      },
      [raw = admin.get()](Listener::Refused why) {
        raw->counters_.add(why == Listener::Refused::kForeign ? ManagerAdminCounter::kForeign
                                                              : ManagerAdminCounter::kTurnedAway);
      });
  if (!listener) return tl::unexpected(listener.error());
  admin->listener_ = std::move(*listener);
  return admin;
}

void ManagerAdmin::take(io::UniqueFd socket) {
  if (sessions_.size() >= kManagerAdminMostSessions)
    return counters_.add(ManagerAdminCounter::kTurnedAway);
  const std::uint64_t id = ++last_session_;
  auto session = std::make_unique<Session>(*this, id, std::move(socket));
  if (!session->start()) return counters_.add(ManagerAdminCounter::kTurnedAway);
  sessions_[id] = std::move(session);
  counters_.add(ManagerAdminCounter::kSessions);
}

Expected<Json> ManagerAdmin::carry_out(const Json& request) {
  const std::string name = text_of(request, "do");
  if (name != "sm") {
    counters_.add(ManagerAdminCounter::kNonsense);
    return fail(std::errc::invalid_argument,
                fmt::format("this subnet manager cannot '{}': it is of another version", name));
  }
  auto answer =
      lab_ == nullptr ? subnet_.answer(request) : answer_in_words_of(*lab_, subnet_, request);
  if (answer && answer->is_object() && answer->contains("counters")) {
    for (const CounterValue& counter : counters_.snapshot())
      (*answer)["counters"][std::string(counter.name)] = counter.value;
  }
  return answer;
}

}  // namespace weft::daemon
