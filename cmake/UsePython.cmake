# What is found through the Python interpreter: torch, and the CUDA pieces that PyPI carries. The package file of torch
# drags in languages and flags that are not ours, so its headers and libraries are named directly.
#   frit_torch         headers and libraries of libtorch (ATen, c10)
#   frit_torch_python  the same with Python.h and libtorch_python, for the binding
# What is built against torch is built for that of FRIT_PYTHON. A package may have it for others too, which FRIT_MORE_TORCH names: their
# targets end with -<minor version> and are built by the name frit_more_torch only (scripts/wheel).
set(defaultPython python3)
foreach(candidate $ENV{VIRTUAL_ENV}/bin/python ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  if(EXISTS ${candidate})
    set(defaultPython ${candidate})
  endif()
endforeach()
if(Python_EXECUTABLE) # a build of the package names the interpreter it builds for
  set(defaultPython ${Python_EXECUTABLE})
endif()
find_program(FRIT_PYTHON NAMES ${defaultPython} DOC "Python interpreter with torch installed" REQUIRED)

# With python/ on PYTHONPATH the tree is as good as an installed package: torch finds the backend by this entry point.
file(WRITE ${PROJECT_SOURCE_DIR}/python/frit.egg-info/PKG-INFO
     "Metadata-Version: 2.1\nName: frit\nVersion: ${PROJECT_VERSION}\n")
file(WRITE ${PROJECT_SOURCE_DIR}/python/frit.egg-info/entry_points.txt
     "[torch_dynamo_backends]\nfrit = frit.backend:frit\n")

if(FRIT_BUILD_TORCH)
  execute_process(COMMAND ${FRIT_PYTHON} -c [[
import importlib.util, os, sysconfig
spec = importlib.util.find_spec('torch')
print(os.path.dirname(spec.origin) if spec else '', sysconfig.get_path('include'),
      sysconfig.get_config_var('EXT_SUFFIX'), sep=';')]]
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  list(GET found 0 FRIT_TORCH_ROOT)
  list(GET found 1 FRIT_PYTHON_INCLUDE)
  list(GET found 2 FRIT_PYTHON_SUFFIX)
  if(NOT FRIT_TORCH_ROOT)
    message(FATAL_ERROR "${FRIT_PYTHON} has no torch: pip install torch==2.13.0, name another interpreter with "
                        "-DFRIT_PYTHON=..., or configure with -DFRIT_BUILD_TORCH=OFF")
  endif()
  set(FRIT_MORE_TORCH "" CACHE STRING "Folders of the package torch in other versions, for a package of frit that serves them too")
  add_custom_target(frit_more_torch)

  # frit_for_each_torch(<function>): calls function(suffix root minor) with the end of the names of targets, the folder of the package
  # torch and its minor version.
  function(frit_for_each_torch command)
    foreach(root IN LISTS FRIT_TORCH_ROOT FRIT_MORE_TORCH)
      file(STRINGS ${root}/version.py version REGEX "^__version__")
      string(REGEX MATCH "[0-9]+\\.[0-9]+" minor "${version}")
      set(suffix "-${minor}")
      if(root STREQUAL FRIT_TORCH_ROOT)
        set(suffix "")
      endif()
      cmake_language(CALL ${command} "${suffix}" "${root}" "${minor}")
    endforeach()
  endfunction()

  # frit_install_for_torch(<target> <suffix> <minor>): puts a target into the package's folder for this torch.
  function(frit_install_for_torch target suffix minor)
    if(suffix)
      set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/torch${suffix} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/torch${suffix})
      add_dependencies(frit_more_torch ${target})
      install(TARGETS ${target} DESTINATION frit/torch-${minor} COMPONENT package_more_torch EXCLUDE_FROM_ALL)
    else()
      install(TARGETS ${target} DESTINATION frit/torch-${minor} COMPONENT package)
    endif()
  endfunction()

  function(frit_use_torch suffix root minor)
    add_library(frit_torch${suffix} INTERFACE)
    target_include_directories(frit_torch${suffix} SYSTEM INTERFACE ${root}/include ${root}/include/torch/csrc/api/include)
    target_link_directories(frit_torch${suffix} INTERFACE ${root}/lib)
    target_link_libraries(frit_torch${suffix} INTERFACE torch torch_cpu c10)
    add_library(frit_torch_python${suffix} INTERFACE)
    target_include_directories(frit_torch_python${suffix} SYSTEM INTERFACE ${FRIT_PYTHON_INCLUDE})
    target_link_libraries(frit_torch_python${suffix} INTERFACE frit_torch${suffix} torch_python)
  endfunction()
  frit_for_each_torch(frit_use_torch)
endif()

# Four things of the CUDA toolkit, each optional: FRIT_CUDA_INCLUDE (cuda.h), FRIT_LIBDEVICE, FRIT_PTXAS and
# FRIT_NVJITLINK, from an installed toolkit, else from the nvidia-* wheels beside the interpreter.
execute_process(COMMAND ${FRIT_PYTHON} -c "import sysconfig; print(sysconfig.get_path('purelib'))"
  OUTPUT_VARIABLE sitePackages OUTPUT_STRIP_TRAILING_WHITESPACE)
file(GLOB cudaRoots $ENV{CUDA_HOME} /usr/local/cuda /usr/local/cuda-* /usr/lib/cuda
     ${sitePackages}/nvidia/cu* ${sitePackages}/nvidia/cuda_* ${sitePackages}/nvidia/nv*)
find_path(FRIT_CUDA_INCLUDE cuda.h PATHS ${cudaRoots} PATH_SUFFIXES include NO_DEFAULT_PATH)
find_file(FRIT_LIBDEVICE libdevice.10.bc PATHS ${cudaRoots} PATH_SUFFIXES nvvm/libdevice libdevice NO_DEFAULT_PATH)
find_program(FRIT_PTXAS ptxas PATHS ${cudaRoots} PATH_SUFFIXES bin)
find_library(FRIT_NVJITLINK NAMES nvJitLink libnvJitLink.so.13 libnvJitLink.so.12
             PATHS ${cudaRoots} PATH_SUFFIXES lib64 lib NO_DEFAULT_PATH)
