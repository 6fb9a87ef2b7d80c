// Protocol Buffers: JSON documents as messages of the type google.protobuf.Struct, which are parsed from their binary
// form on an Arena, and serialized again. A new Arena for each message.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <toft.h>

#include <string>
#include <vector>

#include "driver.h"

using google::protobuf::Arena;
using google::protobuf::ArenaOptions;
using google::protobuf::Struct;

// ---- adapter: the Arena's blocks are taken from a Toft arena, which is reset when the Arena has ended ----

static toft_arena *blocks;
static ArenaOptions options;

static void *take_block(size_t size) { return toft_alloc(blocks, size); }
static void keep_block(void *, size_t) {}

static int adapt(const char *way) {
  options.block_alloc = take_block;
  options.block_dealloc = keep_block;
  blocks = toft_create();
  return blocks != nullptr && strcmp(way, "toft") == 0;
}

static void end_message() {
  if (blocks != nullptr) toft_reset(blocks);
}

// ---- end of the adapter ----

// The order of a map's entries is not specified: serialized by their keys.
static void serialize(const Struct &message, std::string &bytes) {
  bytes.clear();
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  if (!message.SerializeToCodedStream(&coded)) fail("a message cannot be serialized");
}

static std::vector<std::string> encoded;  // of each text

static void encode(struct text *texts, int count) {
  for (int i = 0; i < count; i++) {
    Struct message;
    auto json = google::protobuf::StringPiece(texts[i].bytes, texts[i].size);
    if (!google::protobuf::util::JsonStringToMessage(json, &message).ok()) fail(texts[i].path);
    encoded.emplace_back();
    serialize(message, encoded.back());
  }
}

static void play(struct text *, int) {
  static std::string again;
  for (const std::string &bytes : encoded) {
    {
      Arena arena(options);
      Struct *message = Arena::CreateMessage<Struct>(&arena);
      if (!message->ParseFromString(bytes)) fail("a message cannot be parsed");
      serialize(*message, again);
      output(again.data(), again.size());
    }
    end_message();
  }
}

int main(int argc, char **argv) { return drive(argc, argv, adapt, encode, play); }
