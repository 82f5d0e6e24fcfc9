//===- SafetensorsTest.cpp - tests of runtime/Core/Safetensors ------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Safetensors.h"

#include "runtime/Core/Files.h"
#include "test/Unit/Core/TestSupport.h"

#include <cstring>

using namespace steep;
using steep::test::TemporaryFolder;

/// A file of the given header and that many bytes of data.
static std::string fileBytes(const std::string &header, std::size_t dataBytes,
                             uint64_t claimed = 0) {
  uint64_t length = claimed ? claimed : header.size();
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += static_cast<char>(length >> (8 * i));
  bytes += header;
  for (std::size_t i = 0; i < dataBytes; ++i)
    bytes += static_cast<char>(i);
  return bytes;
}

static std::string entry(const std::string &dtype, const std::string &shape,
                         const std::string &offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape +
         R"(,"data_offsets":)" + offsets + "}";
}

//===----------------------------------------------------------------------===//
// What is right
//===----------------------------------------------------------------------===//

TEST(Safetensors, ReadsWhatItWrites) {
  TemporaryFolder folder;
  Tensor a(DType::F32, {2, 3}), b(DType::U8, {3}), c(DType::F64, {});
  Tensor none(DType::I64, {0, 5});
  for (int i = 0; i < 6; ++i)
    a.f32()[i] = 0.1f * static_cast<float>(i);
  *c.f64() = -1.5;
  std::memcpy(b.data(), "xyz", 3);
  writeSafetensors(folder / "x",
                   {{"b", b}, {"a", a}, {"c \"\n", c}, {"n", none}},
                   {{"kind", "test"}, {"empty", ""}});
  EXPECT_EQ(folder.entries(), 1u);

  SafetensorsFile file = SafetensorsFile::open(folder / "x");
  EXPECT_EQ(file.entries().size(), 4u);
  EXPECT_EQ(file.metadataAt("kind"), "test");
  EXPECT_EQ(file.metadataAt("empty"), "");
  EXPECT_TRUE(file.contains("a"));
  EXPECT_FALSE(file.contains("z"));
  Tensor loaded = file.load("a");
  EXPECT_EQ(loaded.shape(), a.shape());
  EXPECT_EQ(std::memcmp(loaded.data(), a.data(), a.bytes()), 0);
  EXPECT_EQ(std::memcmp(file.load("b").data(), "xyz", 3), 0);
  EXPECT_EQ(*file.load("c \"\n").f64(), -1.5);
  EXPECT_EQ(file.load("n").count(), 0);
  EXPECT_ERROR(file.load("z"), "it has no tensor 'z'");
  EXPECT_ERROR(file.metadataAt("z"), "its metadata has no 'z'");
}

TEST(Safetensors, LaysTensorsOutByAlignmentThenName) {
  TemporaryFolder folder;
  writeSafetensors(folder / "x", {{"u", Tensor(DType::U8, {1})},
                                  {"y", Tensor(DType::F32, {1})},
                                  {"d", Tensor(DType::F64, {1})},
                                  {"b", Tensor(DType::F32, {1})}});
  SafetensorsFile file = SafetensorsFile::open(folder / "x");
  EXPECT_EQ(file.entries().at("d").begin, 0u);
  EXPECT_EQ(file.entries().at("b").begin, 8u);
  EXPECT_EQ(file.entries().at("y").begin, 12u);
  EXPECT_EQ(file.entries().at("u").begin, 16u);
  // The data starts at a multiple of eight bytes.
  EXPECT_EQ((readFile(folder / "x").size() - 17) % 8, 0u);
}

