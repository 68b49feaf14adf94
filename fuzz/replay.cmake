# SPDX-License-Identifier: Apache-2.0
# weft_fuzz_replay(label name DEPS …): a ctest test that runs fuzz/<name>.cc over fuzz/corpus/<name>
# with any compiler, labelled `label`.
function(weft_fuzz_replay label name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  set(fuzz ${PROJECT_SOURCE_DIR}/fuzz)
  add_executable(replay_${name} ${fuzz}/${name}.cc ${fuzz}/standalone_main.cc)
  weft_target_defaults(replay_${name})
  set_target_properties(replay_${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(replay_${name} PRIVATE ${ARG_DEPS})
  weft_script_test(${label} fuzz_${name}
    COMMAND replay_${name} ${fuzz}/corpus/${name} LABELS fuzz)
endfunction()
