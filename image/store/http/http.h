/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_HTTP_H
#define HONE_IMAGE_HTTP_H
/*
 * A store on a server, by libcurl: a producer of blocks (blocks/cache.h).
 *
 *   readers (any thread)             the store's thread
 *   blocks_want(): what is missing,  http_thread()
 *     and what comes next              thread.c: the multi interface
 *   fill.c: http_request()             transfer.c: one request and its answer
 *          |                           judge.c: what the answer means
 *          |                           lost.c: no answer, or a part of one
 *          |                                ^    |
 *          | struct http_transfer, queued   |    | bytes: http_fill()
 *          +--------------------------------+    v
 *                                   struct block
 *
 * The first request asks for the first block; its answer has the length and the
 * identity of the file, to which each later answer is compared.
 *
 * If the server has no ranges, or reports no length, the first answer has the
 * whole file. The blocks are then a sequence, and the request is paused while
 * no block waits for its bytes.
 *
 * After a failure the store stays failed: every read returns the first failure,
 * except of bytes of a sequence that came before.
 *
 * store.c opens the store. address.c, s3.c and trust.c parse what the user
 * gives, answer.c the header of an answer. peer.c refuses
 * redirects to private addresses. trace.c reports what happens.
 */
#include <curl/curl.h>
#include <sys/socket.h>
#include "blocks/cache.h"
#include "store/http/answer.h"

/*
 * libcurl, which is loaded by the first address: see loaded.h in image/.
 * libcurl.easy_init() calls curl_easy_init(). What is loaded may be newer than
 * the header.
 */
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

#define HTTP_TRANSFERS 6
/* Failures of one request, one after another, without a block in between. */
#define HTTP_TRIES 5
#define HTTP_REDIRECTS 10
/* Longest wait that a server can ask for by Retry-After, in seconds. */
#define HTTP_RETRY_AFTER 120

/* Of --cacert, with its content, and --capath. */
struct http_trust {
	char *file;
	char *pem;
	size_t length;
	char *directory;
};

struct http_target {
	/* without user, password and fragment */
	char *url;
	char *user;
	char *password;
	/* the body of a POST for the host of url; NULL: a GET */
	char *form;
	/* of s3:, NULL for other schemes */
	char *region;
	/* CURLOPT_AWS_SIGV4; user and password are then the keys. NULL: none */
	char *sigv4;
	/* for the host of url alone */
	struct curl_slist *headers;
	/* for other hosts */
	struct curl_slist *plain;
	struct http_trust trust;
	/* seconds without progress */
	long timeout;
	/* redirects lead to no private address */
	bool public_redirects;
	const struct image_trace *trace;
	/* no host is the user's: a server chose the address */
	bool foreign;
	/* the user's address has another scheme: s3:, or oci: of a token */
	bool derived;
	struct image_auth *auth;
};

enum http_verdict {
	HTTP_UNJUDGED,
	/* its bytes are those of the file */
	HTTP_TAKE,
	HTTP_REDIRECT,
	HTTP_RETRY,
	/* the registry wants another token; then as HTTP_RETRY */
	HTTP_RENEW,
	/* the error of the transfer is set */
	HTTP_FAIL
};

/* A range, and the request for what is missing of it. */
struct http_transfer {
	struct http *http;
	struct http_transfer *next;
	CURL *easy;
	unsigned number;
	uint64_t at;
	uint64_t end;
	/* the block of the last byte, ready at the end of the answer, or NULL
	 */
	struct block *last;
	struct http_answer answer;
	enum http_verdict verdict;
	uint64_t discarded;
	size_t header;
	/* bytes of a whole file that came with an answer before */
	uint64_t skip;
	char range[48];
	bool whole;
	/* NULL: that of http.url */
	char *url;
	/* the request goes to the host of the user's address */
	bool named;
	bool posts;
	/* the private address that a redirect led to, or "" */
	char refused_peer[64];
	unsigned redirects;
	/* failures since the byte `good` */
	unsigned tries;
	uint64_t good;
	unsigned serial;
	/* it is new, and no answer had the file since */
	bool renewed;
	/* how often the kept address had expired: the request begins with the
	 * user's address again, and the one that answers is kept */
	unsigned expired;
	/* not before, by the monotonic clock */
	uint64_t due_ms;
	char text[CURL_ERROR_SIZE];
	struct image_error err;
	int code;
};

struct http {
	struct image_blocks blocks;
	struct http_target target;
	/* the first read begins a sequence that is known to be long */
	bool whole;
	/* a digest shows whether all bytes came */
	bool expected;
	/* that the file has to have, or IMAGE_SIZE_UNKNOWN */
	uint64_t stated;

	/* of the thread alone */
	CURLM *multi;
	struct http_transfer *running[HTTP_TRANSFERS];
	/* address of the first answer, after redirects */
	char *url;
	/* the private address to which the host that the user named led last */
	struct sockaddr_storage named;
	struct http_answer first;

