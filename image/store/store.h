/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_STORE_H
#define HONE_IMAGE_STORE_H
/*
 * The lowest layer: a store of bytes, such as a file or a block device. A
 * format on a store does not deal with descriptors, alignment, the page cache
 * or durability.
 *
 *	address.c	opens an address: a path, or a scheme of schemes.def
 *	open.c		opens a path; path.c: finds where a path leads
 *	file.c		a file or a device, writeback and the page cache;
 *			holes.c: its holes; zero.c: zeros in place
 *	hold.c		holds the first and last MiB of a target back
 *	stream.c	bytes that come once; ../blocks/: they as a store
 *	pipe.c		stdout as a store
 *	http/, nbd/	servers
 *	oci/		registries of containers, by http/
 *	store.c		what all of them share; lines about requests to servers;
 *			the ends of what passed
 *	../host/	questions to the system: in use, locks, sizes
 */
#include "error.h"

/* Alignment of buffers for direct I/O. */
#define IMAGE_ALIGN 4096

/* Bytes at the begin: enough for each magic of a packing, of an archive and of
 * foreign.def, and for every probe(). */
#define IMAGE_HEAD_SIZE 512

/* The smallest range that image_store_release() can release. */
#define IMAGE_SECTOR 512

struct image_store;

enum image_layer {
	IMAGE_LAYER_NONE,
	/* an archive, whose image is below disk/ */
	IMAGE_LAYER_ARCHIVE,
	/* the image, which is no archive, whatever it begins with */
	IMAGE_LAYER_DISK
};

/*
 * The operations of a kind of store. A member is NULL only if its comment
 * allows NULL.
 *
 * Every function may be called by several threads at once, except open and
 * close. Offsets plus lengths stay at or below INT64_MAX: callers check sums of
 * values that come from a file.
 */
struct image_store_ops {
	/* Read exactly length bytes. The end of the store inside the range is
	 * an error. */
	int (*read)(struct image_store *store, uint64_t offset, void *buf,
		size_t length, struct image_error *err);

	/* Write exactly length bytes; a file grows if needed. NULL if the store
	 * is for reading only. */
	int (*write)(struct image_store *store, uint64_t offset,
		const void *buf, size_t length, struct image_error *err);

	/*
	 * Make a range read as zeros, without allocated space if possible. The
	 * range may be the whole store. NULL as for write.
	 */
	int (*zero)(struct image_store *store, uint64_t offset, uint64_t length,
		struct image_error *err);

	/* Make the store this long; not called if the size is fixed. NULL as
	 * for write. */
	int (*resize)(struct image_store *store, uint64_t size,
		struct image_error *err);

	/*
	 * Describe the range that begins at offset, which is below the size.
	 * Sets *length to 1 to limit bytes of one kind. Sets *hole to true if
	 * the bytes are known to read as zeros. NULL: all is data.
	 */
	int (*extent)(struct image_store *store, uint64_t offset,
		uint64_t limit, uint64_t *length, bool *hole,
		struct image_error *err);

	/*
	 * Set *reached to length, or to less if the store ends before offset +
	 * length; 0 if it ends at or before offset. A stream is read up to
	 * there. NULL: size is the end.
	 */
	int (*reach)(struct image_store *store, uint64_t offset, size_t length,
		uint64_t *reached, struct image_error *err);

	/*
	 * The range will not be read again. The sectors of which only a part is
	 * in the range are not released. NULL: no effect.
	 */
	void (*release)(
		struct image_store *store, uint64_t offset, uint64_t length);

	/*
	 * Share length bytes of another store: both stores use the same blocks
	 * until one of them is written. Returns -EOPNOTSUPP, without a change,
	 * if the blocks cannot be shared. NULL: never.
	 */
	int (*share)(struct image_store *store, uint64_t offset,
		struct image_store *from, uint64_t from_offset, uint64_t length,
		struct image_error *err);

	/* Make all written bytes durable. NULL as for write. */
	int (*flush)(struct image_store *store, struct image_error *err);

	/* Returns -EIO if a change of the store since open was detected:
	 * another length, or another modification time. NULL: no change, or
	 * one that each read detects. */
	int (*unchanged)(struct image_store *store, struct image_error *err);

