// SPDX-License-Identifier: Apache-2.0
#include "verbs/work_builder.h"

#include <cerrno>

#include "io/clock.h"
#include "verbs/guard.h"

namespace weft::verbs {

void WorkBuilder::start() {
  lock_.lock();
  error_ = 0;
  entries_.clear();
  pieces_.clear();
  inline_bytes_.clear();
}

void WorkBuilder::open(const hca::SendRequest& request) {
  if (error_ != 0) return;
  if (entries_.size() >= max_requests_) return refuse(ENOMEM);
  error_ = guard_errno([&] {
    entries_.push_back({request, pieces_.size(), 0});
    return 0;
  });
  inline_in_entry_ = 0;
}

void WorkBuilder::set_destination(const hca::Path& path, Qpn qpn, QKey qkey) {
  if (error_ != 0) return;
  if (entries_.empty()) return refuse(EINVAL);
  hca::SendRequest& request = entries_.back().request;
  request.path = &path;
  request.remote_qpn = qpn;
  request.remote_qkey = qkey;
}

void WorkBuilder::set_remote_srq(Qpn number) {
  if (error_ != 0) return;
  if (entries_.empty()) return refuse(EINVAL);
  entries_.back().request.remote_srq = number;
}

void WorkBuilder::add_piece(const hca::Sge& piece) {
  if (error_ != 0) return;
  if (entries_.empty() || entries_.back().request.inline_data) return refuse(EINVAL);
  error_ = guard_errno([&] {
    pieces_.push_back(piece);
    ++entries_.back().piece_count;
    return 0;
  });
}

void WorkBuilder::add_inline(std::span<const std::byte> bytes) {
  if (error_ != 0) return;
  if (entries_.empty()) return refuse(EINVAL);
  Entry& entry = entries_.back();
  if (entry.piece_count != 0 && !entry.request.inline_data) return refuse(EINVAL);
  if (bytes.size() > max_inline_ - inline_in_entry_) return refuse(EINVAL);
  entry.request.inline_data = true;
  inline_in_entry_ += bytes.size();
  error_ = guard_errno([&] {
    // One piece for all buffers of a request: they follow each other in inline_bytes_.
    if (entry.piece_count == 0) {
      pieces_.push_back({inline_bytes_.size(), 0, LKey{}});
      entry.piece_count = 1;
    }
    pieces_.back().length += static_cast<std::uint32_t>(bytes.size());
    inline_bytes_.insert(inline_bytes_.end(), bytes.begin(), bytes.end());
    return 0;
  });
}

int WorkBuilder::complete(host::QueuePair& queue_pair) {
  int result = error_;
  for (std::size_t i = 0; i < entries_.size() && result == 0; ++i) {
    Entry& entry = entries_[i];
    const std::span<hca::Sge> pieces =
        std::span(pieces_).subspan(entry.first_piece, entry.piece_count);
    if (entry.request.inline_data) {
      for (hca::Sge& piece : pieces) {
        piece.address = reinterpret_cast<std::uintptr_t>(inline_bytes_.data()) + piece.address;
      }
    }
    entry.request.pieces = pieces;
    const bool more = i + 1 < entries_.size();
    result = static_cast<int>(queue_pair.post_send(entry.request, more));
    // The requests before the refused one were told that more would follow.
    if (result != 0 && i > 0) queue_pair.flush(io::now());
  }
  lock_.unlock();
  return result;
}

}  // namespace weft::verbs
