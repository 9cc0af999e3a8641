// Tests the forms of lines in the text table.
#include "ir/AtenSchemas.h"

#include "gtest/gtest.h"

using namespace mlir::frit;

namespace {

TEST(AtenSchemas, ArgumentsHaveTypesAndDefaults) {
  auto schema = AtenSchema::lookup("aten.add.Tensor");
  ASSERT_TRUE(schema);
  ASSERT_EQ(schema->arguments.size(), 3u);
  EXPECT_EQ(schema->arguments[0].name, "self");
  EXPECT_EQ(schema->arguments[0].type, "Tensor");
  EXPECT_FALSE(schema->arguments[0].defaultValue);
  EXPECT_FALSE(schema->arguments[1].keywordOnly);
  EXPECT_EQ(schema->arguments[2].name, "alpha");
  EXPECT_EQ(schema->arguments[2].defaultValue, "1");
  EXPECT_TRUE(schema->arguments[2].keywordOnly);
  ASSERT_EQ(schema->returns.size(), 1u);
  EXPECT_EQ(schema->returns[0].type, "Tensor");
  EXPECT_TRUE(schema->effects.isPure());
}

TEST(AtenSchemas, ListsAndOptionals) {
  auto conv = AtenSchema::lookup("aten.conv2d.default");
  ASSERT_TRUE(conv);
  EXPECT_TRUE(conv->arguments[2].isOptional());
  EXPECT_EQ(conv->arguments[3].type, "SymInt[2]");
  EXPECT_TRUE(conv->arguments[3].isList());
  EXPECT_EQ(conv->arguments[3].getElementType(), "SymInt");
  EXPECT_EQ(conv->arguments[3].defaultValue, "[1, 1]");
  EXPECT_EQ(conv->arguments[6].name, "groups");
  auto index = AtenSchema::lookup("aten.index.Tensor");
  ASSERT_TRUE(index);
  EXPECT_EQ(index->arguments[1].type, "Tensor?[]");
  EXPECT_EQ(index->arguments[1].getElementType(), "Tensor");
}

TEST(AtenSchemas, Aliases) {
  auto split = AtenSchema::lookup("aten.split.Tensor");
  ASSERT_TRUE(split);
  EXPECT_EQ(split->arguments[0].alias, "a");
  EXPECT_EQ(split->arguments[0].type, "Tensor");
  EXPECT_EQ(split->returns[0].type, "Tensor[]");
  EXPECT_EQ(split->returns[0].alias, "a");
  EXPECT_TRUE(split->effects.view);
  auto add = AtenSchema::lookup("aten._foreach_add_.List");
  ASSERT_TRUE(add);
  EXPECT_EQ(add->arguments[0].type, "Tensor[]");
  EXPECT_TRUE(add->arguments[0].isWrite);
  EXPECT_TRUE(add->returns.empty());
  auto max = AtenSchema::lookup("aten.max.dim");
  ASSERT_TRUE(max);
  EXPECT_EQ(max->returns.size(), 2u);
}

TEST(AtenSchemas, Effects) {
  auto effects = [](const char *name) { return AtenSchema::lookupEffects(name); };
  EXPECT_TRUE(effects("aten.relu.default").isPure());
  EXPECT_TRUE(effects("aten.view.default").isPure());
  EXPECT_TRUE(effects("aten.sym_size.int").isPure());
  EXPECT_TRUE(effects("aten.rand.default").random);
  EXPECT_TRUE(effects("aten.native_dropout.default").random);
  EXPECT_TRUE(effects("aten.add_.Tensor").mutates);
  EXPECT_TRUE(effects("aten.batch_norm.default").ordered);
  EXPECT_TRUE(effects("aten._assert_scalar.default").ordered);
  EXPECT_TRUE(effects("_c10d_functional.all_reduce.default").ordered);
  EXPECT_TRUE(effects("mylib.op.default").ordered);
  EXPECT_FALSE(AtenSchema::lookup("mylib.op.default"));
  // The first and last entries of the table, and names beyond them.
  EXPECT_TRUE(AtenSchema::lookup("_c10d_functional.all_gather_into_tensor.default"));
  EXPECT_FALSE(AtenSchema::lookup(""));
  EXPECT_FALSE(AtenSchema::lookup("zzz"));
}

} // namespace