TEST(Safetensors, AcceptsEveryFormTheFormatAllows) {
  TemporaryFolder folder;
  auto open = [&](const std::string &header, std::size_t data) {
    writeFile(folder / "x", fileBytes(header, data));
    return SafetensorsFile::open(folder / "x");
  };
  EXPECT_EQ(open("{}", 0).entries().size(), 0u);
  EXPECT_EQ(open("{}      ", 0).entries().size(), 0u);
  EXPECT_EQ(open(R"({"__metadata__":{}})", 0).metadata().size(), 0u);
  // Not in the order of the data, keys in any order, an empty tensor between.
  auto file = open(R"({"b":)" + entry("U8", "[2]", "[3,5]") + R"(,"e":)" +
                       entry("F32", "[0]", "[3,3]") +
                       R"(,"a":{"data_offsets":[0,3],"shape":[3,1],)"
                       R"("dtype":"I8"}})",
                   5);
  EXPECT_EQ(static_cast<char *>(file.load("b").data())[0], 3);
  EXPECT_EQ(file.load("a").shape(), (std::vector<int64_t>{3, 1}));
  for (const char *dtype : {"BOOL", "F8_E4M3", "BF16", "I64", "C64"})
    EXPECT_EQ(open(R"({"a":)" + entry(dtype, "[0]", "[0,0]") + "}", 0)
                  .load("a")
                  .count(),
              0);
}

//===----------------------------------------------------------------------===//
// What is wrong
//===----------------------------------------------------------------------===//

