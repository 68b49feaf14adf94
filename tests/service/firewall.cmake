# SPDX-License-Identifier: Apache-2.0
weft_test(service firewall SOURCES firewall_attacks_test.cc firewall_classifier_test.cc
  firewall_inside_test.cc firewall_rules_test.cc firewall_service_test.cc firewall_shapes_test.cc
  firewall_state_test.cc
  DEPS weft_service_firewall)
weft_fuzz_replay(service firewall_rules DEPS weft_service_firewall)
target_include_directories(replay_firewall_rules PRIVATE ${PROJECT_SOURCE_DIR}/tests/service)
weft_fuzz_replay(service firewall_records DEPS weft_service_firewall)
target_include_directories(replay_firewall_records PRIVATE ${PROJECT_SOURCE_DIR}/tests/service)
