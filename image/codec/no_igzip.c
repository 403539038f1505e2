/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces igzip.c in a build without ISA-L. */
#include "codec/encoder.h"

const struct image_encoder *const image_encoder_igzip = NULL;
