// SPDX-License-Identifier: Apache-2.0
#include "verbs/work_builder.h"

#include <cerrno>

#include "verbs/guard.h"

namespace weft::verbs {

void WorkBuilder::start() {
  lock_.lock();
  error_ = 0;
  requests_.clear();
  ranges_.clear();
  pieces_.clear();
  inline_bytes_.clear();
}

void WorkBuilder::open(const hca::SendRequest& request) {
  if (error_ != 0) return;
  if (requests_.size() >= capabilities_.max_send_wr) return refuse(ENOMEM);
  error_ = guard_errno([&] {
    requests_.push_back(request);
    ranges_.push_back({pieces_.size(), 0});
    return 0;
  });
  inline_in_request_ = 0;
}

void WorkBuilder::set_destination(const hca::Path& path, Qpn qpn, QKey qkey) {
  if (error_ != 0) return;
  if (requests_.empty()) return refuse(EINVAL);
  hca::SendRequest& request = requests_.back();
  request.path = &path;
  request.remote_qpn = qpn;
  request.remote_qkey = qkey;
}

void WorkBuilder::set_remote_srq(Qpn number) {
  if (error_ != 0) return;
  if (requests_.empty()) return refuse(EINVAL);
  requests_.back().remote_srq = number;
}

void WorkBuilder::add_piece(const hca::Sge& piece) {
  if (error_ != 0) return;
  if (requests_.empty() || requests_.back().inline_data) return refuse(EINVAL);
  if (ranges_.back().count >= capabilities_.max_send_sge) return refuse(EINVAL);
  error_ = guard_errno([&] {
    pieces_.push_back(piece);
    ++ranges_.back().count;
    return 0;
  });
}

void WorkBuilder::add_inline(std::span<const std::byte> bytes) {
  if (error_ != 0) return;
  if (requests_.empty()) return refuse(EINVAL);
  hca::SendRequest& request = requests_.back();
  PieceRange& range = ranges_.back();
  if (range.count != 0 && !request.inline_data) return refuse(EINVAL);
  if (bytes.size() > capabilities_.max_inline_data - inline_in_request_) return refuse(EINVAL);
  request.inline_data = true;
  inline_in_request_ += bytes.size();
  error_ = guard_errno([&] {
    // One piece for all buffers of a request: they follow each other in inline_bytes_.
    if (range.count == 0) {
      pieces_.push_back({inline_bytes_.size(), 0, LKey{}});
      range.count = 1;
    }
    pieces_.back().length += static_cast<std::uint32_t>(bytes.size());
    inline_bytes_.insert(inline_bytes_.end(), bytes.begin(), bytes.end());
    return 0;
  });
}

int WorkBuilder::complete(host::QueuePair& queue_pair) {
  int result = error_;
  if (result == 0) {
    // Only now do the vectors stay where they are.
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const std::span<hca::Sge> pieces =
          std::span(pieces_).subspan(ranges_[i].first, ranges_[i].count);
      if (requests_[i].inline_data) {
        for (hca::Sge& piece : pieces) {
          piece.address = reinterpret_cast<std::uintptr_t>(inline_bytes_.data()) + piece.address;
        }
      }
      requests_[i].pieces = pieces;
    }
    result = static_cast<int>(queue_pair.post_send_list(requests_));
  }
  lock_.unlock();
  return result;
}

}  // namespace weft::verbs
