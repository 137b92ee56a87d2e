# Flags on one INTERFACE target, and one function a kind of target.

find_package(PkgConfig REQUIRED)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3>=3.37) # STRICT tables
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp>=2.5)
pkg_check_modules(EVENT REQUIRED IMPORTED_TARGET libevent>=2.1)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.13)
pkg_check_modules(IDN2 REQUIRED IMPORTED_TARGET libidn2)
pkg_check_modules(NETTLE REQUIRED IMPORTED_TARGET nettle)
pkg_check_modules(CURSES REQUIRED IMPORTED_TARGET ncursesw)
pkg_check_modules(SYSTEMD IMPORTED_TARGET libsystemd>=246) # optional: sbx-sleep
pkg_check_modules(NOTIFY IMPORTED_TARGET libnotify>=0.7.9) # optional: sbx-notify
find_package(Threads REQUIRED)

add_library(sbx_flags INTERFACE)
target_compile_features(sbx_flags INTERFACE c_std_17)
target_compile_definitions(sbx_flags INTERFACE _GNU_SOURCE SBX_VERSION="${PROJECT_VERSION}")
target_compile_options(sbx_flags INTERFACE
  -Wall -Wextra
  -Wconversion                  # a length that loses its top bits is an attack
  -Wshadow -Wswitch-enum        # a new enumerator must be met everywhere it matters
  -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wvla -Wformat=2
  -fno-common
  "SHELL:-include ${CMAKE_SOURCE_DIR}/base/include/base/banned.h")
if(SBX_WERROR)
  target_compile_options(sbx_flags INTERFACE -Werror)
endif()
if(SBX_SANITIZE)
  target_compile_options(sbx_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(sbx_flags INTERFACE -fsanitize=address,undefined)
endif()
if(SBX_FUZZ)
  target_compile_options(sbx_flags INTERFACE
    -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1)
  target_link_options(sbx_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined)
endif()
if(SBX_HARDEN)
  target_compile_options(sbx_flags INTERFACE -fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fPIE)
  target_link_options(sbx_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()

# sbx_room(NAME SOURCES… USES targets…): a folder of the house. Its headers are include/NAME/*.h, and it sees only
# those of the rooms it names in USES, so that a forbidden include does not compile.
function(sbx_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES;PRIVATE_USES" ${ARGN})
  add_library(sbx_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(sbx_${name} PUBLIC include)
  target_link_libraries(sbx_${name} PUBLIC ${ROOM_USES} PRIVATE sbx_flags ${ROOM_PRIVATE_USES})
endfunction()

# sbx_part(TREE SOURCES… USES targets…): a folder of TREE (broker, runner) that is a room of its own, sbx_TREE_FOLDER. Others
# include its headers by the folder ("hold/held.h"), through a link that only those who name it in USES are given.
function(sbx_part tree)
  cmake_parse_arguments(PART "" "" "SOURCES;USES;PRIVATE_USES" ${ARGN})
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR}/${tree} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE / _ name ${folder})
  cmake_path(GET folder PARENT_PATH above)
  set(view ${CMAKE_BINARY_DIR}/rooms/${tree}_${name})
  file(MAKE_DIRECTORY ${view}/${above})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${view}/${folder} SYMBOLIC)
  add_library(sbx_${tree}_${name} STATIC ${PART_SOURCES})
  target_include_directories(sbx_${tree}_${name} PUBLIC ${view})
  target_link_libraries(sbx_${tree}_${name} PUBLIC ${PART_USES} PRIVATE sbx_flags ${PART_PRIVATE_USES})
endfunction()

# sbx_program(NAME DESTINATION dir SOURCES… USES…): a thin main on top of a room.
function(sbx_program name)
  cmake_parse_arguments(PROGRAM "" "DESTINATION" "SOURCES;USES" ${ARGN})
  add_executable(${name} ${PROGRAM_SOURCES})
  target_link_libraries(${name} PRIVATE sbx_flags ${PROGRAM_USES})
  if(SBX_HARDEN)
    target_link_options(${name} PRIVATE -pie)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  install(TARGETS ${name} DESTINATION ${PROGRAM_DESTINATION})
  set_property(GLOBAL APPEND PROPERTY SBX_AS_ROOT ${name})
endfunction()

# sbx_test_row(NAME ROW): of the table tests/costs; empty when the test isn't there.
function(sbx_test_row name row)
  get_property(read GLOBAL PROPERTY SBX_COSTS)
  if(NOT read)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/costs)
    file(STRINGS ${CMAKE_SOURCE_DIR}/tests/costs read REGEX "^[a-z]")
    set_property(GLOBAL PROPERTY SBX_COSTS "${read}")
  endif()
  string(REPLACE "." "\\." pattern ${name})
  list(FILTER read INCLUDE REGEX "^${pattern} ")
  set(${row} "${read}" PARENT_SCOPE)
endfunction()

# sbx_test_cost(NAME): what takes longest begins first, so that it isn't left alone at the end; the seconds are in tests/costs.
# A unit test computes, so that only as many run at once as there are processors (scripts/test says how many, in a resource file of
# ctest's); the end-to-end tests wait, and run beside them. So that the processors have both to do from the beginning to the end, the
# unit tests are first in line. One that waits, which the third column says, is as an end-to-end test; one that is for .ci/run says ci
# there.
function(sbx_test_cost name)
  sbx_test_row(${name} row)
  set(cost 1)
  if(row MATCHES " ([0-9]+)( waits| ci)?$")
    set(cost ${CMAKE_MATCH_1})
  endif()
  if(row MATCHES " ci$")
    set_property(TEST ${name} APPEND PROPERTY LABELS ci)
  endif()
  if(name MATCHES "^unit" AND NOT row MATCHES " waits$")
    math(EXPR cost "${cost} + 1000")
    set_tests_properties(${name} PROPERTIES RESOURCE_GROUPS processors:1)
  endif()
  set_tests_properties(${name} PROPERTIES COST ${cost})
endfunction()

# sbx_unit_test(NAME SOURCES… USES…): a cmocka program, label `unit`.
function(sbx_unit_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;USES" ${ARGN})
  add_executable(test_${name} ${TEST_SOURCES})
  target_link_libraries(test_${name} PRIVATE sbx_flags sbx_test_support ${TEST_USES} PkgConfig::CMOCKA)
  target_compile_definitions(test_${name} PRIVATE SBX_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data")
  add_test(NAME unit.${name} COMMAND test_${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 900
    ENVIRONMENT "ASAN_OPTIONS=allocator_may_return_null=1") # a test of exhaustion wants the NULL
  sbx_test_cost(unit.${name})
endfunction()

# sbx_tests_as_root(NAME…): unit tests that try more when they are root have the label `root`, too. Their programs and those of sbx are built
# by the target sbx_as_root.
function(sbx_tests_as_root)
  foreach(name ${ARGN})
    set_property(TEST unit.${name} APPEND PROPERTY LABELS root)
    set_property(GLOBAL APPEND PROPERTY SBX_AS_ROOT test_${name})
  endforeach()
endfunction()
