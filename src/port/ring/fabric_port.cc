// SPDX-License-Identifier: Apache-2.0
#include "port/ring/fabric_port.h"

#include <utility>
#include <variant>

#include "port/ring/fabric_endpoint.h"
#include "port/ring/raw_endpoint.h"

namespace weft::port {
namespace {

// Those of each port come before all other news.
Expected<void> hear_first(FabricShared& shared) {
  for (std::size_t unheard = shared.facts.size() - 1; unheard > 0;) {
    auto news = shared.attachment->await_news();
    if (!news) return tl::unexpected(news.error());
    auto* const first = std::get_if<NodeAttachment::FactsNews>(&*news);
    if (first == nullptr || !shared.has_port(first->facts.port)) {
      return fail(std::errc::bad_message, "the lab's daemon does not say what its ports are");
    }
    if (shared.facts[first->facts.port] == nullptr) --unheard;
    shared.set_facts(std::move(first->facts));
  }
  return {};
}

}  // namespace

Expected<std::unique_ptr<FabricPort>> FabricPort::open(const FabricPortConfig& config) {
  NodeAttachment::Files files;
  auto attachment = NodeAttachment::open(config.place, files);
  if (!attachment) return tl::unexpected(attachment.error());
  auto end =
      ProgramEnd::map(files[attach::kProgramMemory].get(), files[attach::kDaemonMemory].get(),
                      std::move(files[attach::kDoorbell]), std::move(files[attach::kArrivals]));
  if (!end) return tl::unexpected(end.error());
  const auto ports = static_cast<std::uint8_t>((*attachment)->welcome().ports);
  const std::uint32_t arena = (*attachment)->welcome().arena;
  auto shared = std::make_shared<FabricShared>(std::move(*attachment), ports, arena,
                                               std::move(*end), config.guard);
  if (auto heard = hear_first(*shared); !heard) return tl::unexpected(heard.error());
  if (!config.capture.empty()) {
    auto capture = LinkCapture::open(config.capture, config.device);
    if (!capture) return tl::unexpected(capture.error());
    shared->capture = std::move(*capture);
  }
  std::unique_ptr<InletFaults> faults;
  if (config.faults.any()) {
    auto created = InletFaults::create(config.faults, 0);
    if (!created) return tl::unexpected(created.error());
    faults = std::move(*created);
  }
  auto inlet = std::make_shared<FabricInlet>(shared, std::move(faults));
  return std::unique_ptr<FabricPort>(new FabricPort(std::move(shared), std::move(inlet)));
}

PortAttributes FabricPort::attributes(std::uint8_t port) {
  PortAttributes out = shared_->current_facts(port)->attributes;
  if (shared_->gone.load(std::memory_order_relaxed)) {
    out.state = LinkState::kDown;
    out.link_up = false;
  }
  return out;
}

Expected<std::unique_ptr<Endpoint>> FabricPort::open_endpoint(Service) {
  auto qpn = shared_->attachment->allocate();
  if (!qpn) return tl::unexpected(qpn.error());
  return std::make_unique<FabricEndpoint>(shared_, inlet_, *qpn);
}

Expected<std::unique_ptr<Endpoint>> FabricPort::open_raw_endpoint() {
  return RawEndpoint::open(shared_, inlet_);
}

Expected<std::unique_ptr<Endpoint>> FabricPort::open_management() {
  return fail(std::errc::operation_not_supported,
              "queue pair 1 of a node is for programs that use libibumad");
}

std::uint32_t FabricPort::take_news(std::uint8_t port) {
  return std::exchange(news_[port], 0u);
}

void FabricPort::hear_news() {
  while (!shared_->gone.load(std::memory_order_relaxed)) {
    auto news = shared_->attachment->next_news();
    if (!news) {
      shared_->gone.store(true, std::memory_order_relaxed);
      news_[1] |= kNewsDeviceFatal;
      return;
    }
    if (!*news) return;
    if (auto* const facts = std::get_if<NodeAttachment::FactsNews>(&**news)) {
      apply(std::move(*facts));
    } else {
      apply(std::move(std::get<NodeAttachment::ArenaNews>(**news)));
    }
  }
}

void FabricPort::apply(NodeAttachment::FactsNews news) {
  const std::uint8_t port = news.facts.port;
  if (!shared_->has_port(port)) return;
  const auto before = shared_->current_facts(port);
  news_[port] |= port_news(before->attributes, news.facts.attributes) |
                 (news.reregister ? std::uint32_t{kNewsReregister} : 0u);
  shared_->set_facts(std::move(news.facts));
}

// Where it cannot be mapped it is not asked for: the daemon goes on copying.
void FabricPort::apply(NodeAttachment::ArenaNews news) {
  if (!news.file) {
    shared_->arenas.remove(news.arena);
    return;
  }
  if (!shared_->arenas.add(news.arena, news.file.get())) return;
  if (!shared_->attachment->mapped(news.arena)) shared_->arenas.remove(news.arena);
}

}  // namespace weft::port