namespace {
struct Malformed {
  const char *name;
  std::string bytes;
  const char *message;
};

std::string one(const std::string &tensor, std::size_t data = 4) {
  return fileBytes(R"({"a":)" + tensor + "}", data);
}

std::string repeated(const std::string &text, int times) {
  std::string result;
  while (times--)
    result += text;
  return result;
}

std::vector<Malformed> malformedFiles() {
  std::string good = entry("F32", "[1]", "[0,4]");
  std::string deep(100000, '[');
  return {
      {"Empty", "", "it has 0 bytes, too few"},
      {"SevenBytes", "1234567", "it has 7 bytes, too few"},
      {"LengthOnly", fileBytes("", 0), "does not begin with '{'"},
      {"LengthPastEnd", fileBytes("{}", 0, 3),
       "claims 3 bytes, but only 2 bytes follow"},
      {"LengthWraps", fileBytes("{}", 0, UINT64_MAX - 7),
       "claims 18446744073709551608 bytes, and at most 100000000"},
      {"LengthOverCap", fileBytes("{}", 0, 100'000'001),
       "claims 100000001 bytes, and at most 100000000 are allowed"},
      {"LeadingSpace", fileBytes(" {}", 0), "does not begin with '{'"},
      {"ByteOrderMark", fileBytes("\xef\xbb\xbf{}", 0),
       "does not begin with '{'"},
      {"Truncated", fileBytes(R"({"a":{"dtype")", 0), "not valid JSON at byte"},
      {"Trailing", fileBytes("{}x", 0), "not valid JSON at byte 3"},
      {"TrailingObject", fileBytes("{}{}", 0), "not valid JSON at byte 3"},
      {"NotUtf8", fileBytes("{\"\xff\":1}", 0), "not valid JSON at byte"},
      {"EntryIsNumber", fileBytes(R"({"a":1})", 0),
       "entry 'a' is the number 1, but an object is expected"},
      {"EntryIsNull", fileBytes(R"({"a":null})", 0), "entry 'a' is null"},
      {"DeepArray", fileBytes(R"({"a":)" + deep, 0),
       "entry 'a' is an array, but an object is expected"},
      {"DeepObject", one(R"({"dtype":{"x":{}}})"),
       "tensor 'a': its 'dtype' is an object, but a string is expected"},
      {"DuplicateTensor",
       fileBytes(R"({"a":)" + good + R"(,"a":)" + good + "}", 4),
       "entry 'a' stands twice"},
      {"DuplicateEscaped",
       fileBytes(R"({"a":)" + good + R"(,"\u0061":)" + good + "}", 4),
       "entry 'a' stands twice"},
      {"DuplicateMetadata",
       fileBytes(R"({"__metadata__":{},"__metadata__":{}})", 0),
       "entry '__metadata__' stands twice"},
      {"DuplicateMetadataKey",
       fileBytes(R"({"__metadata__":{"k":"1","k":"2"}})", 0),
       "metadata 'k' stands twice"},
      {"MetadataNumber", fileBytes(R"({"__metadata__":{"k":1}})", 0),
       "metadata 'k' is the number 1, but a string is expected"},
      {"MetadataNested", fileBytes(R"({"__metadata__":{"k":{}}})", 0),
       "metadata 'k' is an object, but a string is expected"},
      {"MetadataArray", fileBytes(R"({"__metadata__":[]})", 0),
       "entry '__metadata__' is an array"},
      {"DuplicateField",
       one(R"({"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]})"),
       "tensor 'a': its 'dtype' stands twice"},
      {"DuplicateShape",
       one(R"({"shape":[1],"shape":[1],"dtype":"F32","data_offsets":[0,4]})"),
       "its 'shape' stands twice"},
      {"UnknownField",
       one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1})"),
       "tensor 'a': it has an unknown key 'x'"},
      {"NoDtype", one(R"({"shape":[1],"data_offsets":[0,4]})"),
       "tensor 'a': it has no dtype"},
      {"NoShape", one(R"({"dtype":"F32","data_offsets":[0,4]})"),
       "tensor 'a': it has no shape"},
      {"NoOffsets", one(R"({"dtype":"F32","shape":[1]})"),
       "tensor 'a': it has no data_offsets"},
      {"UnknownDtype", one(entry("F31", "[1]", "[0,4]")),
       "tensor 'a': its dtype 'F31' is not known"},
      {"SubByteDtype", one(entry("F4", "[8]", "[0,4]")),
       "its dtype 'F4' is not known"},
      {"NegativeSize", one(entry("F32", "[-1]", "[0,4]")),
       "its shape holds the number -1"},
      {"FractionalSize", one(entry("F32", "[1.0]", "[0,4]")),
       "its shape holds the number 1.0"},
      {"HugeSize", one(entry("F32", "[9223372036854775808]", "[0,4]")),
       "its shape holds the number 9223372036854775808"},
      {"ProductWrapsToZero",
       one(entry("F32", "[4294967296,4294967296]", "[0,0]"), 0),
       "its shape [4294967296, 4294967296] is too large"},
      {"BytesWrapToZero",
       one(entry("F32", "[4611686018427387904]", "[0,0]"), 0), "is too large"},
      {"SizeOfManyDigits",
       one(entry("F32", "[1" + std::string(300, '1') + "]", "[0,4]")),
       "its shape holds the number"},
      {"RankTooLarge",
       one(entry("F32", "[1" + repeated(",1", 64) + "]", "[0,4]")),
       "its shape has more than 64 sizes"},
      {"OneOffset", one(entry("F32", "[1]", "[0]")),
       "its data_offsets hold 1 numbers, but two are expected"},
      {"ThreeOffsets", one(entry("F32", "[1]", "[0,4,4]")),
       "its data_offsets hold more than two numbers"},
      {"NegativeOffset", one(entry("F32", "[1]", "[-4,0]")),
       "its data_offsets hold the number -4"},
      {"BeginAfterEnd", one(entry("F32", "[1]", "[4,0]")),
       "its data begins at byte 4, after its end at byte 0"},
      {"SpanTooShort", one(entry("F32", "[2]", "[0,4]")),
       "its data has 4 bytes, but F32 of shape [2] need 8"},
      {"SpanTooLong", one(entry("F32", "[1]", "[0,8]"), 8),
       "its data has 8 bytes, but F32 of shape [1] need 4"},
      {"PastEndOfFile", one(entry("F32", "[2]", "[0,8]"), 4),
       "its tensors have 8 bytes of data, but 4 bytes follow"},
      {"UnusedTail", one(good, 5),
       "its tensors have 4 bytes of data, but 5 bytes follow"},
      {"DataWithoutTensors", fileBytes("{}", 1),
       "its tensors have 0 bytes of data, but 1 bytes follow"},
      {"HoleAtStart", one(entry("F32", "[1]", "[4,8]"), 8),
       "tensor 'a' begins at byte 4 of the data, where 0 is expected"},
      {"Hole",
       fileBytes(R"({"a":)" + good + R"(,"b":)" + entry("U8", "[1]", "[5,6]") +
                     "}",
                 6),
       "tensor 'b' begins at byte 5 of the data, where 4 is expected"},
      {"Overlap",
       fileBytes(R"({"a":)" + good + R"(,"b":)" + entry("U8", "[3]", "[3,6]") +
                     "}",
                 6),
       "tensor 'b' begins at byte 3 of the data, where 4 is expected"},
      {"EmptyInsideOther",
       fileBytes(R"({"a":)" + good + R"(,"b":)" + entry("U8", "[0]", "[2,2]") +
                     "}",
                 4),
       "tensor 'b' begins at byte 2"},
      {"NewlineInName", fileBytes(R"({"a\nb":1})", 0), R"(entry 'a\nb' is)"},
  };
}

