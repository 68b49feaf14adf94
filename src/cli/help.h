// SPDX-License-Identifier: Apache-2.0
// What help says beyond the list of options.
#pragma once

#include <string>

namespace weft::cli {

std::string general_help();
std::string run_footer();
std::string devices_footer();
std::string doctor_footer();
std::string status_footer();
std::string resource_footer();
std::string up_footer();
std::string down_footer();
std::string link_footer();
std::string lan_footer();
std::string policy_footer();
std::string serve_footer();
std::string service_footer();
std::string sm_footer();
std::string capture_footer();
std::string extend_footer();
std::string firewall_footer();
std::string wan_footer();
std::string wan_emulator_footer();

std::string lab_footer();

}  // namespace weft::cli
