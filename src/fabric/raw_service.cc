// SPDX-License-Identifier: Apache-2.0
#include "fabric/raw_service.h"

#include <fmt/format.h>

#include <utility>

namespace weft::fabric {

Expected<std::unique_ptr<RawService>> RawService::attach(ChannelAdapter& adapter,
                                                         mgmt::PortNumber number,
                                                         RawConsumer& consumer,
                                                         const RawOptions& options,
                                                         Entropy& entropy) {
  if (options.queues < 1 || options.queues > hca::ReceiveSideScaling::kMostQueues) {
    return fail(std::errc::invalid_argument,
                fmt::format("{} raw queues: a service has 1 to {}", options.queues,
                            hca::ReceiveSideScaling::kMostQueues));
  }
  auto port = adapter.raw_port(number);
  if (!port) return tl::unexpected(port.error());
  const auto set = (*port)->open(entropy);
  if (!set) return tl::unexpected(set.error());
  auto service =
      std::unique_ptr<RawService>(new RawService(**port, *set, consumer, options.says_drained));
  for (std::size_t i = 0; i < options.queues; ++i) {
    Queue& queue = *service->queues_.emplace_back(std::make_unique<Queue>(*service));
    const auto core =
        i < options.cores.size() ? std::optional(options.cores[i]) : std::optional<unsigned>();
    // Numbers begin at 0 in a set that is new.
    [[maybe_unused]] const auto added = (*port)->add_queue(*set, queue, core);
    // Nothing has come yet, so flows need not wait for their share of the queues.
    for (std::uint16_t other = 0; other < i; ++other)
      (*port)->drained(*set, other);
  }
  return service;
}

RawService::~RawService() {
  std::size_t left = 0;
  for (const auto& queue : queues_)
    left += queue->packets.size();
  port_.close(set_);
  port_.remove(*this, left);
}

void RawService::run(Time now) {
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    if (queues_[i]->packets.empty()) continue;
    std::swap(burst_, queues_[i]->packets);
    const auto number = static_cast<std::uint16_t>(i);
    consumer_.take(number, burst_, now);
    burst_.clear();
    if (!says_drained_ && queues_[i]->packets.empty()) port_.drained(set_, number);
  }
}

}  // namespace weft::fabric
