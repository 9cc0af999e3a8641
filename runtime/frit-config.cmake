# find_package(frit): what a program links to run .frit files.
#   frit::runtime  frit/Model.h: models that need no torch
#   frit::torch    frit/TorchModel.h: models that call operators of ATen; link ${TORCH_LIBRARIES} beside it (find_package(Torch))
get_filename_component(fritPrefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(fritLibraries "${fritPrefix}/lib")
# The Python package has frit::torch for several versions of torch; find_package(Torch) may come later.
find_file(fritTorch TorchConfigVersion.cmake PATHS "${Torch_DIR}" ${CMAKE_PREFIX_PATH} PATH_SUFFIXES Torch share/cmake/Torch NO_CACHE NO_DEFAULT_PATH)
if(fritTorch)
  file(STRINGS "${fritTorch}" fritTorch REGEX "PACKAGE_VERSION \"")
  string(REGEX MATCH "[0-9]+\\.[0-9]+" fritTorch "${fritTorch}")
  list(APPEND fritLibraries "${fritPrefix}/torch-${fritTorch}")
endif()
foreach(name runtime torch)
  find_file(fritLibrary libfrit_${name}.so PATHS ${fritLibraries} NO_CACHE NO_DEFAULT_PATH)
  if(NOT TARGET frit::${name} AND fritLibrary)
    add_library(frit::${name} SHARED IMPORTED)
    set_target_properties(frit::${name} PROPERTIES
      IMPORTED_LOCATION "${fritLibrary}"
      INTERFACE_INCLUDE_DIRECTORIES "${fritPrefix}/include"
      INTERFACE_COMPILE_FEATURES cxx_std_20)
  endif()
  unset(fritLibrary)
endforeach()
unset(fritTorch)
unset(fritLibraries)
unset(fritPrefix)
