# SPDX-License-Identifier: Apache-2.0
# How the targets of this tree are made, in one place.

find_program(WEFT_CCACHE ccache)
if(WEFT_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${WEFT_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${WEFT_CCACHE})
endif()

if(WEFT_SANITIZE)
  # -O1 runs several times as fast as -O0, with stacks that can still be read.
  add_compile_options(-fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer -O1 -g1)
  add_link_options(-fsanitize=${WEFT_SANITIZE})
  if(WEFT_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # It takes no notice of fences, and says so. The ones here keep a store ahead of a load; nothing
    # else is ordered by them.
    add_compile_options(-Wno-tsan)
  endif()
endif()
if(WEFT_FUZZ)
  # The library's own checks are cheap, and all that is left without sanitizers.
  add_compile_options(-fsanitize=fuzzer-no-link -D_GLIBCXX_ASSERTIONS)
  if(WEFT_FUZZ_SANITIZE)
    add_compile_options(-fsanitize=${WEFT_FUZZ_SANITIZE} -fno-sanitize-recover=undefined)
    add_link_options(-fsanitize=${WEFT_FUZZ_SANITIZE})
  endif()
endif()

function(weft_target_defaults target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Werror)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src)
endfunction()

# weft_library(base SOURCES a.cc b.cc DEPS weft_x): the static library of one folder of src/.
function(weft_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  add_library(weft_${name} STATIC ${ARG_SOURCES})
  weft_target_defaults(weft_${name})
  target_link_libraries(weft_${name} PUBLIC ${ARG_DEPS})
endfunction()

# weft_test(folder name SOURCES a_test.cc DEPS weft_x [LABELS extra] [LOCK resource]): a GoogleTest
# program whose every test is a ctest test, labelled with the folder of src/ that it tests.
function(weft_test folder name)
  cmake_parse_arguments(ARG "" "LOCK;TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  set(target test_${folder}_${name})
  add_executable(${target} ${ARG_SOURCES})
  weft_target_defaults(${target})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_compile_definitions(${target} PRIVATE WEFT_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  target_link_libraries(${target} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set(props LABELS "${folder};${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
  if(ARG_LOCK)
    list(APPEND props RESOURCE_LOCK ${ARG_LOCK})
  endif()
  # One ctest test per program keeps process start-up from dominating; the program's own output
  # names each sentence.
  add_test(NAME ${folder}.${name} COMMAND ${target} --gtest_brief=1)
  set_tests_properties(${folder}.${name} PROPERTIES ${props})
endfunction()

# weft_script_test(label name COMMAND … [LOCK resource] [TIMEOUT s] [FULL]): a test that is a
# script. FULL tests run only under `script/test --full` (ctest -C full).
function(weft_script_test label name)
  cmake_parse_arguments(ARG "FULL" "LOCK;TIMEOUT" "COMMAND;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(ARG_FULL)
    add_test(NAME ${label}.${name} COMMAND ${ARG_COMMAND} CONFIGURATIONS full)
  else()
    add_test(NAME ${label}.${name} COMMAND ${ARG_COMMAND})
  endif()
  set_tests_properties(${label}.${name} PROPERTIES LABELS "${label};${ARG_LABELS}"
    TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77
    ENVIRONMENT "WEFT_BUILD=${CMAKE_BINARY_DIR};WEFT_SOURCE=${PROJECT_SOURCE_DIR}")
  if(ARG_LOCK)
    set_tests_properties(${label}.${name} PROPERTIES RESOURCE_LOCK ${ARG_LOCK})
  endif()
endfunction()

# weft_bench(name SOURCES … DEPS …): a benchmark program, build/*/bench/<name>.
function(weft_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(bench_${name} ${ARG_SOURCES})
  weft_target_defaults(bench_${name})
  set_target_properties(bench_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench
    OUTPUT_NAME ${name})
  target_link_libraries(bench_${name} PRIVATE ${ARG_DEPS})
endfunction()

# weft_fuzz(name SOURCES … DEPS …): a libFuzzer target, build/fuzz/fuzz/<name>.
function(weft_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(fuzz_${name} ${ARG_SOURCES})
  weft_target_defaults(fuzz_${name})
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz
    OUTPUT_NAME ${name})
  target_link_libraries(fuzz_${name} PRIVATE ${ARG_DEPS})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz_targets fuzz_${name})
endfunction()
