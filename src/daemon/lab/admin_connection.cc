// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/admin_connection.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "io/pass_descriptor.h"
#include "io/sealed_file.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;

Bytes text_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// Names of files, which are in some reports, may be no UTF-8.
std::string written(const Json& report) {
  return report.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string text_of(const Json& request, const char* name) {
  const auto found = request.find(name);
  return found != request.end() && found->is_string() ? found->get<std::string>() : "";
}

Json AdminConnection::Owner::beside_error() const {
  return Json::object();
}

AdminConnection::AdminConnection(io::UniqueFd socket, Owner& owner)
    : socket_(std::move(socket)), owner_(owner) {
}

Expected<void> AdminConnection::start(io::Reactor& reactor) {
  auto watch = reactor.watch(socket_.get(), EPOLLIN, [this](std::uint32_t) {
    if (!read_all()) owner_.on_end();
  });
  if (!watch) return tl::unexpected(watch.error());
  watch_ = std::move(*watch);
  return {};
}

bool AdminConnection::read_all() {
  std::array<std::byte, kLongestRequest> buffer;
  while (true) {
    const auto message = io::receive_message(socket_.get(), buffer);
    if (!message) {
      owner_.on_nonsense();
      return false;
    }
    if (!*message) return true;
    if ((*message)->size == 0) return false;
    if (!on_request(Bytes(buffer).first((*message)->size))) return false;
  }
}

bool AdminConnection::on_request(Bytes message) {
  const auto* const text = reinterpret_cast<const char*>(message.data());
  const Json request = Json::parse(text, text + message.size(), nullptr, false);
  if (!request.is_object()) {
    owner_.on_nonsense();
    return false;
  }
  return answer(owner_.carry_out(request));
}

bool AdminConnection::answer(const Expected<Json>& result) {
  if (!result) {
    Json error = owner_.beside_error();
    error["error"] = result.error().message;
    const std::string text = written(error);
    return io::send_message(socket_.get(), text_bytes(text)).has_value();
  }
  io::UniqueFd report;
  if (!result->is_null()) {
    auto file = io::make_sealed_file("weft-lab-report", text_bytes(written(*result)));
    if (!file) return answer(tl::unexpected(file.error()));
    report = std::move(*file);
  }
  const std::string text = Json{{"ok", true}}.dump();
  return io::send_message(socket_.get(), text_bytes(text), report ? report.get() : -1).has_value();
}

}  // namespace weft::daemon
