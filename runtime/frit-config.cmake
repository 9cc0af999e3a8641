# find_package(frit): what a program links to run .frit files.
#   frit::runtime  frit/Model.h: models that need no torch
#   frit::torch    frit/TorchModel.h: models that call operators of ATen; link ${TORCH_LIBRARIES} beside it (find_package(Torch))
get_filename_component(fritPrefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
foreach(name runtime torch)
  if(NOT TARGET frit::${name} AND EXISTS "${fritPrefix}/lib/libfrit_${name}.so")
    add_library(frit::${name} SHARED IMPORTED)
    set_target_properties(frit::${name} PROPERTIES
      IMPORTED_LOCATION "${fritPrefix}/lib/libfrit_${name}.so"
      INTERFACE_INCLUDE_DIRECTORIES "${fritPrefix}/include"
      INTERFACE_COMPILE_FEATURES cxx_std_20)
  endif()
endforeach()
unset(fritPrefix)
