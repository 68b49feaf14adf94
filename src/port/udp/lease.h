// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

namespace weft::port {

// Something borrowed, such as a number: gives it back when it ends.
class Lease {
 public:
  Lease() = default;
  explicit Lease(std::function<void()> give_back) : give_back_(std::move(give_back)) {}
  Lease(Lease&& other) noexcept : give_back_(std::exchange(other.give_back_, nullptr)) {}
  Lease& operator=(Lease&&) = delete;
  ~Lease() {
    if (give_back_) give_back_();
  }

 private:
  std::function<void()> give_back_;
};

}  // namespace weft::port
