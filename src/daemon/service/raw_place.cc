// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/raw_place.h"

#include <algorithm>
#include <utility>

#include "io/clock.h"

namespace weft::daemon {

Expected<std::unique_ptr<RawPlace>> RawPlace::open(fabric::ChannelAdapter& node,
                                                   mgmt::PortNumber port,
                                                   fabric::RawConsumer& consumer, Answered answered,
                                                   Entropy& entropy) {
  std::unique_ptr<RawPlace> place(new RawPlace(node, port, std::move(answered)));
  if (auto opened = place->questions_.open(); !opened) return tl::unexpected(opened.error());
  auto raw = fabric::RawService::attach(node, port, consumer, {}, entropy);
  if (!raw) return tl::unexpected(raw.error());
  place->raw_ = std::move(*raw);
  return place;
}

RawPlace::~RawPlace() {
  raw_.reset();
  questions_.close();
  node_.management_used();
}

Expected<void> RawPlace::set_lids(std::span<const Lid> lids) {
  Expected<void> result;
  std::vector<Lid> now_here;
  for (const Lid lid : lids_) {
    if (std::ranges::find(lids, lid) != lids.end()) {
      now_here.push_back(lid);
    } else {
      // What this port has is restored without an error.
      static_cast<void>(raw_->restore(lid));
    }
  }
  for (const Lid lid : lids) {
    if (std::ranges::find(now_here, lid) != now_here.end()) continue;
    if (auto diverted = raw_->divert(lid); !diverted) {
      result = std::move(diverted);
      continue;
    }
    now_here.push_back(lid);
  }
  lids_ = std::move(now_here);
  return result;
}

bool RawPlace::ask(std::uint64_t number, const service::PathQuestion& question, Time now) {
  const bool sent =
      questions_.ask(port_, number, questions_.of_service(port_, question, lids_), now);
  if (sent && question.port != 0) led_back_.insert(number);
  return sent;
}

void RawPlace::path_answered(std::uint64_t number, const SaPathAnswer& answer) {
  std::optional<service::Path> path = answer.path();
  const bool leads_back = led_back_.erase(number) > 0;
  if (path && leads_back) lead_back(*path, lids_);
  answered_(number, path, io::now());
}

}  // namespace weft::daemon
