/* SPDX-License-Identifier: BSD-3-Clause */
/* In the place of igzip.c if ISA-L is not there. */
#include "codec/encoder.h"

const struct image_encoder *const image_encoder_igzip = NULL;
