/* SPDX-License-Identifier: BSD-3-Clause */
/* A build without liblzma. */
#include "unpack/decoder.h"
#include "unpack/magic.h"

const struct image_decoder image_decoder_xz = {.begins = image_begins_xz};
