// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <optional>
#include <utility>

namespace weft::daemon {

// How many connections other users than the lab's own have to it, whatever for, so that none of
// them takes what is there for all: each has at most a quarter of the places for them. The lab's
// user and root are not counted here.
class OtherUsers {
 public:
  // Of one connection, while it lasts.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept
        : users_(std::exchange(other.users_, nullptr)), user_(other.user_) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(users_, other.users_);
      std::swap(user_, other.user_);
      return *this;
    }
    ~Place() {
      if (users_ != nullptr) users_->leave(user_);
    }

   private:
    friend class OtherUsers;
    Place(OtherUsers& users, uid_t user) : users_(&users), user_(user) {}
    OtherUsers* users_ = nullptr;
    uid_t user_ = 0;
  };

  // `places`: for all of them together. It outlives them.
  OtherUsers(uid_t owner, std::size_t places) : owner_(owner), places_(places) {}
  OtherUsers(const OtherUsers&) = delete;
  OtherUsers& operator=(const OtherUsers&) = delete;

  // Nothing: there is none left for him.
  [[nodiscard]] std::optional<Place> enter(uid_t user) {
    if (user == owner_ || user == 0) return Place();
    const auto found = taken_.find(user);
    const std::size_t his = found == taken_.end() ? 0 : found->second;
    if (all_ >= places_ || his >= (places_ + 3) / 4) return std::nullopt;
    ++all_;
    ++taken_[user];
    return Place(*this, user);
  }

 private:
  void leave(uid_t user) {
    --all_;
    const auto found = taken_.find(user);
    if (--found->second == 0) taken_.erase(found);
  }

  const uid_t owner_;
  const std::size_t places_;
  std::size_t all_ = 0;
  std::map<uid_t, std::size_t> taken_;
};

// A place at a server that may be nobody's but its user's: then `users` is null.
[[nodiscard]] inline std::optional<OtherUsers::Place> enter(OtherUsers* users, uid_t user) {
  return users == nullptr ? OtherUsers::Place() : users->enter(user);
}

}  // namespace weft::daemon
