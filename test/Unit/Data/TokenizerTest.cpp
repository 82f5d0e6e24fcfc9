//===- TokenizerTest.cpp - tests of runtime/Data/{PreTokens,Tokenizer} ----===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Data/Tokenizer.h"

#include "runtime/Core/Files.h"
#include "runtime/Core/Sha256.h"
#include "runtime/Data/PreTokens.h"
#include "test/Unit/Core/TestSupport.h"

#include <random>
#include <sstream>

using namespace steep;

static std::vector<std::string> pieces(std::string_view text) {
  std::vector<std::string> result;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = pieceEnd(text, begin);
    result.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return result;
}

using Pieces = std::vector<std::string>;

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

TEST(PreTokens, CutsWordsNumbersAndOthers) {
  EXPECT_EQ(pieces("Hello world"), (Pieces{"Hello", " world"}));
  EXPECT_EQ(pieces("x1 23y, z!?"),
            (Pieces{"x", "1", " 23", "y", ",", " z", "!?"}));
  EXPECT_EQ(pieces(" <|endoftext|>"), (Pieces{" <|", "endoftext", "|>"}));
  // Letters and numbers of all scripts; a combining mark is neither.
  EXPECT_EQ(pieces("\u00e9\u4f60\u05e9"), (Pieces{"\u00e9\u4f60\u05e9"}));
  EXPECT_EQ(pieces("\u2160\u00b2\u0661"), (Pieces{"\u2160\u00b2\u0661"}));
  EXPECT_EQ(pieces("e\u0301x"), (Pieces{"e", "\u0301", "x"}));
}

TEST(PreTokens, KnowsContractions) {
  EXPECT_EQ(pieces("we've"), (Pieces{"we", "'ve"}));
  EXPECT_EQ(pieces("'sam'llama"), (Pieces{"'s", "am", "'ll", "ama"}));
  EXPECT_EQ(pieces("it'd I'm you're"),
            (Pieces{"it", "'d", " I", "'m", " you", "'re"}));
  // Lower case only; after a space the space comes first.
  EXPECT_EQ(pieces("DON'T"), (Pieces{"DON", "'", "T"}));
  EXPECT_EQ(pieces("x 's"), (Pieces{"x", " '", "s"}));
  EXPECT_EQ(pieces("'"), (Pieces{"'"}));
  EXPECT_EQ(pieces("'l"), (Pieces{"'", "l"}));
}

TEST(PreTokens, LeavesOneSpaceToTheNextPiece) {
  EXPECT_EQ(pieces("a  b"), (Pieces{"a", " ", " b"}));
  EXPECT_EQ(pieces("a\n\nb"), (Pieces{"a", "\n", "\n", "b"}));
  EXPECT_EQ(pieces("a\n b"), (Pieces{"a", "\n", " b"}));
  EXPECT_EQ(pieces("a \nb"), (Pieces{"a", " ", "\n", "b"}));
  EXPECT_EQ(pieces("a  \n "), (Pieces{"a", "  \n "}));
  EXPECT_EQ(pieces(" "), (Pieces{" "}));
  EXPECT_EQ(pieces("\tb"), (Pieces{"\t", "b"}));
}

TEST(PreTokens, KnowsUnicodesWhiteSpace) {
  for (const char *space : {"\u0085", "\u00a0", "\u1680", "\u2000", "\u200a",
                            "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"}) {
    std::string two = std::string(space) + space;
    EXPECT_EQ(pieces("a" + two + "b"), (Pieces{"a", space, space, "b"}));
    EXPECT_EQ(pieces(two), (Pieces{two}));
  }
  // What some libraries take for white space, and Unicode does not.
  for (const char *other : {"\x1c", "\x1f", "\u180e", "\u200b", "\ufeff"})
    EXPECT_EQ(pieces(std::string(other) + " a"), (Pieces{other, " a"}));
}

