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
  const std::string usual = "/usr/local/cuda/bin",
                    named = home && *home ? std::string(home) + "/bin" : usual;
  auto found = llvm::sys::findProgramByName("ptxas", {named, usual});
  return found ? *found : "";
}

namespace {

/// The most cubins of a text. Not the number of processors, so that a file is the same wherever it
/// is made.
constexpr size_t kMostParts = 8;

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
  Job(const PtxPart &part, const std::string &base)
      : part(&part), source(base + ".ptx"), cubin(base + ".cubin"), log(base + ".log") {}

  /// Returns why ptxas does not run; empty if it does.
  std::string start(const std::string &ptxas, const std::string &target) {
    std::error_code error;
    llvm::raw_fd_ostream stream(source, error);
    stream << part->text;
    stream.close();
    if (error || stream.has_error()) {
      stream.clear_error();
      return source + " cannot be written";
    }
    std::string architecture = "-arch=" + target, why;
    llvm::StringRef words[] = {ptxas, architecture, source, "-o", cubin};
    std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), llvm::StringRef(log),
                                                  llvm::StringRef(log)};
    bool failed = false;
    process = llvm::sys::ExecuteNoWait(ptxas, words, std::nullopt, redirects, 0, &why, &failed);
    return failed ? ptxas + " cannot be run: " + why : "";
  }

  /// Returns why there is no cubin; empty if there is one.
  std::string wait(const std::string &ptxas) {
    std::string why;
    if (llvm::sys::Wait(process, /*SecondsToWait=*/std::nullopt, &why).ReturnCode == 0) {
      return "";
    }
    std::string said = readFile(log) + why;
    std::replace(said.begin(), said.end(), '\n', ' ');
    return ptxas + " refuses " + listed(part->entries) + ": " +
           llvm::StringRef(said).trim().take_front(1000).str();
  }

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
  auto remove = llvm::make_scope_exit([&] { (void)llvm::sys::fs::remove_directories(folder); });
  std::string text(ptx.bytes.begin(), ptx.bytes.end());
  text.resize(text.find_last_not_of('\0') + 1);
  std::vector<PtxPart> parts = splitPtx(text, kMostParts);
  std::string target = targetOf(text, ptx.arch);
  size_t processors = std::max(llvm::hardware_concurrency().compute_thread_count(), 1u);
  std::vector<Job> jobs;
  size_t ended = 0;
  while (ended < jobs.size() || (made.failure.empty() && jobs.size() < parts.size())) {
    bool hasMore = made.failure.empty() && jobs.size() < parts.size();
    if (hasMore && jobs.size() - ended < processors) {
      Job job(parts[jobs.size()], (folder + "/" + std::to_string(jobs.size())).str());
      made.failure = job.start(ptxas, target);
      if (made.failure.empty()) {
        jobs.push_back(std::move(job));
      }
      continue;
    }
    Job &job = jobs[ended++];
    if (std::string failure = job.wait(ptxas); !failure.empty()) {
      made.failure = std::move(failure);
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
