# weft_tests: every tests/core/**/*.cpp in one GoogleTest program, linked with libweft.

file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/core/*.cpp")
if(NOT test_sources)
  message(STATUS "tests/core has no sources: no core tests")
  return()
endif()
find_package(GTest REQUIRED)
include(GoogleTest)
add_executable(weft_tests ${test_sources})
target_include_directories(weft_tests PRIVATE "${PROJECT_SOURCE_DIR}/tests/core")
target_link_libraries(weft_tests PRIVATE weft weft_compile_options GTest::gtest GTest::gtest_main)
target_compile_definitions(weft_tests PRIVATE WEFT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
if(WEFT_PTXAS)
  target_compile_definitions(weft_tests PRIVATE WEFT_PTXAS="${WEFT_PTXAS}")
endif()
set_target_properties(weft_tests PROPERTIES BUILD_RPATH "${weft_library_dir}" INSTALL_RPATH "${weft_library_dir}")
if(TARGET weft_codegen)
  # Opened at run time by the tests that compile.
  add_dependencies(weft_tests weft_codegen)
endif()
gtest_discover_tests(weft_tests DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 120)

# The stand-in for NVIDIA's driver: built here so that warnings and clang-tidy see it; the Python tests build their own.
file(GLOB fake_driver_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fake_driver/*.cpp")
add_library(weft_fake_cuda SHARED ${fake_driver_sources})
target_include_directories(weft_fake_cuda PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
target_compile_features(weft_fake_cuda PRIVATE cxx_std_20)

# Likewise the stand-in for MACA's runtime.
file(GLOB fake_maca_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/maca/*.cpp")
add_library(weft_fake_maca SHARED ${fake_maca_sources} "${PROJECT_SOURCE_DIR}/tests/fake_driver/state.cpp"
                                  "${PROJECT_SOURCE_DIR}/src/runtime/cpu/fibres.cpp")
target_include_directories(weft_fake_maca PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
target_compile_features(weft_fake_maca PRIVATE cxx_std_20)
target_link_libraries(weft_fake_maca PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