	/* Set *usage to the sizes of the store in the file system. Not called
	 * if there is a store below. NULL: its size. */
	int (*usage)(const struct image_store *store, struct image_usage *usage,
		struct image_error *err);

	void (*close)(struct image_store *store);
};

/* Set by the kind of store when it is opened; constant after that. */
struct image_store {
	const struct image_store_ops *ops;
	/* the store from whose bytes these are made; NULL: none */
	struct image_store *below;
	char *name;
	/* bytes at open; IMAGE_SIZE_UNKNOWN if only the last byte tells it */
	uint64_t size;
	/* image_store_reach() fails if the store has more bytes; 0: no limit */
	uint64_t max_size;
	/* bytes come or go once, in order: reads and writes at ascending
	 * offsets are fast, and others may be refused */
	bool forward;
	/* the bytes are those that were packed in the file of this name, so
	 * many times; 0: it is not packed */
	unsigned unpacked;
	/* its packings, from the outside in */
	enum image_packing packings[IMAGE_ROUNDS];
	/* a block device, or an export of a server: a guest wrote the first
	 * bytes */
	bool device;
	/* the bytes come from a server: the next read may find others */
	bool served;
	/* each read goes to the device, past the page cache */
	bool direct;
	/* a page, a text or a part may have come in place of the file */
	bool may_be_error_page;
	/* The bytes have a digest, which their end verifies, if this is not
	 * IMAGE_LAYER_NONE. Of the lowest store. */
	enum image_layer layer;
	/* of the lowest store, of a layer; otherwise NULL */
	const struct image_registry *registry;
	/* of an archive that has them; NULL: none */
	const char *member;
	/* for writing: what was never written reads as zeros */
	bool zeros;
	/* for writing: the size is given, and no write is past it */
	bool fixed;
	/* for writing: what lies behind the image stays as it was */
	bool keep_rest;
	/* true if writes of several threads are faster than those of one
	 * thread; false for buffered writes to one file, which wait for each
	 * other */
	bool parallel_writes;
	unsigned char head[IMAGE_HEAD_SIZE];
	size_t head_length;
	bool has_head;
	/* calls of read and write that are under way at once if the store is
	 * used best; 0: no matter */
	unsigned requests;
};

/*
 * A registry, and who answers its 401. Each store that uses it counts; so does
 * who created it. Stores use it one after the other.
 */
struct image_auth {
	unsigned users;
	struct image_registry registry;
	char *token;
	const char *user;
	const char *password;
	unsigned serial;
	/* Get another token, as the server asks in its WWW-Authenticate. */
	int (*renew)(struct image_auth *auth, const char *challenges,
		struct image_error *err);
	void (*free)(struct image_auth *auth);
};

void image_auth_drop(struct image_auth *auth);

struct image_request {
	const char *name;
	const char *accept;
	/* a file of another size is refused; IMAGE_SIZE_UNKNOWN: any size */
	uint64_t size;
	struct image_auth *auth;
	const char *user;
	const char *password;
	/* a secret that is sent by POST, to the host of the address alone;
	 * NULL: a GET */
	const char *form;
	/* a server chose the address, as that of a redirect */
	bool foreign;
};

struct image_store_how {
	bool force_share;
	bool direct;
	bool drop_cache;
	/* for an address: open it for writing, too */
	bool writable;
	/* for a target: write into a regular file that exists */
	bool in_place;
	/* image_store_use() takes the descriptor over, also on failure */
	bool takes_fd;
	bool allow_disguised;
	bool inspect;
	bool whole;
	/* the caller compares the digest of all bytes */
	bool expected;
	uint64_t memory;
	uint64_t max_size;
	const char *member;
	/* of HTTP; NULL: none. Used by open alone. */
	const struct image_request *request;
	struct image_network network;
};

static inline struct image_store_how
image_store_how(const struct image_open *how)
{
	return (struct image_store_how){
		.force_share = how->force_share,
		.direct = how->direct,
		.drop_cache = how->drop_cache,
		.inspect = how->inspect,
		.whole = how->whole,
		.expected = how->expect != NULL,
		.memory = how->memory,
		.max_size = how->max_size,
		.member = how->member,
		.network = how->network,
	};
}

