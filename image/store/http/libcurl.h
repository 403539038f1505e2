/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_HTTP_LIBCURL_H
#define HONE_IMAGE_HTTP_LIBCURL_H
/*
 * libcurl, which is loaded by the first address: see loaded.h in image/. The
 * functions are called by their own names.
 */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

struct http_curl {
#define IMAGE_LOADED(name) __typeof__(name) *name;
#include "store/http/libcurl.def"
#undef IMAGE_LOADED
};
extern struct http_curl http_curl;

#define curl_easy_cleanup(...) (http_curl.curl_easy_cleanup(__VA_ARGS__))
#define curl_easy_getinfo(...) (http_curl.curl_easy_getinfo(__VA_ARGS__))
#define curl_easy_init(...) (http_curl.curl_easy_init(__VA_ARGS__))
#define curl_easy_pause(...) (http_curl.curl_easy_pause(__VA_ARGS__))
#define curl_easy_reset(...) (http_curl.curl_easy_reset(__VA_ARGS__))
#define curl_easy_setopt(...) (http_curl.curl_easy_setopt(__VA_ARGS__))
#define curl_easy_strerror(...) (http_curl.curl_easy_strerror(__VA_ARGS__))
#define curl_free(...) (http_curl.curl_free(__VA_ARGS__))
#define curl_global_init(...) (http_curl.curl_global_init(__VA_ARGS__))
#define curl_multi_add_handle(...)                                             \
	(http_curl.curl_multi_add_handle(__VA_ARGS__))
#define curl_multi_cleanup(...) (http_curl.curl_multi_cleanup(__VA_ARGS__))
#define curl_multi_info_read(...) (http_curl.curl_multi_info_read(__VA_ARGS__))
#define curl_multi_init(...) (http_curl.curl_multi_init(__VA_ARGS__))
#define curl_multi_perform(...) (http_curl.curl_multi_perform(__VA_ARGS__))
#define curl_multi_poll(...) (http_curl.curl_multi_poll(__VA_ARGS__))
#define curl_multi_remove_handle(...)                                          \
	(http_curl.curl_multi_remove_handle(__VA_ARGS__))
#define curl_multi_strerror(...) (http_curl.curl_multi_strerror(__VA_ARGS__))
#define curl_multi_wakeup(...) (http_curl.curl_multi_wakeup(__VA_ARGS__))
#define curl_slist_append(...) (http_curl.curl_slist_append(__VA_ARGS__))
#define curl_slist_free_all(...) (http_curl.curl_slist_free_all(__VA_ARGS__))
#define curl_url(...) (http_curl.curl_url(__VA_ARGS__))
#define curl_url_cleanup(...) (http_curl.curl_url_cleanup(__VA_ARGS__))
#define curl_url_get(...) (http_curl.curl_url_get(__VA_ARGS__))
#define curl_url_set(...) (http_curl.curl_url_set(__VA_ARGS__))
#define curl_url_strerror(...) (http_curl.curl_url_strerror(__VA_ARGS__))
#define curl_version_info(...) (http_curl.curl_version_info(__VA_ARGS__))

#endif