TEST(PreTokens, TakesBytesThatAreNotUtf8AsOthers) {
  EXPECT_EQ(pieces("a\xff\xfe!b"), (Pieces{"a", "\xff\xfe!", "b"}));
  // Cut off, overlong, a surrogate, past the last code point.
  EXPECT_EQ(pieces("\xe4\xbd"), (Pieces{"\xe4\xbd"}));
  EXPECT_EQ(pieces("x\xc1\x81x"), (Pieces{"x", "\xc1\x81", "x"}));
  EXPECT_EQ(pieces("x\xed\xa0\x80x"), (Pieces{"x", "\xed\xa0\x80", "x"}));
  EXPECT_EQ(pieces("x\xf4\x90\x80\x80x"),
            (Pieces{"x", "\xf4\x90\x80\x80", "x"}));
  EXPECT_EQ(pieces(" \xff"), (Pieces{" \xff"}));
}

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

static Tokenizer small() {
  return Tokenizer::load(STEEP_TEST_DATA "/first1500.tiktoken");
}

namespace {
struct Vector {
  std::string text;
  std::vector<uint16_t> few, all;
};
} // namespace

static std::vector<uint16_t> parseIds(const std::string &list) {
  std::vector<uint16_t> ids;
  std::istringstream in(list);
  for (std::string id; std::getline(in, id, ',');)
    ids.push_back(static_cast<uint16_t>(std::stoi(id)));
  return ids;
}

/// What tiktoken gives (Inputs/make_vectors.py).
static std::vector<Vector> vectors() {
  std::vector<Vector> result;
  std::istringstream lines(readFile(STEEP_TEST_DATA "/vectors.txt"));
  for (std::string hex, few, all; std::getline(lines, hex, '\t') &&
                                  std::getline(lines, few, '\t') &&
                                  std::getline(lines, all);) {
    Vector vector{"", parseIds(few), parseIds(all)};
    for (std::size_t i = 0; i < hex.size(); i += 2)
      vector.text +=
          static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    result.push_back(std::move(vector));
  }
  return result;
}

TEST(Tokenizer, GivesTheIdsOfTiktoken) {
  Tokenizer tokenizer = small();
  EXPECT_EQ(tokenizer.vocabulary(), 1501);
  EXPECT_EQ(tokenizer.endOfText(), 1500);
  ASSERT_EQ(vectors().size(), 60u);
  for (int repeat = 0; repeat < 2; ++repeat) // the second time from the cache
    for (const Vector &vector : vectors()) {
      EXPECT_EQ(tokenizer.encode(vector.text), vector.few) << vector.text;
      EXPECT_EQ(tokenizer.decode(vector.few), vector.text);
    }
}

TEST(Tokenizer, EncodesEveryTokenToItself) {
  Tokenizer tokenizer = small();
  int single = 0;
  for (int id = 0; id < 1500; ++id) {
    std::string bytes(tokenizer.bytes(static_cast<uint16_t>(id)));
    std::vector<uint16_t> ids = tokenizer.encode(bytes);
    EXPECT_EQ(tokenizer.decode(ids), bytes);
    if (pieces(bytes).size() != 1)
      continue; // such as "  ", which no text gives in one piece
    ++single;
    EXPECT_EQ(ids, (std::vector<uint16_t>{static_cast<uint16_t>(id)})) << bytes;
  }
  EXPECT_GT(single, 1450);
}

TEST(Tokenizer, DecodesToTheVeryBytes) {
  Tokenizer tokenizer = small();
  std::mt19937 random(1);
  for (std::size_t size : {0, 1, 2, 17, 300, 5000}) {
    std::string any, words;
    for (std::size_t i = 0; i < size; ++i) {
      any += static_cast<char>(random());
      words += "  \n\tetaoin\xc3\xa9'"[random() % 13];
    }
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(any)), any);
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(words)), words);
  }
  EXPECT_EQ(tokenizer.decode({1500}), "");
  EXPECT_ERROR(tokenizer.decode({1501}),
               "token 1501 is not in the vocabulary of 1501");
}

TEST(Tokenizer, TakesALongPieceInItsStride) {
  Tokenizer tokenizer = small();
  std::string piece(300000, 'a');
  piece += std::string(300000, 'b');
  std::vector<uint16_t> ids = tokenizer.encode(piece);
  EXPECT_EQ(tokenizer.decode(ids), piece);
}

