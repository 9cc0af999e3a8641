// Joins the PTX of kernels to the PTX of a graph.
#include "codegen/gpu/ptx/JoinPtx.h"

#include <gtest/gtest.h>

using namespace llvm;

static std::string text(StringRef version, StringRef target, StringRef body) {
  return ("//\n// Generated\n//\n\n.version " + version + "\n.target " + target +
          "\n.address_size 64\n\n" + body)
      .str();
}

static std::string join(ArrayRef<std::string> texts, std::string &joined) {
  SmallVector<StringRef> views(texts.begin(), texts.end());
  return mlir::frit::joinPtx(views, joined);
}

static constexpr const char *kShared = ".extern .shared .align 16 .b8 frit_shared[];\n";

TEST(JoinPtx, OneTextIsItself) {
  std::string joined,
      one = text("8.0", "sm_90", "\t// .globl a\n.visible .entry a()\n{\n\tret;\n\n}\n");
  EXPECT_EQ(join({one}, joined), "");
  EXPECT_EQ(joined, one);
  EXPECT_EQ(join({}, joined), "");
  EXPECT_EQ(joined, "");
}

TEST(JoinPtx, TheHighestVersionAndEachDeclarationOnce) {
  std::string joined;
  std::string a = text("8.0", "sm_90",
                       std::string("\t// .globl a\n") + kShared +
                           "\n.visible .entry a()\n{\n\t.extern_like;\n$L__BB0_1:\n\tret;\n}\n");
  std::string b = text("8.10", "sm_90", ".visible .entry b()\n{\n$L__BB0_1:\n\tret;\n}\n");
  std::string c =
      text("8.1", "sm_90", std::string(kShared) + ".visible .entry c()\n{\n\tret;\n}\n");
  EXPECT_EQ(join({a, b, c}, joined), "");
  EXPECT_EQ(joined,
            text("8.10", "sm_90", "").substr(0, text("8.10", "sm_90", "").size() - 1) + kShared +
                "\n// frit: another kernel\n\n\t// .globl a\n\n.visible .entry "
                "a()\n{\n\t.extern_like;\n$L__BB0_1:\n\tret;\n}\n"
                "\n// frit: another kernel\n\n.visible .entry b()\n{\n$L__BB0_1:\n\tret;\n}\n"
                "\n// frit: another kernel\n\n.visible .entry c()\n{\n\tret;\n}\n");
}

/// Everything else in a kernel's module follows its mark; before the first mark there are only
/// declarations.
TEST(JoinPtx, EachKernelStandsBehindAMarkWithAllThatIsItsOwn) {
  std::string joined, debug = "\t.file\t1 \"model.py\"\n",
                      table = ".global .align 4 .b8 a_table[4] = {1, 2, 3, 4};\n";
  std::string helper = ".func (.param .b32 r) a_helper()\n{\n\tret;\n}\n",
              entry = ".visible .entry a()\n{\n\tret;\n}\n";
  std::string own = helper + table + entry + debug;
  EXPECT_EQ(
      join({text("8.0", "sm_90", own),
            text("8.0", "sm_90", kShared + std::string(".visible .entry b()\n{\n\tret;\n}\n"))},
           joined),
      "");
  StringRef mark = mlir::frit::kPtxKernelMark;
  auto [head, kernels] = StringRef(joined).split(mark);
  auto [a, b] = kernels.split(mark);
  EXPECT_EQ(head, (StringRef(text("8.0", "sm_90", "")).drop_back() + kShared).str());
  EXPECT_EQ(a.trim(), StringRef(own).trim());
  EXPECT_EQ(b.trim(), ".visible .entry b()\n{\n\tret;\n}");
  EXPECT_FALSE(StringRef(text("8.0", "sm_90", own)).contains(mark)) << "one alone has none";
}

TEST(JoinPtx, WhatCannotStandInOneModuleIsRefused) {
  std::string joined;
  EXPECT_EQ(join({text("8.0", "sm_90", ""), text("8.0", "sm_80", "")}, joined).substr(0, 25),
            "PTX for different targets");
  std::string wide = ".extern .shared .align 16 .b8 frit_shared[];\n",
              narrow = ".extern .shared .align 4 .b8 frit_shared[];\n";
  EXPECT_EQ(join({text("8.0", "sm_90", wide), text("8.0", "sm_90", narrow)}, joined),
            "PTX declares 'frit_shared' in two ways: .extern .shared .align 16 .b8 frit_shared[]; "
            ".extern .shared .align 4 .b8 frit_shared[];");
  EXPECT_EQ(
      join({text("8.0", "sm_90", ".extern .func vprintf\n(\n\t.param .b64 p\n)\n;\n")}, joined)
          .substr(0, 31),
      "PTX needs what nothing defines:");
  for (StringRef broken :
       {".version 8.0\n", "\n.version 8\n.target sm_90\n.address_size 64\n",
        "\n.target sm_90\n.address_size 64\n",
        "\n.version 8.0\n.target sm_90\n.address_size 64\n.extern .shared x[]"}) {
    EXPECT_NE(join({broken.str()}, joined), "") << broken.str();
  }
}
