// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/lab_manager.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/lab/lab_words.h"
#include "daemon/lab/manager_options.h"
#include "daemon/lab/steering_options.h"

namespace weft::daemon {

using fabric::LabNode;
using fabric::NodeKind;

Expected<std::unique_ptr<LabManager>> LabManager::open(fabric::Fabric& fabric,
                                                       const std::string& database,
                                                       std::size_t subnet) {
  const LabNode* const where = fabric.lab().managing_node(subnet);
  if (where == nullptr)
    return fail(std::errc::no_such_device, "a lab without nodes has no manager");
  fabric::Node& node = *fabric.find_node(where->name);
  const std::uint8_t port = where->kind == NodeKind::kSwitch ? 0 : 1;
  auto read = read_manager_options(fabric.lab().management_of(subnet),
                                   {.number = port, .guid = node.port(port).guid()});
  if (!read) return tl::unexpected(read.error());
  read->options.steering = steering_options(fabric.lab(), subnet);
  auto managed = ManagedSubnet::open(node.management().mad_port(port), where->name,
                                     std::move(*read), database);
  if (!managed) return tl::unexpected(managed.error());
  return std::unique_ptr<LabManager>(new LabManager(fabric, node, port, std::move(*managed)));
}

LabManager::LabManager(fabric::Fabric& fabric, fabric::Node& node, std::uint8_t port,
                       std::unique_ptr<ManagedSubnet> subnet)
    : fabric_(fabric), node_(node), port_(port), subnet_(std::move(subnet)) {
}

void LabManager::start(Time now) {
  node_.management().set_subnet_manager(port_, true, now);
  subnet_->sweep();
}

void LabManager::run(Time now) {
  if (subnet_->run(now)) node_.management_used();
}

nlohmann::json LabManager::report() const {
  return subnet_->report();
}

Expected<nlohmann::json> LabManager::answer(nlohmann::json request) {
  return answer_in_words_of(fabric_.lab(), *subnet_, std::move(request));
}

}  // namespace weft::daemon