	pthread_t thread;
	/* The rest is under the lock of the blocks. */
	/* requests that wait, the next one first */
	struct http_transfer *queue;
	/* the server has no ranges: one request for the whole file, ... */
	bool streams;
	/* ... which waits for blocks, and may go on */
	bool paused;
	bool resume;
	bool open;
	bool stop;
};

bool http_request(
	struct image_blocks *blocks, uint64_t begin, uint64_t end, bool urgent);
/* With the lock: take the first blocks. Returns false without memory. */
bool http_fill_begin(struct http *http, uint64_t end);
/* Take bytes of a range, all of one block. Returns their number. */
size_t http_fill(
	struct http_transfer *transfer, const char *data, size_t length);
void http_fill_end(struct http_transfer *transfer);
/* Take bytes of the whole file. Returns false if no block waits. */
bool http_put(struct http *http, uint64_t at, const char *data, size_t length);

/* address.c: set *target, which http_target_free() frees, also on failure. */
int http_target_parse(struct http_target *target, const char *address,
	const char *name, const struct image_store_how *how,
	struct image_error *err);
bool http_append(struct curl_slist **list, const char *line);
void http_target_free(struct http_target *target);
/* Set the options that depend on the address, and `named` and `posts`. */
bool http_target_apply(const struct http_target *target, CURL *easy,
	struct http_transfer *transfer);
/* Returns why a redirect is refused, or NULL. */
const char *http_refuse_redirect(const char *from, const char *to);

/* trust.c: set *trust, which http_trust_free() frees, also on failure. */
int http_trust_parse(struct http_trust *trust,
	const struct image_network *network, struct image_error *err);
void http_trust_free(struct http_trust *trust);
CURLcode http_trust_apply(const struct http_trust *trust, CURL *easy);
/* Returns the file that the environment names in *name, or NULL. */
const char *http_trust_variable(const char **name);

/* peer.c: judge each address before a request is connected to it. */
CURLcode http_peer_apply(struct http_transfer *transfer);
/*
 * Returns whether a server at this address may be one that only this machine or
 * its network reaches: loopback, private, link-local, shared by a provider, or
 * for no host at all; of IPv6 also one that has such an address of IPv4 in it.
 * So is an address of another family, and one that is too short.
 */
bool http_is_private(const struct sockaddr *address, socklen_t length);

/* Returns whether both have the same host and port. */
bool http_is_same_peer(const struct sockaddr *a, const struct sockaddr *b);

/* s3.c: set url, keys and signature. */
int http_s3_parse(struct http_target *target, const char *address,
	const char *name, struct image_error *err);

/* transfer.c; for the thread, except http_transfer_new(). */
struct http_transfer *http_transfer_new(
	struct http *http, uint64_t at, uint64_t end);
void http_transfer_free(struct http_transfer *transfer);
/* Set up transfer->easy. Returns 0 or a negative errno. */
int http_transfer_begin(struct http_transfer *transfer);
/*
 * The request has ended. Returns true if the transfer is complete or has
 * failed, with transfer->code; false if it is to be begun again at due_ms.
 */
bool http_transfer_end(struct http_transfer *transfer, CURLcode result);
/* Set the error of a transfer. Returns HTTP_FAIL. */
__attribute__((format(printf, 3, 4))) enum http_verdict http_transfer_fail(
	struct http_transfer *transfer, int code, const char *format, ...);
const char *http_transfer_url(const struct http_transfer *transfer);
/* Plan another try after a failure. Returns false after too many. */
bool http_transfer_try_again(struct http_transfer *transfer, unsigned tries);

/* judge.c: the header of an answer has ended. */
enum http_verdict http_judge(struct http_transfer *transfer);
/* Returns false, with an error, if bytes of a body are not the file. */
bool http_judge_bytes(
	struct http_transfer *transfer, const char *data, size_t length);
/* Returns whether the same request may have another answer later. */
bool http_is_busy(unsigned status);
/* Returns the words of a status with a blank before them, or "". */
const char *http_reason(unsigned status);

/* lost.c: as http_transfer_end(), after a connection that was lost. */
bool http_end_lost(struct http_transfer *transfer, CURLcode result);
/* Returns a hint that a server may want TLS, or "". */
const char *http_way_with_tls(const struct http_transfer *transfer);

/* trace.c */
void http_trace_request(struct http_transfer *transfer);
void http_trace_answer(const struct http_transfer *transfer);
void http_trace_open(const struct http_transfer *transfer, uint64_t size);
void http_trace_end(
	const struct http_transfer *transfer, CURLcode result, bool complete);

/* thread.c */
void *http_thread(void *http);
/* Let the thread look at the queue. Returns false if it cannot be woken. */
bool http_wake(struct image_blocks *http);

#endif
