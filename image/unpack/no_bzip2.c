/* SPDX-License-Identifier: BSD-3-Clause */
/* A build without libbz2. */
#include "unpack/decoder.h"
#include "unpack/magic.h"

const struct image_decoder image_decoder_bzip2 = {.begins = image_begins_bzip2};
