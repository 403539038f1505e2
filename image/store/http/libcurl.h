/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_HTTP_LIBCURL_H
#define HONE_IMAGE_HTTP_LIBCURL_H
/*
 * libcurl, which is loaded by the first address: see loaded.h in image/.
 * libcurl.easy_init() calls curl_easy_init().
 */
#include <curl/curl.h>

/* What is loaded may be newer than the header. */
#if LIBCURL_VERSION_NUM < 0x080600
#define CURLE_TOO_LARGE ((CURLcode)100)
#endif

struct image_libcurl {
#define IMAGE_LOADED(prefix, name) __typeof__(prefix##name) *name;
#include "store/http/libcurl.def"
#undef IMAGE_LOADED
};
/* Set when an address is opened; constant after that. */
extern struct image_libcurl libcurl;

#endif
