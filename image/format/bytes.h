/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_BYTES_H
#define HONE_IMAGE_BYTES_H
/* Numbers in the bytes of a file, of any alignment: big-endian in qcow2 and
 * VHD, little-endian in VMDK, zip and the MBR. */
#include <endian.h>
#include <stdint.h>
#include <string.h>

#define IMAGE_NUMBER(order, bits)                                              \
	static inline uint##bits##_t image_##order##bits(                      \
		const unsigned char *at)                                       \
	{                                                                      \
		uint##bits##_t value;                                          \
		memcpy(&value, at, sizeof(value));                             \
		return order##bits##toh(value);                                \
	}                                                                      \
                                                                               \
	static inline void image_put_##order##bits(                            \
		unsigned char *to, uint##bits##_t value)                       \
	{                                                                      \
		value = hto##order##bits(value);                               \
		memcpy(to, &value, sizeof(value));                             \
	}
/* image_be16(), image_put_be32(), and so on */
IMAGE_NUMBER(be, 16)
IMAGE_NUMBER(be, 32)
IMAGE_NUMBER(be, 64)
/* image_le16(), image_put_le16(), and so on */
IMAGE_NUMBER(le, 16)
IMAGE_NUMBER(le, 32)
IMAGE_NUMBER(le, 64)
#undef IMAGE_NUMBER

#endif
