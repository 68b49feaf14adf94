// SPDX-License-Identifier: Apache-2.0
// `weft lab`: makes lab files, and checks them. Nothing runs.
#include "fabric/lab.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "cli/commands.h"
#include "cli/policy_file.h"
#include "cli/suggest.h"
#include "fabric/lab_census.h"
#include "fabric/lab_file.h"
#include "fabric/lab_generate.h"
#include "fabric/lab_import.h"
#include "fabric/lab_pairs.h"
#include "io/text_file.h"

namespace weft::cli {
namespace {

std::string title_of(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

// "rack.net" makes a lab of the name "rack".
std::string stem_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
  std::string stem = file.substr(0, file.find('.'));
  const bool plain = std::all_of(stem.begin(), stem.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
  return !stem.empty() && plain && stem.front() != '-' ? stem : "lab";
}

std::string summary(const fabric::Lab& lab) {
  const fabric::LabCensus census = fabric::census_of(lab);
  if (census.is_roce_alone()) return census.to_string();
  return fmt::format("{}, {} links", census.to_string("nodes"), lab.links.size());
}

int check(const LabOptions& options) {
  const auto text = io::read_text_file(options.file, fabric::kMostFile);
  if (!text) return refuse("lab", text.error().message);
  auto lab = fabric::parse_lab(*text, title_of(options.file));
  if (!lab) return refuse("lab", lab.error().message);
  if (auto read = read_policies(*lab, options.file); !read) {
    return refuse("lab", read.error().message);
  }
  for (const std::string& note : fabric::pair_notes(*lab))
    fmt::print(stderr, "weft lab: {}\n", note);
  fmt::print("{}: {}\n", lab->name, summary(*lab));
  return kOk;
}

int import(const LabOptions& options) {
  const auto text = io::read_text_file(options.file, fabric::kMostFile);
  if (!text) return refuse("lab", text.error().message);
  const std::string name = options.name.value_or(stem_of(options.file));
  const auto imported = fabric::import_listing(*text, title_of(options.file), name);
  if (!imported) return refuse("lab", imported.error().message);
  for (const std::string& note : imported->notes)
    fmt::print(stderr, "weft lab: {}\n", note);
  fmt::print("{}", fabric::write_lab(imported->lab,
                                     fmt::format("weft lab import {}\n{}", title_of(options.file),
                                                 summary(imported->lab))));
  return kOk;
}

Expected<fabric::Lab> generated(const LabOptions& options, const std::vector<unsigned>& size,
                                const std::string& name) {
  const unsigned hosts = options.hosts.value_or(1);
  if (options.what == "fat-tree") return fabric::generate_fat_tree(size, name);
  if (options.what == "torus") return fabric::generate_torus(size, hosts, name);
  if (options.what == "dragonfly") return fabric::generate_dragonfly(size, name);
  return fabric::generate_line(size, hosts, name);
}

int generate(const LabOptions& options) {
  if (!options.size) {
    return refuse("lab",
                  fmt::format("{}: --size is missing; weft help lab has examples", options.what));
  }
  const auto size = fabric::parse_size(*options.size);
  if (!size) {
    return refuse("lab", fmt::format("--size {}: must be numbers from 1 to 65535 with an x between "
                                     "them, as in 4x4",
                                     *options.size));
  }
  const bool counts_hosts = options.what == "torus" || options.what == "line";
  if (options.hosts && !counts_hosts) {
    return refuse("lab", fmt::format("--hosts: of torus and line only; the size of a {} says it",
                                     options.what));
  }
  const std::string name = options.name.value_or(options.what);
  const auto lab = generated(options, *size, name);
  if (!lab) return refuse("lab", lab.error().message);
  const std::string hosts = options.hosts ? fmt::format(" --hosts {}", *options.hosts) : "";
  fmt::print("{}", fabric::write_lab(*lab, fmt::format("weft lab {} --size {}{}\n{}", options.what,
                                                       *options.size, hosts, summary(*lab))));
  return kOk;
}

}  // namespace

int lab(const LabOptions& options) {
  static const std::vector<std::string> shapes{"fat-tree", "torus", "dragonfly", "line"};
  static const std::vector<std::string> all{"fat-tree", "torus",  "dragonfly",
                                            "line",     "import", "check"};
  const bool of_file = options.what == "import" || options.what == "check";
  const bool of_shape = std::find(shapes.begin(), shapes.end(), options.what) != shapes.end();
  if (!of_file && !of_shape) {
    if (options.what.empty()) {
      return refuse("lab", fmt::format("name what to do: {}", fmt::join(all, ", ")));
    }
    const auto close = closest(options.what, all);
    return refuse("lab", fmt::format("{}: no such action{} (there are {})", options.what,
                                     close ? fmt::format("; did you mean {}?", *close) : "",
                                     fmt::join(all, ", ")));
  }
  if (of_shape) {
    if (options.file.empty()) return generate(options);
    return refuse("lab", fmt::format("{}: one word too many", options.file));
  }
  if (options.file.empty()) return refuse("lab", fmt::format("{}: name a file", options.what));
  if (options.size || options.hosts || (options.name && options.what == "check")) {
    return refuse("lab", fmt::format("{}: takes neither --size nor --hosts{}", options.what,
                                     options.what == "check" ? " nor --name" : ""));
  }
  return options.what == "import" ? import(options) : check(options);
}

}  // namespace weft::cli