class MalformedSafetensors : public ::testing::TestWithParam<Malformed> {};
} // namespace

TEST_P(MalformedSafetensors, IsRefused) {
  TemporaryFolder folder;
  test::writeQuickly(folder / "bad.safetensors", GetParam().bytes);
  std::string message = test::messageOf(
      [&] { SafetensorsFile::open(folder / "bad.safetensors"); });
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
  EXPECT_NE(message.find("bad.safetensors"), std::string::npos) << message;
  EXPECT_LT(message.size(), 700u);
}

INSTANTIATE_TEST_SUITE_P(, MalformedSafetensors,
                         ::testing::ValuesIn(malformedFiles()),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

TEST(Safetensors, SaysWhyItCannotOpen) {
  TemporaryFolder folder;
  EXPECT_ERROR(SafetensorsFile::open(folder / "none"), "No such file");
  EXPECT_ERROR(SafetensorsFile::open(folder.folder().string()),
               "not a regular file");
}

TEST(Safetensors, NoticesAFileThatShrinks) {
  TemporaryFolder folder;
  writeSafetensors(folder / "x", {{"a", Tensor(DType::F32, {100})}});
  SafetensorsFile file = SafetensorsFile::open(folder / "x");
  std::filesystem::resize_file(folder / "x", 200);
  EXPECT_ERROR(file.load("a"), "it became shorter");
}

TEST(Safetensors, WritesNothingWhereTheInputIsBad) {
  TemporaryFolder folder;
  Tensor t(DType::F32, {1});
  EXPECT_ERROR(writeSafetensors(folder / "x", {{"a", t}, {"a", t}}),
               "two tensors are called 'a'");
  EXPECT_ERROR(writeSafetensors(folder / "x", {{"a", Tensor()}}),
               "tensor 'a' is empty");
  EXPECT_ERROR(writeSafetensors(folder / "x", {{"__metadata__", t}}),
               "is reserved");
  EXPECT_ERROR(writeSafetensors(folder / "x", {{"\xff", t}}), "is not UTF-8");
  EXPECT_ERROR(writeSafetensors(folder / "x", {{"a", t}}, {{"k", "\xff"}}),
               "is not UTF-8");
  EXPECT_EQ(folder.entries(), 0u);
}

/// Every header that differs from a good one in one byte is read or refused
/// with an Error, and never crashes (the sanitizer builds look on).
TEST(Safetensors, SurvivesOneByteChanges) {
  TemporaryFolder folder;
  writeSafetensors(
      folder / "x",
      {{"a", Tensor(DType::F32, {2, 1})}, {"b", Tensor(DType::U8, {3})}},
      {{"k", "v"}});
  std::string good = readFile(folder / "x");
  std::size_t refused = 0, tried = 0;
  for (std::size_t i = 0; i + 11 < good.size(); ++i)
    for (char c : {'\0', '0', '9', '"', '{', '}', '[', ']', ',', '\xff'}) {
      std::string bad = good;
      bad[i] = c;
      test::writeQuickly(folder / "y", bad);
      ++tried;
      try {
        SafetensorsFile file = SafetensorsFile::open(folder / "y");
        for (const auto &item : file.entries())
          file.load(item.first);
      } catch (const Error &) {
        ++refused;
      }
    }
  EXPECT_GT(refused, tried / 2);
}