TEST(Tokenizer, JoinsTheLeftmostOfEqualPairs) {
  // Base64 of each byte, then "aa" (YWE=) and "aaa" (YWFh).
  std::string text;
  for (int byte = 0; byte < 256; ++byte) {
    const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                         "0123456789+/";
    text += digits[byte >> 2];
    text += digits[(byte & 3) << 4];
    text += "== " + std::to_string(byte) + "\n";
  }
  Tokenizer tokenizer = Tokenizer::parse(text + "YWE= 256\nYWFh 257\n", "r");
  EXPECT_EQ(tokenizer.encode("aa"), (std::vector<uint16_t>{256}));
  EXPECT_EQ(tokenizer.encode("aaa"), (std::vector<uint16_t>{257}));
  EXPECT_EQ(tokenizer.encode("aaaa"), (std::vector<uint16_t>{256, 256}));
  EXPECT_EQ(tokenizer.encode("aaaaa"), (std::vector<uint16_t>{256, 257}));
  EXPECT_EQ(tokenizer.endOfText(), 258);
}

//===----------------------------------------------------------------------===//
// Ranks files
//===----------------------------------------------------------------------===//

TEST(Tokenizer, NamesTheLineThatIsWrong) {
  std::string good = readFile(STEEP_TEST_DATA "/first1500.tiktoken");
  auto refuse = [&](const std::string &text, const char *message) {
    EXPECT_ERROR(Tokenizer::parse(text, "ranks"), message);
  };
  refuse("", "'ranks': byte 0x00 has no rank");
  refuse("IQ==\n", "'ranks':1: 'IQ==' is no \"BASE64 RANK\"");
  refuse(good + "\nIQ== 1500\n", "'ranks':1501: '' is no");
  refuse(good + "I! 1500\n", "'ranks':1501: 'I!' is not base64");
  refuse(good + "IQ= 1500\n", "'IQ=' is not base64");
  refuse(good + "I=Q= 1500\n", "'I=Q=' is not base64");
  refuse(good + "IR== 1500\n", "'IR==' is not base64"); // spare bits
  refuse(good + "==== 1500\n", "'====' is not base64");
  refuse(good + " 1500\n", "'' is not base64");
  refuse(good + "IQ== \n", "rank '' is not a number");
  refuse(good + "IQ== x\n", "rank 'x' is not a number from 0 to 65534");
  refuse(good + "IQ== -1\n", "rank '-1' is not a number");
  refuse(good + "IQ== 1500\r\n", "rank '1500\\x0d' is not a number");
  refuse(good + "IQ== 65535\n", "rank '65535' is not a number from 0 to");
  refuse(good + "IQ== 99999999999999999999\n", "is not a number");
  refuse(good + "IQ== 1500 \n", "rank '1500 ' is not a number");
  refuse(good + "ISEhIQ== 7\n", "'ranks':1501: rank 7 stands twice");
  refuse(good + "ISEhIQ== 1501\n", "'ranks': rank 1500 is missing");
  refuse(good + "IQ== 1500\n", "'ranks': ranks 0 and 1500 have the same bytes");
  refuse("IQ== 0\n", "'ranks': byte 0x00 has no rank");
  EXPECT_ERROR(Tokenizer::load("/nonexistent"), "No such file");
}

//===----------------------------------------------------------------------===//
// The whole of GPT-2's ranks
//===----------------------------------------------------------------------===//

static std::string gpt2Ranks() {
  const char *path = std::getenv("STEEP_GPT2_RANKS");
  return path ? path : STEEP_TEST_GPT2_RANKS;
}

TEST(TokenizerGPT2, GivesTheIdsOfTiktoken) {
  if (!std::filesystem::exists(gpt2Ranks()))
    GTEST_SKIP() << "there is no " << gpt2Ranks();
  EXPECT_EQ(sha256(readFile(gpt2Ranks())), Tokenizer::gpt2Digest);
  Tokenizer tokenizer = Tokenizer::load(gpt2Ranks());
  EXPECT_EQ(tokenizer.endOfText(), 50256);
  for (const Vector &vector : vectors())
    EXPECT_EQ(tokenizer.encode(vector.text), vector.all) << vector.text;
  for (int id = 0; id < 50256; ++id) {
    std::string bytes(tokenizer.bytes(static_cast<uint16_t>(id)));
    std::vector<uint16_t> ids = tokenizer.encode(bytes);
    ASSERT_EQ(tokenizer.decode(ids), bytes);
    if (pieces(bytes).size() == 1) {
      ASSERT_EQ(ids, (std::vector<uint16_t>{static_cast<uint16_t>(id)}));
    }
  }
}
