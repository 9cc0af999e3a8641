# The project's three functions. A room is one static library with explicit links, so a forbidden edge fails to link;
# everything else in the CMakeLists of a room is plain CMake.

# frit_join_sources(<target> source ...): with FRIT_UNITY six files of the target are one translation unit, so names of a room's files
#   must not clash. A file that opens a namespace whose names mean something else in other files is a unit of its own.
function(frit_join_sources target)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${FRIT_UNITY} UNITY_BUILD_BATCH_SIZE 6 UNITY_BUILD_CODE_AFTER_INCLUDE "#undef DEBUG_TYPE")
  foreach(source IN LISTS ARGN)
    if(NOT IS_ABSOLUTE ${source})
      set(source ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    endif()
    if(source MATCHES "^${PROJECT_SOURCE_DIR}/")
      file(STRINGS ${source} opened REGEX "^using namespace (llvm|format|frit::format);" LIMIT_COUNT 1)
      if(opened)
        set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      endif()
    endif()
  endforeach()
endfunction()

# frit_add_room(<target> [MLIR] SOURCES a.cpp ... [LINK lib ...] [DEPENDS tablegen-target ...])
#   MLIR: sees the MLIR headers, compiled with the shared precompiled header and without exceptions.
function(frit_add_room target)
  cmake_parse_arguments(ROOM "MLIR" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  if(ROOM_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "frit_add_room(${target}): unknown words: ${ROOM_UNPARSED_ARGUMENTS}")
  endif()
  add_library(${target} STATIC ${ROOM_SOURCES})
  frit_join_sources(${target} ${ROOM_SOURCES})
  target_link_libraries(${target} PUBLIC ${ROOM_LINK})
  if(ROOM_MLIR)
    frit_use_mlir(${target})
  endif()
  if(ROOM_DEPENDS)
    add_dependencies(${target} ${ROOM_DEPENDS})
  endif()
endfunction()

# frit_tablegen(<target> <file.td> <generator flags> <output> [<generator flags> <output> ...])
#   One target for all outputs of one file. A flag list of several words is one quoted argument:
#     frit_tablegen(FritOpsIncGen FritOps.td "-gen-op-decls" FritOps.h.inc "-gen-op-defs" FritOps.cpp.inc)
#   Outputs lie in the binary directory, included as "ir/FritOps.h.inc".
function(frit_tablegen target td)
  set(outputs)
  set(arguments ${ARGN})
  while(arguments)
    list(POP_FRONT arguments flags output)
    separate_arguments(flags UNIX_COMMAND "${flags}")
    set(out ${CMAKE_CURRENT_BINARY_DIR}/${output})
    add_custom_command(OUTPUT ${out}
      COMMAND ${FRIT_MLIR_TBLGEN} ${flags} -I ${PROJECT_SOURCE_DIR} -I ${FRIT_MLIR_INCLUDE} -d ${out}.d
              --write-if-changed ${CMAKE_CURRENT_SOURCE_DIR}/${td} -o ${out}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${td}
      DEPFILE ${out}.d
      COMMENT "tablegen ${output}" VERBATIM)
    list(APPEND outputs ${out})
  endwhile()
  add_custom_target(${target} DEPENDS ${outputs})
endfunction()

# frit_flatbuffers(<target> <schema.fbs>)
#   Interface library with <room>/<schema>_generated.h in the binary directory and the FlatBuffers headers.
function(frit_flatbuffers target schema)
  find_program(FRIT_FLATC flatc REQUIRED)
  get_filename_component(name ${schema} NAME_WE)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name}_generated.h)
  add_custom_command(OUTPUT ${out}
    COMMAND ${FRIT_FLATC} --cpp --cpp-std c++17 --scoped-enums --gen-object-api
            -o ${CMAKE_CURRENT_BINARY_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${schema}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${schema} VERBATIM)
  add_custom_target(${target}Gen DEPENDS ${out})
  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}Gen)
endfunction()
