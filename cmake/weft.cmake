# SPDX-License-Identifier: Apache-2.0
# How the targets of this tree are made, in one place.

find_program(WEFT_CCACHE ccache)
if(WEFT_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${WEFT_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${WEFT_CCACHE})
endif()

# Some 280 programs are linked here, each in a quarter of the time that the usual linker takes. The
# drop-in libraries are not: mold leaves out the symbols that name their versions.
find_program(WEFT_MOLD mold)
if(WEFT_MOLD)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=mold WEFT_COMPILER_KNOWS_MOLD)
  if(WEFT_COMPILER_KNOWS_MOLD)
    string(APPEND CMAKE_EXE_LINKER_FLAGS " -fuse-ld=mold")
  endif()
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

# Sources of a folder are compiled several at a time: most of what a compiler does here is reading
# headers and instantiating their templates. So names in unnamed namespaces are of the whole folder.
# The sanitizers' builds compile each by itself, and find what a source forgot to include.
option(WEFT_UNITY "Compile the sources of a folder several at a time" ON)
if(WEFT_SANITIZE OR WEFT_FUZZ)
  set(WEFT_UNITY OFF)
endif()
set(CMAKE_UNITY_BUILD ${WEFT_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

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

# weft_test(folder name SOURCES a_test.cc DEPS weft_x [LABELS extra] [LOCK resource] [TIMEOUT s]
# [INCLUDES directory] [ALONE]): the test suites of these sources as one ctest test, labelled with
# the folder of src/ that they test. The tests of a folder are one program, which is compiled and
# linked in a quarter of the time of many: build/*/tests/test_folder. ALONE has one of its own.
function(weft_test folder name)
  cmake_parse_arguments(ARG "ALONE" "LOCK;TIMEOUT" "SOURCES;DEPS;LABELS;INCLUDES" ${ARGN})
  set(target test_${folder})
  if(ARG_ALONE)
    set(target test_${folder}_${name})
  endif()
  if(NOT TARGET ${target})
    add_executable(${target})
    weft_target_defaults(${target})
    set_target_properties(${target} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    # What is tested is optimised as users have it; tests themselves compile a quarter faster so.
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
    target_compile_definitions(${target} PRIVATE WEFT_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
    target_link_libraries(${target} PRIVATE GTest::gmock GTest::gtest_main)
  endif()
  set(sources ${ARG_SOURCES})
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  target_sources(${target} PRIVATE ${sources})
  target_link_libraries(${target} PRIVATE ${ARG_DEPS})
  target_include_directories(${target} PRIVATE ${ARG_INCLUDES})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set(props LABELS "${folder};${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
  if(ARG_LOCK)
    list(APPEND props RESOURCE_LOCK ${ARG_LOCK})
  endif()
  # One ctest test per list of sources keeps process start-up from dominating; the program's own
  # output names each sentence.
  add_test(NAME ${folder}.${name}
    COMMAND ${PROJECT_SOURCE_DIR}/tests/run_suites.sh $<TARGET_FILE:${target}> ${sources})
  set_tests_properties(${folder}.${name} PROPERTIES ${props})
endfunction()

# weft_script_test(label name COMMAND … [LOCK resource] [ALONE] [BUSY] [COST s] [TIMEOUT s] [FULL]):
# a test that is a script. FULL tests run only under `script/test --full` (ctest -C full). One that
# is ALONE polls on several processors, and would cost whatever runs beside it more time than it
# takes itself. A BUSY one has several processes that work, and takes two of the places that
# script/test has. COST is how long it takes, where that is much: the longest begin first.
function(weft_script_test label name)
  cmake_parse_arguments(ARG "FULL;BUSY;ALONE" "LOCK;TIMEOUT;COST" "COMMAND;LABELS" ${ARGN})
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
  if(ARG_ALONE)
    set_tests_properties(${label}.${name} PROPERTIES RESOURCE_LOCK cpu RUN_SERIAL TRUE)
  endif()
  if(ARG_BUSY)
    set_tests_properties(${label}.${name} PROPERTIES PROCESSORS 2)
  endif()
  if(ARG_COST)
    set_tests_properties(${label}.${name} PROPERTIES COST ${ARG_COST})
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
