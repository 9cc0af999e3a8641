#include "compiler/Cubins.h"

#include "runtime/artifact/GpuCode.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <system_error>

namespace frit {

std::string findPtxas() {
  if (const char *named = std::getenv("FRIT_PTXAS"); named && *named) {
    return llvm::sys::fs::can_execute(named) ? named : "";
  }
  if (auto found = llvm::sys::findProgramByName("ptxas")) {
    return *found;
  }
  const char *home = std::getenv("CUDA_HOME");
  for (const std::string &folder :
       {home && *home ? std::string(home) : std::string("/usr/local/cuda"),
        std::string("/usr/local/cuda")}) {
    if (auto found = llvm::sys::findProgramByName("ptxas", {folder + "/bin"})) {
      return *found;
    }
  }
  return "";
}

namespace {

/// What the text's `.target` names, as "sm_90a"; the architecture, if it names none.
std::string targetOf(llvm::StringRef text, unsigned arch) {
  llvm::StringRef rest = text.split(".target").second.ltrim();
  llvm::StringRef named = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
  return named.starts_with("sm_") ? named.str() : "sm_" + std::to_string(arch);
}

std::string readFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// ptxas at work on one part, in files of its own.
struct Job {
  const PtxPart *part;
  std::string source, cubin, log;
  llvm::sys::ProcessInfo process;
};

} // namespace

Cubins assemble(const format::GpuModuleT &ptx, const std::string &ptxas) {
  Cubins made;
  llvm::SmallString<128> folder;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("frit-cubins", folder)) {
    made.failure = "no temporary folder can be made: " + error.message();
    return made;
  }
  auto remove = llvm::make_scope_exit([&] { llvm::sys::fs::remove_directories(folder); });
  std::string text(ptx.bytes.begin(), ptx.bytes.end());
  text.resize(text.find_last_not_of('\0') + 1);
  std::vector<PtxPart> parts = splitPtx(text, llvm::hardware_concurrency().compute_thread_count());
  std::string target = targetOf(text, ptx.arch);
  std::vector<Job> jobs;
  for (const PtxPart &part : parts) {
    std::string base = (folder + "/" + std::to_string(jobs.size())).str();
    Job &job = jobs.emplace_back(Job{&part, base + ".ptx", base + ".cubin", base + ".log", {}});
    std::error_code error;
    llvm::raw_fd_ostream stream(job.source, error);
    stream << part.text;
    stream.close();
    if (error || stream.has_error()) {
      made.failure = job.source + " cannot be written";
      stream.clear_error();
      jobs.pop_back();
      break;
    }
    std::string architecture = "-arch=" + target;
    llvm::StringRef words[] = {ptxas, architecture, job.source, "-o", job.cubin};
    std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), llvm::StringRef(job.log),
                                                  llvm::StringRef(job.log)};
    std::string error2;
    bool failed = false;
    job.process =
        llvm::sys::ExecuteNoWait(ptxas, words, std::nullopt, redirects, 0, &error2, &failed);
    if (failed) {
      made.failure = ptxas + " cannot be run: " + error2;
      jobs.pop_back();
      break;
    }
  }
  for (Job &job : jobs) {
    std::string error;
    llvm::sys::ProcessInfo ended =
        llvm::sys::Wait(job.process, /*SecondsToWait=*/std::nullopt, &error);
    if (ended.ReturnCode != 0) {
      std::string said = readFile(job.log) + error;
      std::replace(said.begin(), said.end(), '\n', ' ');
      made.failure = ptxas + " refuses " + listed(job.part->entries) + ": " +
                     llvm::StringRef(said).trim().take_front(1000).str();
      continue;
    }
    std::string bytes = readFile(job.cubin);
    auto module = std::make_unique<format::GpuModuleT>();
    module->kind = format::GpuCodeKind::Cubin;
    module->arch = ptx.arch;
    module->entries = job.part->entries;
    module->bytes.assign(bytes.begin(), bytes.end());
    made.modules.push_back(std::move(module));
  }
  if (!made.failure.empty()) {
    made.modules.clear();
  }
  return made;
}

} // namespace frit
