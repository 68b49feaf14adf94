// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/mad_outbox.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "io/pass_descriptor.h"
#include "io/sealed_file.h"

namespace weft::daemon {

using namespace umad::protocol;

bool MadOutbox::put(const Mad& header, Bytes datagram) {
  assert(header.length == datagram.size());
  if (gone_) return false;
  Message message;
  if (datagram.size() > kMostInline) {
    if (queued_ + datagram.size() > limits_.bytes && !queue_.empty()) return false;
    auto file = io::make_sealed_file("weft-mad", datagram);
    if (!file) return false;
    message.file = std::move(*file);
    message.long_size = datagram.size();
    datagram = datagram.first(kFront);
  }
  message.bytes.resize(sizeof header + datagram.size());
  std::memcpy(message.bytes.data(), &header, sizeof header);
  std::copy(datagram.begin(), datagram.end(), message.bytes.begin() + sizeof header);
  return enqueue(std::move(message));
}

bool MadOutbox::enqueue(Message message) {
  if (!queue_.empty() && queued_ + message.size() > limits_.bytes) return false;
  queued_ += message.size();
  queue_.push_back(std::move(message));
  if (queue_.size() == 1) flush();
  return !gone_;
}

void MadOutbox::taken(std::size_t bytes) {
  untaken_ -= std::min(bytes, untaken_);
  flush();
}

bool MadOutbox::may_go(const Message& message) const {
  return message.long_size == 0 || untaken_ == 0 || untaken_ + message.long_size <= limits_.untaken;
}

void MadOutbox::flush() {
  wants_room_ = false;
  while (!queue_.empty() && may_go(queue_.front())) {
    const Message& next = queue_.front();
    const auto sent = io::send_message(socket_, next.bytes, next.file.get());
    if (!sent) {
      wants_room_ = sent.error().code == std::errc::no_buffer_space;
      if (wants_room_) return;
      // Whoever reads from the connection will see that it is over.
      gone_ = true;
      queue_.clear();
      return;
    }
    untaken_ += next.long_size;
    queued_ -= next.size();
    queue_.pop_front();
  }
}

}  // namespace weft::daemon
