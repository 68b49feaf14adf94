// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_external_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "fabric/toml_string.h"

namespace weft::fabric {
namespace {

std::string quoted_list(const std::vector<std::string>& values) {
  if (values.size() == 1) return quoted(values.front());
  std::vector<std::string> words;
  for (const std::string& value : values)
    words.push_back(quoted(value));
  return words.empty() ? "" : fmt::format("[{}]", fmt::join(words, ", "));
}

std::string text_or_none(const std::string& value) {
  return value.empty() ? "" : quoted(value);
}

}  // namespace

Done read_server(LabService& service, const Value& value) {
  auto servers = value.array();
  if (!servers) servers = std::vector{value};
  for (const Value& each : *servers) {
    const auto address = each.udp_address();
    if (!address) return tl::unexpected(address.error());
    if (std::ranges::find(service.external.servers, *address) != service.external.servers.end()) {
      return each.wrong("is there twice: each port has a server of its own");
    }
    service.external.servers.push_back(*address);
  }
  return {};
}

std::string write_server(const LabService& service) {
  std::vector<std::string> servers;
  for (const PartAddress& server : service.external.servers)
    servers.push_back(to_string(server));
  return quoted_list(servers);
}

Done read_external_listen(LabService& service, const Value& value) {
  const auto address = value.udp_address();
  if (!address) return tl::unexpected(address.error());
  service.external.listen = *address;
  return {};
}

std::string write_external_listen(const LabService& service) {
  const auto& listen = service.external.listen;
  return listen ? quoted(to_string(*listen)) : "";
}

Done read_external_key(LabService& service, const Value& value) {
  return store(service.external.key, value.string());
}

std::string write_external_key(const LabService& service) {
  return text_or_none(service.external.key);
}

Done read_external_certificate(LabService& service, const Value& value) {
  return store(service.external.certificate, value.string());
}

std::string write_external_certificate(const LabService& service) {
  return text_or_none(service.external.certificate);
}

Done read_external_fingerprint(LabService& service, const Value& value) {
  auto several = value.array();
  if (!several) several = std::vector{value};
  for (const Value& each : *several) {
    auto text = each.string();
    if (!text) {
      return value.wrong("must be a fingerprint, the name of a file with one, or several of them");
    }
    service.external.fingerprints.push_back(std::move(*text));
  }
  return {};
}

std::string write_external_fingerprint(const LabService& service) {
  return quoted_list(service.external.fingerprints);
}

Done read_external_insecure(LabService& service, const Value& value) {
  return store(service.external.insecure, value.boolean());
}

std::string write_external_insecure(const LabService& service) {
  return service.external.insecure ? "true" : "";
}

std::string external_trouble(const LabService& service) {
  const LabExternal& external = service.external;
  std::size_t ports = 0;
  for (const LabServiceInstance& instance : service.instances)
    ports += instance.size();
  if (external.servers.empty()) {
    return "needs the address where its server listens, as in server = \"192.0.2.9:7471\"";
  }
  if (external.servers.size() != ports) {
    return fmt::format("{} servers for {} ports: there is one for each port, in the order of `at`",
                       external.servers.size(), ports);
  }
  if (external.insecure) {
    if (external.key.empty() && external.fingerprints.empty()) return "";
    return "has a key or a fingerprint, and insecure = true: one of the two";
  }
  if (external.key.empty()) {
    return "needs a key, for what goes to the server is encrypted: `weft extend keygen fabric.key` "
           "makes one and prints its fingerprint, which the server is given; say key = "
           "\"fabric.key\" here, or insecure = true";
  }
  if (external.fingerprints.empty()) {
    return "needs the fingerprint of the server's key, as in fingerprint = \"SHA256:...\": it is "
           "what `weft extend keygen` or `weft extend fingerprint` prints there";
  }
  return "";
}

}  // namespace weft::fabric
