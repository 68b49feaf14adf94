// SPDX-License-Identifier: Apache-2.0
// What the administrator is asked, and what it answers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "mgmt/mad/mad_client.h"
#include "sm/sa/subnet_view.h"
#include "wire/mad.h"
#include "wire/sa/sa_header.h"

namespace weft::sm {

struct SaRequest {
  mgmt::MadAddress from{};
  wire::MadHeader header{};
  wire::SaHeader sa{};
  Bytes data{};          // at least SaHeader::kDataSize bytes
  bool trusted = false;  // it had the SM_Key
  // The end port that asks, in the view's ends(); kNobody: it has no LID of this subnet.
  std::uint32_t requester = SubnetView::kNobody;

  [[nodiscard]] bool has(std::uint64_t components) const {
    return (sa.component_mask & components) == components;
  }
  [[nodiscard]] wire::SaAttribute attribute() const {
    return static_cast<wire::SaAttribute>(header.attribute_id);
  }
  [[nodiscard]] bool is_table() const {
    return header.method == wire::MadMethod::kGetTable ||
           header.method == wire::MadMethod::kGetTraceTable ||
           header.method == wire::MadMethod::kGetMulti;
  }
};

// The records of an answer, one behind the other.
class SaReply {
 public:
  // `most`: bytes of all records; more is too much.
  explicit SaReply(std::size_t most) : most_(most) {}

  // Room for another record, filled with zeros; where there is none the answer is an error, and
  // what is written goes nowhere. Valid until the next call.
  MutableBytes add(std::size_t size) {
    if (records_.size() + size > most_) {
      status_ = wire::SaStatus::kNoResources;
      records_.clear();
    }
    size_ = size;
    records_.resize(records_.size() + size);
    return MutableBytes(records_).last(size);
  }
  // Takes the last one back.
  void drop_last() { records_.resize(records_.size() - size_); }
  void fail(wire::SaStatus status) {
    status_ = status;
    records_.clear();
  }

  [[nodiscard]] wire::SaStatus status() const { return status_; }
  [[nodiscard]] bool full() const { return status_ == wire::SaStatus::kNoResources; }
  [[nodiscard]] Bytes records() const { return records_; }
  [[nodiscard]] std::size_t record_size() const { return size_; }
  [[nodiscard]] std::size_t count() const { return size_ == 0 ? 0 : records_.size() / size_; }

 private:
  const std::size_t most_;
  wire::SaStatus status_ = wire::SaStatus::kOk;
  std::size_t size_ = 0;
  std::vector<std::byte> records_;
};

}  // namespace weft::sm