/*
 * Open a regular file or block device for reading. If `below` is not NULL, the
 * resolved path must be a regular file below that directory. Refuses every
 * other kind of file without opening it.
 */
int image_store_open(const char *path, const char *below,
	const struct image_store_how *how, struct image_store **out,
	struct image_error *err);

/*
 * Open what stdin is: a file or device that is read from its beginning as
 * image_store_open() opens it, anything else as a stream.
 */
int image_store_open_stdin(const struct image_store_how *how,
	struct image_store **out, struct image_error *err);

/* The descriptor is a copy. */
int image_store_open_stdout(const struct image_store_how *how,
	struct image_store **out, struct image_error *err);

/*
 * Use fd, an empty regular file that is open for reading and writing. The
 * caller keeps fd, except with how->takes_fd.
 */
int image_store_use(int fd, const char *name, const struct image_store_how *how,
	struct image_store **out, struct image_error *err);

/* Report a line, which must not begin with an address, without the secrets of
 * addresses in it. NULL is allowed. */
__attribute__((format(printf, 2, 3))) void image_trace(
	const struct image_trace *trace, const char *format, ...);

/* As the members of ops; NULL means what they say. */
int image_store_read(struct image_store *store, uint64_t offset, void *buf,
	size_t length, struct image_error *err);
int image_store_write(struct image_store *store, uint64_t offset,
	const void *buf, size_t length, struct image_error *err);
int image_store_extent(struct image_store *store, uint64_t offset,
	uint64_t limit, uint64_t *length, bool *hole, struct image_error *err);
int image_store_reach(struct image_store *store, uint64_t offset, size_t length,
	uint64_t *reached, struct image_error *err);
/*
 * Read a stream from `at` to its end, and set its size. What lies behind `keep`
 * is released, but for the last bytes.
 */
int image_store_find_end(struct image_store *store, uint64_t at, uint64_t keep,
	struct image_error *err);
/*
 * Read store->head and set store->head_length, which is less if the store is
 * shorter. The bytes are read once. For one thread, while the store is opened.
 */
int image_store_head(struct image_store *store, struct image_error *err);
int image_store_unchanged(struct image_store *store, struct image_error *err);
/* Returns true if the descriptor is open on the file or device of the bytes, or
 * if one is a loop device of the other. */
bool image_store_is(const struct image_store *store, int fd);
/* Returns the descriptor of the file or device of the bytes; -1: none. */
int image_store_fd(const struct image_store *store);
typedef bool image_store_test(const struct image_store *store, void *opaque);
void image_store_release(
	struct image_store *store, uint64_t offset, uint64_t length);

/* Returns the lowest store, such as the packed file of an archive. */
struct image_store *image_store_origin(const struct image_store *store);

/*
 * Called after a failure. Damage of a file that has changed since it was opened
 * is not proven: the message is that of the change instead.
 */
void image_store_settle(struct image_store *store, struct image_error *err);

/* Returns true if both are open on the same file or device, or if one is a loop
 * device of the other. */
bool image_store_same(const struct image_store *a, const struct image_store *b);

/*
 * The first and the last bytes of a disk that passes once. Programs detect the
 * format of a raw disk by them.
 */

#define IMAGE_ENDS ((size_t)IMAGE_HEAD_SIZE)

/* Initialise it with {0}. */
struct image_ends {
	/* bytes that passed */
	uint64_t position;
	/* the first ones, and the last ones: byte n is tail[n % IMAGE_ENDS] */
	unsigned char head[IMAGE_ENDS];
	unsigned char tail[IMAGE_ENDS];
};

/* The next bytes pass. NULL: zeros. */
void image_ends_pass(
	struct image_ends *ends, const unsigned char *bytes, uint64_t length);

/* Of the first or last IMAGE_ENDS bytes. What did not pass is zero. */
void image_ends_read(const struct image_ends *ends, uint64_t offset, void *buf,
	size_t length);

#endif
