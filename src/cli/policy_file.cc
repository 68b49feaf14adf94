// SPDX-License-Identifier: Apache-2.0
#include "cli/policy_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "cli/policy_export.h"
#include "cli/report_view.h"
#include "fabric/lab_service_text.h"
#include "io/text_file.h"
#include "io/user_names.h"

namespace weft::cli {
namespace {

constexpr std::size_t kMostRules = std::size_t{16} << 20;  // bytes

}  // namespace

Expected<void> read_policies(fabric::Lab& lab, const std::string& lab_file) {
  std::string& file = lab.data.policy_file;
  if (file.empty()) return {};
  file = std::filesystem::absolute(std::filesystem::path(lab_file).parent_path() / file);
  const auto text = io::read_text_file(file, kMostRules);
  if (!text) return tl::unexpected(text.error());
  auto policies = fabric::parse_policies(*text, lab, file);
  if (!policies) return tl::unexpected(policies.error());
  lab.data.policies = std::move(*policies);
  return {};
}

Expected<void> may_save_policies(const std::string& lab) {
  const std::size_t slash = lab.find('/');
  if (slash == std::string::npos || io::find_user(lab.substr(0, slash)) == geteuid()) return {};
  return fail(std::errc::permission_denied,
              fmt::format("{} is another user's, who saves its rules himself; `weft policy export` "
                          "prints them",
                          printable(lab)));
}

Expected<std::string> save_policies(const nlohmann::json& report) {
  const std::string file = text_of(report, "file");
  if (!report.contains("file")) {
    return fail(std::errc::invalid_argument,
                "the lab file names no file for rules, as in policies = \"rules.toml\"; `weft "
                "policy export` prints what stands in it then");
  }
  const auto rules = rules_text(report);
  if (!rules) return tl::unexpected(rules.error());
  const std::string fresh = file + ".new";
  std::ofstream out(fresh, std::ios::trunc);
  out << "# As `weft policy save` has written it.\n" << *rules;
  out.close();
  if (!out) return fail_errno(errno, fresh);
  std::error_code error;
  std::filesystem::rename(fresh, file, error);
  if (error) return fail_errno(error.value(), file);
  return file;
}

}  // namespace weft::cli
