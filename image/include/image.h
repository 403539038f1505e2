/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_H
#define HONE_IMAGE_H
/*
 * Disk images: open, copy, compare, map, describe.
 *
 * This is the one header of image/ that others may include. No function prints
 * or exits. A call that can fail returns a negative errno and sets the message
 * in a struct image_error.
 *
 * A source is an image opened for reading. A sink is a new image that is being
 * written. Both are made of a format (image/format/) on a store of bytes
 * (image/store/). Functions that visit a whole image use the pipeline
 * (image/pipeline/). docs/design/architecture.md lists the other folders.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct image_source;
struct image_sink;
struct image_store;
struct image_verdict;

#define IMAGE_NAME_MAX 1024
/* Bytes of "sha512:" and its digits, and of a platform. */
#define IMAGE_DIGEST_TEXT 160
#define IMAGE_PLATFORM_TEXT 256

/* Why a call failed. */
struct image_error {
	/* the file name as the user or the image gave it; "" if unknown */
	char file[IMAGE_NAME_MAX];
	/* one message with field and value, without the file name */
	char text[512];
	/* a network or a time-out is the reason: the same call may succeed
	 * later */
	bool again;
	/* the image is not what the caller expects or accepts:
	 * image_open.expect, image_open.untrusted */
	bool refused;
	/* the bytes that were read are damaged: cut short, or with a checksum
	 * or a structure that is wrong */
	bool damaged;
};

/*
 * Set the message about the named file ("" or NULL: no file), and err->again if
 * code is a failure of a network. Returns code, a negative errno. A store that
 * knows more about the failure sets err->again afterwards.
 */
__attribute__((format(printf, 4, 5))) int image_fail(struct image_error *err,
	const char *file, int code, const char *format, ...);

/* Returns one if n is 1, otherwise several. For messages. */
static inline const char *
image_plural(uint64_t n, const char *one, const char *several)
{
	return n == 1 ? one : several;
}

/* Returns "1 byte", "2 bytes", "2 entries", in a buffer of the block. */
#define IMAGE_COUNT_TEXT 48
#define IMAGE_COUNT(n, noun) image_count((char[IMAGE_COUNT_TEXT]){""}, n, noun)
const char *image_count(
	char text[IMAGE_COUNT_TEXT], uint64_t n, const char *noun);

enum image_kind {
	/* bytes that are not all zero, or were not read */
	IMAGE_DATA,
	/* zeros that were read */
	IMAGE_ZERO,
	/* zeros that are known without reading: a hole, an unallocated
	 * cluster */
	IMAGE_HOLE
};

/* image_extent.host if an extent has no place in the file */
#define IMAGE_NO_HOST UINT64_MAX

struct image_extent {
	uint64_t offset;
	uint64_t length;
	enum image_kind kind;
	/* the bytes are stored compressed: none of them has an offset */
	bool compressed;
	/* for IMAGE_HOLE: the format marks the range as zeros */
	bool zero_cluster;
	/* 0: in the image itself; n: in the nth file of its backing chain */
	unsigned depth;
	/* offset of the bytes in the file that has them, or IMAGE_NO_HOST */
	uint64_t host;
};

/* The kind of value that an option of a format takes. */
enum image_option_type {
	/* bytes: "64k" */
	IMAGE_OPTION_SIZE,
	/* a decimal number */
	IMAGE_OPTION_NUMBER,
	/* on or off */
	IMAGE_OPTION_FLAG,
	/* one of the words in image_option.words; its index is the value */
	IMAGE_OPTION_WORD
};

struct image_open;

/* One option of a new image, with the name of qemu-img create -o. */
struct image_option {
	const char *name;
	enum image_option_type type;
	/* space separated; NULL unless type is IMAGE_OPTION_WORD */
	const char *words;
	/* one line for the user */
	const char *help;
};

enum image_codec_id { IMAGE_CODEC_ZLIB, IMAGE_CODEC_ZSTD };

/* How the file of an image is packed. */
enum image_packing {
	/*
	 * By the suffixes of the name. Without one, and if the format is
	 * detected, by the first bytes, too: of a pipe, of a file on a web
	 * server, and of a name that is not one of a disk. A guest wrote those
	 * of other files: they are refused if they begin as a packed file.
	 */
	IMAGE_PACKING_AUTO,
	IMAGE_PACKING_NONE,
	IMAGE_PACKING_GZIP,
	IMAGE_PACKING_XZ,
	IMAGE_PACKING_ZSTD,
	IMAGE_PACKING_BZIP2,
	IMAGE_PACKINGS
};

/* "xz" */
const char *image_packing_name(enum image_packing packing);
/* Returns the packing of a name such as "zstd" or "zst", or IMAGE_PACKINGS. */
enum image_packing image_packing_by_name(const char *name);
/* Returns whether a new raw image can be packed so. */
bool image_packing_writable(enum image_packing packing);
/*
 * Returns the packing that is the suffix of a path, and sets *length to that of
 * the path without the suffix. Returns IMAGE_PACKING_NONE if there is none, and
 * for that of a packed archive, such as ".tgz".
 */
enum image_packing image_packing_by_suffix(const char *path, size_t *length);

/* An OCI layout: the files of an image for a registry. */
struct image_layout_how {
	/* the layer is an archive that has the disk as disk/disk.img, which
	 * belongs to the user of KubeVirt, and needs IMAGE_PACKING_GZIP.
	 * Otherwise it is the disk, and needs IMAGE_PACKING_ZSTD. */
	bool container;
	/* the new file is an archive of the layout, and not the layer alone */
	bool archive;
	/* the name of the image, of letters, digits, '.', '_' and '-'; NULL:
	 * none */
	const char *tag;
	/* "linux/arm64"; NULL: that of this CPU */
	const char *platform;
};

#define IMAGE_LAYOUT_FILES 5
#define IMAGE_LAYOUT_NAME 96
#define IMAGE_LAYOUT_TEXT 1024
/* The longest tag. */
#define IMAGE_LAYOUT_TAG 128

struct image_layout {
	struct image_layout_file {
		/* "blobs/sha256/..." */
		char name[IMAGE_LAYOUT_NAME];
		/* "" of the first file, the layer */
		char text[IMAGE_LAYOUT_TEXT];
	} files[IMAGE_LAYOUT_FILES];
	/* "sha256:..." */
	char manifest[IMAGE_DIGEST_TEXT];
};

/* The properties of a new image; image_create_init() sets the defaults. */
struct image_create {
	/* bytes of the virtual disk, 0 to INT64_MAX */
	uint64_t size;
	/* the size is not known yet; `size` is not used */
	bool unsized;
	/* bytes; 0: the format's default */
	uint64_t cluster_size;
	/* qcow2: 2 (compat=0.10) or 3 (compat=1.1) */
	unsigned version;
	/* qcow2: width of a reference count, 1 to 64 bits, a power of two */
	unsigned refcount_bits;
	bool extended_l2;
	/* preallocation=metadata: every cluster is allocated in the file */
	bool preallocate;
	/* vhd: the size is not rounded up to a MiB */
	bool exact;
	/* raw: one that image_packing_writable() allows, at `level`. AUTO and
	 * NONE: not packed. No other value is allowed. */
	enum image_packing packing;
	/* with packing: the file is the layer of an OCI layout, or the archive
	 * of one; valid until the sink is closed. NULL: it is not */
	const struct image_layout_how *layout;
	/* compress clusters with codec */
	bool compress;
	enum image_codec_id codec;
	/* level of the codec; 0: its default */
	int level;
	/* zlib: distances of at most 4 KiB, as in QEMU */
	bool small_window;
	/* zlib: ISA-L if available; the bytes may then depend on the CPU */
	bool fast;
	/* vmdk: the index of a word of its options */
	unsigned adapter_type;
	/* vmdk: the version of the virtual hardware; 0: the default */
	unsigned hw_version;
};

void image_create_init(struct image_create *create);
/* The highest level that create->codec has with create->small_window and
 * create->fast, or that of create->packing; the lowest is 1. */
int image_create_levels(const struct image_create *create);

/* A format; a row of image/format/formats.def. */
struct image_format {
	/* lower case; the name for -f, for -O and in the output */
	const char *name;

	/* another name for -f and -O, that of qemu-img; NULL: none */
	const char *alias;

	/* file name suffixes, separated by blanks: ".qcow2" */
	const char *suffixes;

	/*
	 * Returns whether a file that begins with these bytes is in this
	 * format. NULL for raw, the fallback, and for what is only written.
	 * Reads no other bytes.
	 */
	bool (*probe)(const unsigned char *head, size_t length);

	/*
	 * A file that begins as a disk is in this format too if -f or its name
	 * says so: its header is at its end, where a guest could write one
	 * into a raw disk.
	 */
	bool footer;

	/*
	 * NULL if the format cannot be read.
	 *
	 * Open a source on the store. A parse_*() function checks all data from
	 * the store once. The source owns the store after success; the caller
	 * owns the store after failure.
	 */
	int (*open)(struct image_store *store, const struct image_open *how,
		struct image_source **out, struct image_error *err);

	/*
	 * Report the tests of image_check() that the format has. Returns a
	 * negative errno if the image cannot be checked; faults of the image
	 * are reported as tests. The caller keeps the store. NULL: no tests.
	 */
	int (*check)(struct image_store *store, struct image_verdict *verdict,
		struct image_error *err);

	/* Ends with a NULL name; NULL if there are no options. */
	const struct image_option *options;
	/* Set the option in create to value: a number, 0 or 1, or the index of
	 * a word. NULL if there are no options. */
	int (*set)(struct image_create *create,
		const struct image_option *option, uint64_t value,
		struct image_error *err);

	/* image_open.snapshot is allowed */
	bool snapshots;

	/* supports -c */
	bool compresses;
	/* and writes nothing else */
	bool always_compresses;

	/* create accepts a store that is forward, without -c or with
	 * always_compresses */
	bool streams;

	/* Begin a sink on a store that is empty or fixed; ownership as for
	 * open. Nothing that a fixed store had before remains. NULL if the
	 * format cannot be written. */
	int (*create)(struct image_store *store,
		const struct image_create *create, struct image_sink **out,
		struct image_error *err);
};

/* Returns whether a new image is a tar archive, packed by gzip, with the raw
 * disk as its member disk.raw. */
bool image_format_is_archive(const struct image_format *format);
/* Returns whether a new image begins with the first bytes of its disk, which a
 * guest may have chosen. */
bool image_format_begins_as_disk(const struct image_format *format);
/* The options of a new image of that format; ends with a NULL name. */
const struct image_option *image_format_options(
	const struct image_format *format);

/* The options of an image that is read; ends with a NULL name. */
const struct image_option *image_open_options(void);
/* As image_format.set; every value is allowed. */
void image_open_set(struct image_open *how, const struct image_option *option,
	uint64_t value);

/* Formats in the order of formats.def; NULL past the last one. */
const struct image_format *image_format(size_t index);
/* Returns the format of that name, or NULL. */
const struct image_format *image_format_by_name(const char *name);
/*
 * Returns the format of a new file by its suffix: raw if the suffix has no
 * meaning. Returns NULL for the suffix of a packing, of an archive, or of a
 * format that cannot be written.
 */
const struct image_format *image_format_by_suffix(const char *path);

/* The size of a disk that comes through a pipe, until the last byte was read.
 */
#define IMAGE_SIZE_UNKNOWN ((uint64_t)INT64_MAX)

/*
 * Returns whether the address has a scheme that this release knows, such as
 * "https:". Other addresses are paths.
 */
bool image_is_address(const char *address);
/*
 * Returns the address as it may be shown, which the caller frees: without user
 * and password, and for HTTP without query and fragment, which may be secrets,
 * too. A path is copied as it is. Returns NULL if there is no memory.
 */
char *image_address_name(const char *address);
/*
 * If the address begins with "file://", replace it by the path that it names,
 * which is shorter. For words of the user alone: no server and no image names a
 * file of this machine so.
 * Returns 1 if the address has become a path, and 0 if it is another address.
 * Returns -EINVAL and sets *why, which a message has behind the address, if it
 * names no path of this machine. What the address is then is not defined.
 */
int image_file_url(char *address, const char **why);
/*
 * Returns whether two addresses are known to name the same export: hosts and
 * ports, sockets and names of exports are compared, with TLS or without. An
 * export may have other addresses, which only its server knows.
 */
bool image_address_is_same(const char *a, const char *b);
/*
 * Returns a copy of a text, which the caller frees. An address in the text
 * loses its user and password, and for HTTP its query and fragment. An address
 * of another scheme, or inside another address, ends with "://", and a name
 * that begins with "json:" ends there. Returns NULL if there is no memory.
 */
char *image_hide_secrets(const char *text);
/* Returns whether the address is read without encryption, signature or digest,
 * so that others can change what comes. plain_http: image_network.plain_http.
 */
bool image_address_is_plain(const char *address, bool plain_http);
/* Returns the version of libcurl, or NULL if this build has no HTTP. */
const char *image_http_library(void);

/*
 * Where bytes of a stream are kept that are needed later and for which there is
 * no memory: in a file without a name.
 */
struct image_spill {
	/* the directory of the file */
	const char *folder;
	/* Called once, before the first byte is written. name is that of the
	 * stream. Any thread. NULL is allowed. */
	void (*begin)(void *opaque, const char *name, const char *folder);
	void *opaque;
};

/* For bytes behind the packed data of a file, such as a signature. */
struct image_trailing {
	/* Called once for each packed stream that has them, after its end.
	 * name is that of the stream. Any thread. */
	void (*left)(void *opaque, const char *name, uint64_t bytes);
	void *opaque;
};

/* Packings that lie in each other, those of an archive and of its member
 * together. */
#define IMAGE_ROUNDS 4

/*
 * Returns the name of a library that this release can use, and sets *version to
 * its version, or to NULL if this build lacks it. Returns NULL past the last
 * one.
 */
const char *image_library(size_t index, const char **version);

struct image_expect;

/* What is reported of the requests to servers. */
struct image_trace {
	/* Called with one line, without secrets, for each request, answer, try
	 * and decision. Any thread, which may hold a lock of the image. */
	void (*line)(void *opaque, const char *text);
	void *opaque;
};

/* How a server is used. {0} has the defaults. */
struct image_network {
	/* HTTP: a file with fields for the header of each request, one on a
	 * line, such as a token. Only the host of the address gets them. NULL:
	 * none */
	const char *http_header_file;
	/* HTTPS: a file in PEM and a directory, with the certificates of the
	 * authorities that are trusted, and no others. NULL for both: those of
	 * the environment variables of curl or of the system */
	const char *ca_file;
	const char *ca_directory;
	/* seconds that a server may send nothing; 0: the default, 60 */
	unsigned timeout;
	/* HTTP: refuse redirects to addresses that not everyone can reach, such
	 * as loopback and private ones */
	bool public_redirects;
	/* oci: the registry has no TLS */
	bool plain_http;
	/* oci: of an index, "linux/arm64"; NULL: the platform of this CPU */
	const char *platform;
	/* oci: of an index, "KEY=VALUE"; NULL: any */
	const char *annotation;
	/* TLS of NBD: a directory with ca-cert.pem and, if the server asks for
	 * them, client-cert.pem and client-key.pem; NULL: that of the system */
	const char *tls_certificates;
	/* TLS of NBD: a file with a line USER:KEY; NULL: certificates */
	const char *tls_psk;
	/* of HTTP and of NBD; valid until the image is closed. NULL: none */
	const struct image_trace *http_trace;
	const struct image_trace *nbd_trace;
};

/*
 * The size of a VHD, whose footer has two: one field with bytes, and a geometry
 * of cylinders, heads and sectors. BY_CREATOR: the geometry if the program that
 * wrote the image uses it, and if the length of a fixed file does not prove the
 * current size; otherwise the current size.
 */
enum image_vhd_size {
	IMAGE_VHD_SIZE_BY_CREATOR,
	IMAGE_VHD_CURRENT_SIZE,
	IMAGE_VHD_GEOMETRY
};

/* How an image is opened. {0} has the defaults. */
struct image_open {
	/* NULL: detect the format by the first bytes and the name */
	const struct image_format *format;
	/* of the file itself, not of backing files and data files */
	enum image_packing packing;
	/* the packings inside of it; IMAGE_PACKING_AUTO (0) ends the list. The
	 * suffixes of a member's name are its own, except with
	 * IMAGE_PACKING_NONE */
	enum image_packing inner[IMAGE_ROUNDS - 1];
	/* the packed data ends where no other member begins, and the rest is
	 * left; valid until the image is closed. NULL: a rest is an error,
	 * except zeros */
	const struct image_trailing *trailing;
	/* the member of a tar archive that is the image. NULL: the first one
	 * with the suffix of an image, if the file is an archive by its suffix,
	 * or if format is NULL and packing IMAGE_PACKING_AUTO, by its first
	 * bytes, where these may decide. oci: a path in a layer, or the
	 * title of a layer. NULL: the file in disk/, or the layer that is a
	 * disk */
	const char *member;
	/* the limit of the command, of which what unpacks the file, what is
	 * kept of a server or of a stream, and tables have their parts; 0:
	 * 256 MiB. A file that needs more to be unpacked is refused. */
	uint64_t memory;
	/* that unpack the file; 0: one for each CPU */
	unsigned threads;
	/* NULL: refuse an image with a backing file. Otherwise backing files
	 * must be regular files below this directory */
	const char *allow_backing;
	/* the same for an external data file */
	const char *allow_data_file;
	/* ID or name of an internal snapshot; NULL: the active state */
	const char *snapshot;
	/* of the file itself, and of its backing files; no effect on other
	 * formats */
	enum image_vhd_size vhd_size;
	/* for info: also open an image that cannot be read: an encrypted or
	 * truncated one, or one whose backing file is not allowed */
	bool inspect;
	/* the disk will be read from its begin to its end: a server may be
	 * asked for more than has been read */
	bool whole;
	/* The size of a packed raw disk is needed before its bytes: it is
	 * unpacked twice. No effect on a stream and on what a server has. */
	bool sized;
	/* open only an image that image_check() calls safe */
	bool untrusted;
	/* most bytes of the disk; 0: no limit. A packed file is not unpacked
	 * much farther: a sixteenth and 64 MiB are for tables. The failure of
	 * an image with a larger disk has err.refused. */
	uint64_t max_size;
	/* neither take nor test QEMU's locks against writers: the data may be
	 * inconsistent */
	bool force_share;
	/* read without the page cache (O_DIRECT) if the file system can */
	bool direct;
	/* remove pages from the page cache after reading */
	bool drop_cache;
	/*
	 * The digest of the file as it is. The file is read once, from its
	 * first byte to its last. A visit of the whole image, such as
	 * image_copy(), ends with the check of the digest, and fails if the
	 * digest is another one. Backing files are not part of it. NULL: any
	 */
	const struct image_expect *expect;
	struct image_network network;
	/* for an image that comes through a stream; valid until the image is
	 * closed. NULL: such an image is refused if it needs space */
	const struct image_spill *spill;
};

/*
 * Open an image to read it. path is a regular file, a block device, an address
 * for which image_is_address() returns true, or "-" for stdin.
 *
 * With how->format NULL, a file with the header of a format of foreign.def is
 * refused. A file with the suffix of a format but no header is refused too.
 *
 * On success the caller closes *out by image_close(); on failure *out is NULL.
 */
int image_open(const char *path, const struct image_open *how,
	struct image_source **out, struct image_error *err);
/*
 * The same for fd, a regular file that the caller keeps open; name is for
 * messages.
 */
int image_open_fd(int fd, const char *name, const struct image_open *how,
	struct image_source **out, struct image_error *err);
/* NULL is allowed. */
void image_close(struct image_source *source);
/*
 * After a call on the source failed, and if the failure is about its file.
 * With image_open.expect or image_open.untrusted: if the file does not have the
 * digest or is not safe, *err becomes that; the rest of a stream is read, and
 * image_open() does the same. Without them: if the failure is damage, and the
 * file changed after open, *err becomes that.
 */
void image_source_settle(struct image_source *source, struct image_error *err);

/* Where an image of a registry is. */
struct image_registry {
	/* digests, such as "sha256:..." */
	char manifest[IMAGE_DIGEST_TEXT];
	char layer[IMAGE_DIGEST_TEXT];
	/* that was chosen in an index, such as "linux/arm64/v8"; "": the
	 * address names a manifest */
	char platform[IMAGE_PLATFORM_TEXT];
};

/* Embedded as first member by each format; constant once it is open. */
struct image_source {
	const struct image_source_ops *ops;
	const struct image_format *format;
	struct image_store *store;
	/* holds the uncompressed bytes of the image itself, at the offsets in
	 * image_extent.host: store, or an external data file that the source
	 * owns */
	struct image_store *data;
	/* bytes of the virtual disk; IMAGE_SIZE_UNKNOWN if
	 * image_source_is_unsized() */
	uint64_t size;
	/* bytes of zeros behind them that image_source_cut() left out */
	uint64_t cut;
	/* other bytes than those of the image, which digests are not of; NULL:
	 * none */
	const struct image_patches *patches;
	/* bytes of an allocation unit of the format, a power of two; 0: none.
	 * Reads of whole units are fastest. */
	uint64_t unit;
	/* Up to settles: set by image_open() and image_open_fd(), and not in a
	 * backing image. The pointers are valid until the image is closed. */

	/* the image comes through a stream, and can be visited once */
	bool forward;
	/* the bytes come from a server: the next visit may find others */
	bool served;
	/* the member of an archive that is the image; NULL: it is in none */
	const char *member;
	/* NULL: it is in no registry */
	const struct image_registry *registry;
	/* image_check_last() follows a visit of the whole image */
	bool check_last;
	/* a failure is followed by the rest of the file: its digest is
	 * expected, or check_last */
	bool settles;
	/* a sentence about a choice that was made for the image, and that other
	 * programs make in another way; it names the option that chooses. NULL:
	 * there is none */
	const char *doubt;
	/* of image_open */
	enum image_vhd_size vhd_size;
	/* only with image_open.inspect: the fault that prevents reading of the
	 * disk, such as a table past the end of the file; or NULL */
	const struct image_error *fault;
	/* only with image_open.inspect: not 0 if the disk cannot be read, and
	 * the reason */
	int refused;
	struct image_error refusal;
};
/*
 * Returns true until a visit has met the end of a raw image that comes through
 * a stream of unknown length.
 */
bool image_source_is_unsized(const struct image_source *source);

/*
 * Returns true if fd is open on a file of the source or of its backing chain.
 */
bool image_source_uses(const struct image_source *source, int fd);
/*
 * Call it with the descriptor of each local file or device of the source and of
 * its backing chain. Pipes and addresses have none.
 */
void image_source_visit(const struct image_source *source,
	void (*call)(void *opaque, int fd), void *opaque);

/* One field of the description of an image by its format. */
enum image_field_type {
	IMAGE_FIELD_NUMBER,
	IMAGE_FIELD_TEXT,
	IMAGE_FIELD_FLAG,
	/* a list begins; items follow, each between ITEM and END; then END */
	IMAGE_FIELD_LIST,
	IMAGE_FIELD_ITEM,
	IMAGE_FIELD_END
};
struct image_field {
	enum image_field_type type;
	/* lower case with underscores; NULL for ITEM and END */
	const char *name;
	uint64_t number;
	/* as in the image, with any byte except NUL */
	const char *text;
};
/*
 * Call report for each field in order; a field is valid until report() returns.
 */
void image_info(const struct image_source *source,
	void (*report)(void *opaque, const struct image_field *field),
	void *opaque);

/* The sizes of a file in the file system. */
struct image_usage {
	/* length as in ls; for a block device, the size of the device */
	uint64_t file_size;
	/* bytes of the allocated blocks */
	uint64_t disk_usage;
};
/* Of an open destination, or of source->store: of the image's own file. */
int image_store_usage(const struct image_store *store,
	struct image_usage *usage, struct image_error *err);

/*
 * Lock a file that is about to be replaced, until fd is closed. fd is open for
 * reading.
 *
 * Returns 0 if no other process holds a lock of QEMU on the file, or if its
 * file system has no locks.
 * Returns -EBUSY, or another negative errno, with a message in text.
 */
int image_lock_exclusive(int fd, char *text, size_t size);

/* How a new image is written. */
struct image_write {
	/* write without the page cache (O_DIRECT) if the file system can */
	bool direct;
	/* remove pages from the page cache after writeback */
	bool drop_cache;
	/* write into a regular file that exists, which keeps its size */
	bool in_place;
	/* of what exists already: it reads as zeros */
	bool is_zero;
	/* of what exists already: leave what lies behind a raw image */
	bool keep_rest;
	/* for stdout: send first bytes that make a raw image look like one of
	 * another format */
	bool allow_disguised;
	struct image_network network;
};

/*
 * Where the path of a destination leads: a directory, and a name in it that is
 * no symbolic link. Nobody can exchange the directory.
 */
struct image_path {
	/* open with O_PATH */
	int directory;
	/* "" if the path ends in a slash */
	char *name;
	/* what has the name, open with O_PATH; or -1, and code is the negative
	 * errno, such as -ENOENT */
	int fd;
	int code;
	/* of fd */
	struct stat st;
	/* the path itself is a link */
	bool is_link;
	/* the name is a link of /proc, which the kernel alone can follow */
	bool is_magic;
};

/*
 * Find the place, for every destination. The links on the path are followed,
 * but for a link that the kernel's fs.protected_symlinks would refuse: that of
 * another user, who does not own the directory, in a sticky directory that
 * everybody may write to.
 */
int image_path_find(
	const char *path, struct image_path *place, struct image_error *err);
void image_path_close(struct image_path *place);
/*
 * Open what has the name by open(2). Returns the descriptor or a negative
 * errno. Another file may have the name by now: compare it with place->st.
 */
int image_path_open(const struct image_path *place, int flags);
/*
 * Returns whether the file is one that the kernel's fs.protected_regular
 * protects: that of another user, who does not own the directory, in a sticky
 * directory that others may write to.
 */
bool image_path_is_foreign(const struct image_path *place);

/*
 * Begin a new image in fd: an empty regular file, open for reading and writing,
 * which the caller keeps open. name is for messages.
 */
int image_create(int fd, const char *name, const struct image_format *format,
	const struct image_create *create, const struct image_write *how,
	struct image_sink **out, struct image_error *err);
/*
 * Open a destination that exists already and is written in place: a block
 * device, an export of a server, or with how->in_place a regular file. A device
 * that is mounted or in use is refused. Sets *out to NULL if the address names
 * another file or nothing yet; image_create() writes a new file.
 *
 * image_create_on() takes the store over. Before that the caller closes it by
 * image_store_close().
 */
int image_target_open(const char *address, const struct image_write *how,
	struct image_store **out, struct image_error *err);
/* NULL is allowed. */
void image_store_close(struct image_store *store);
/*
 * Keep back what is written to the first and the last MiB of the target, or,
 * with keep_rest, of its first `size` bytes; only the first MiB if the size is
 * not known. *target is replaced on success.
 * image_target_clear() zeroes these bytes before the copy, and
 * image_target_release() writes them after image_finish(). image_flush()
 * follows.
 */
int image_target_hold(
	struct image_store **target, uint64_t size, struct image_error *err);
int image_target_clear(struct image_store *target, struct image_error *err);
int image_target_release(struct image_store *target, struct image_error *err);
/* Begin a new image in a destination. Closes the store on failure. */
int image_create_on(struct image_store *target,
	const struct image_format *format, const struct image_create *create,
	struct image_sink **out, struct image_error *err);
/* Bytes of the virtual disk; may be rounded up from image_create.size. */
uint64_t image_sink_size(const struct image_sink *sink);
/* Write the metadata, the header last. */
int image_finish(struct image_sink *sink, struct image_error *err);
/* Make all written bytes durable. */
int image_flush(struct image_sink *sink, struct image_error *err);
/* With image_create.layout: the files, after image_finish(). Valid until the
 * sink is closed. */
const struct image_layout *image_sink_layout(const struct image_sink *sink);
/* Free the sink without writing. NULL is allowed. */
void image_sink_close(struct image_sink *sink);

struct image_digests;

#define IMAGE_MAX_THREADS 64

/* How a whole image is visited. */
struct image_run {
	/* bytes, a power of two from 512 to 2 MiB: aligned blocks of this size
	 * are searched for zeros */
	size_t block;
	/* 1 to IMAGE_MAX_THREADS; 0: one for each CPU, or more if a server is
	 * fastest with more requests under way */
	unsigned threads;
	/* as image_open.memory: buffers and the contexts of compressors have
	 * their part, which may reduce the number of threads. One thread with
	 * one chunk may exceed the part */
	size_t memory;
	/* most bytes to read a second; 0: no limit */
	uint64_t rate;
	/* copy: most bytes of data that are written; 0: no limit. The failure
	 * of a disk with more has err.refused. */
	uint64_t max_written;
	/* copy of a source whose size is not known: the disk of the sink gets
	 * this size, which must be at least that of the source, or 0: the size
	 * of the source and `growth` bytes */
	uint64_t size;
	uint64_t growth;
	/* copy: also compute these digests of the disk, from the bytes that are
	 * copied. NULL: none; blocks are shared with the source if the file
	 * system can */
	struct image_digests *digests;
	/* called often, by one thread at a time: the image was visited up to
	 * offset done; may be NULL */
	void (*progress)(void *opaque, uint64_t done);
	void *opaque;
};

/* The format that programs would detect in a new raw file. */
struct image_disguise {
	/* NULL: raw */
	const char *name;
	/* of the signature */
	uint64_t offset;
};

/*
 * Check whether the disk of source, written in format, would be a file in which
 * image_check() detects another format. A guest chooses the content of its
 * disk. Only raw files can be disguised. LUKS counts as raw: a LUKS header
 * names no other file, and encrypted disks begin with one.
 */
int image_disguise(struct image_source *source,
	const struct image_format *format, struct image_disguise *disguise,
	struct image_error *err);

/*
 * The same for the raw file that was written, after image_finish(): for a
 * source that can be read once.
 */
int image_disguise_written(struct image_sink *sink,
	struct image_disguise *disguise, struct image_error *err);

/* The result of a copy; data + zero + hole is the size of the source. */
struct image_copied {
	uint64_t data;
	uint64_t zero;
	uint64_t hole;
	/* bytes of guest data that were stored compressed, before and after */
	uint64_t compressed_from;
	uint64_t compressed_to;
	/* bytes shared with the source by reflink */
	uint64_t shared;
	/* threads that worked */
	unsigned threads;
};

/*
 * Make a disk smaller: what lies behind `size` bytes has to be zeros, and is
 * searched for data. Later calls leave it out, except that digests are those of
 * the whole disk. The size of the source is known, and it can be read again.
 *
 * Returns -EINVAL with a message, and leaves the source as it was, if there is
 * data.
 */
int image_source_cut(
	struct image_source *source, uint64_t size, struct image_error *err);

/*
 * Move the backup GPT to the end of a disk of `size` bytes, which is known,
 * with sectors of 512 or of 4096 bytes. Later calls see the disk with its new
 * GPT, and with zeros behind it if the size is larger; for a smaller one,
 * image_source_cut() follows. Digests of image_copy() are those of the disk as
 * it was. *source is replaced on success.
 *
 * Returns a negative errno with a message if one of the two GPTs is damaged, if
 * they differ, if a partition ends too late, or if the MBR has partitions. The
 * old backup GPT of a stream, which comes last, is not checked.
 */
int image_source_move_gpt(
	struct image_source **source, uint64_t size, struct image_error *err);
/* Bytes of the disk as it was before these two calls. */
uint64_t image_source_whole_size(const struct image_source *source);
/*
 * Copy source into sink, which was just created and is at least as long: zeros
 * follow what the source has. Does not finish the sink. Returns -EIO if a
 * change of the source was detected.
 */
int image_copy(struct image_source *source, struct image_sink *sink,
	const struct image_run *run, struct image_copied *copied,
	struct image_error *err);

/*
 * Report all extents in order, with adjacent extents of one kind merged. The
 * extents cover the image. If report() returns another value than 0,
 * image_map() stops and returns the value. Data is searched for zeros. With
 * plain, extents have a kind only, and adjacent ones differ in kind; otherwise
 * they may differ in each member.
 */
int image_map(struct image_source *source, const struct image_run *run,
	bool plain,
	int (*report)(void *opaque, const struct image_extent *extent),
	void *opaque, struct image_error *err);

/* One test of image_check(). */
struct image_finding {
	/* lower case with underscores; the name in OpenStack's format inspector
	 * if the inspector has the test */
	const char *name;
	/* 0: the test passed */
	uint64_t faults;
	/* the first fault, or a remark about a test that passed */
	char text[512];
};

struct image_checked {
	/* every test passed */
	bool safe;
	/* NULL if it is not known */
	const struct image_format *format;
	/* clusters with a larger reference count than references; harmless */
	uint64_t leaked_clusters;
	uint64_t leaked_bytes;
};

/*
 * Check whether an image is safe to use. Reads the metadata alone, opens no
 * other file, and repairs nothing. Calls report for each test. Leaves out tests
 * that an earlier failure makes meaningless. Uses format, max_size and
 * force_share of how.
 *
 * Returns 0 if checked has the result.
 * Returns a negative errno if the image could not be checked.
 *
 * The time grows with the allocated bytes of the file. Memory is at most 512
 * MiB.
 */
int image_check(const char *path, const struct image_open *how,
	void (*report)(void *opaque, const struct image_finding *finding),
	void *opaque, struct image_checked *checked, struct image_error *err);

/* The result of a comparison. */
struct image_compared {
	bool equal;
	bool same_size;
	/* valid if not equal */
	uint64_t first_difference;
};

/*
 * Find the first byte in which two images differ. The shorter image is treated
 * as if zeros followed.
 */
int image_compare(struct image_source *a, struct image_source *b,
	const struct image_run *run, struct image_compared *compared,
	struct image_error *err);

/* Number of algorithms of digests: the rows of image/hash/algorithms.def. */
#define IMAGE_ALGORITHMS 7
/* Bytes of the longest digest. */
#define IMAGE_DIGEST_MAX 64

struct image_algorithm {
	/* lower case */
	const char *name;
	/* as GNU coreutils print it */
	const char *tag;
	/* of other tools, with blanks between them */
	const char *other_tags;
	/* in OpenSSL */
	const char *evp;
	/* bytes of a digest */
	size_t length;
};

/* Algorithms in the order of algorithms.def; NULL past the last one. */
const struct image_algorithm *image_algorithm(size_t index);
/* Returns the algorithm whose name is the first length bytes, or NULL. */
const struct image_algorithm *image_algorithm_by_name(
	const char *name, size_t length);
/* Returns the version of OpenSSL, or NULL if this build has no digests. */
const char *image_digest_library(void);

struct image_digests {
	/* 1 to IMAGE_ALGORITHMS, or one more with a sparse one */
	size_t count;
	struct {
		const struct image_algorithm *algorithm;
		/* From the offset `from` on, the digest is that of the blocks
		 * with data and their offsets, as they are after
		 * image_source_move_gpt(), so it is only compared with another
		 * digest of hone. Zeros at the end do not matter, and long ones
		 * take no time. Not of image_digest_blocks(). */
		bool sparse;
		uint64_t from;
		/* set by image_digest() */
		unsigned char bytes[IMAGE_DIGEST_MAX];
	} list[IMAGE_ALGORITHMS + 1];
};

/* The digest that the bytes of a file have to have. */
struct image_expect {
	const struct image_algorithm *algorithm;
	unsigned char bytes[IMAGE_DIGEST_MAX];
};

/* Returns false for an algorithm by which files with a chosen digest can be
 * made: MD5 and SHA-1. */
bool image_algorithm_is_safe(const struct image_algorithm *algorithm);
/* Set *expect. Returns false if these are not the digits of such a digest. */
bool image_expect_hex(struct image_expect *expect,
	const struct image_algorithm *algorithm, const char *digits,
	size_t length);
/* Set text, which has room for 2 * length + 1 bytes, to the digits of a digest.
 * Returns text. */
const char *image_hash_text(
	const unsigned char *bytes, size_t length, char *text);
/*
 * Compare a digest with the one that is expected. Fails with err->refused:
 * "NAME: WHAT is refused: its sha256 is ..., not ...".
 */
int image_expect_check(const struct image_expect *expect,
	const unsigned char *digest, const char *name, const char *what,
	struct image_error *err);
/*
 * Set *expect to what a list such as SHA256SUMS has for the last part of an
 * image's address. list is a file of any kind, or an address with https, for
 * which network is used without its fields of a header.
 * Signatures are not checked. Returns -ENOENT if the list does not have the
 * name.
 */
int image_expect_in_list(struct image_expect *expect, const char *list,
	const struct image_network *network, const char *address,
	struct image_error *err);

/*
 * Compute digests of the first `size` bytes of the disk; zeros follow a smaller
 * one. UINT64_MAX: of the disk. Holes are not read. More threads than
 * run->threads work if there are several algorithms: each algorithm but one has
 * its own.
 *
 * Returns -ENOTSUP if the build does not have an algorithm. Returns -EIO if a
 * change of the source was detected.
 */
int image_digest(struct image_source *source, uint64_t size,
	const struct image_run *run, struct image_digests *digests,
	struct image_error *err);

/* The limits of the blocks of image_digest_blocks(), which are powers of two.
 */
#define IMAGE_BLOCK_MIN ((size_t)512)
#define IMAGE_BLOCK_MAX ((size_t)16 << 20)

/* A block of the disk that has data. */
struct image_block {
	uint64_t offset;
	/* less than the size of the blocks at the end of the disk */
	uint64_t length;
	/* of the bytes of the block */
	const struct image_digests *digests;
};

/*
 * Compute the digests of each aligned block of `size` bytes that has data, and
 * report them in the order of the disk. A block that was read and has no byte
 * but zeros has no data. If report() returns another value than 0, the call
 * stops and returns the value. The bytes of digests change.
 */
int image_digest_blocks(struct image_source *source,
	const struct image_run *run, size_t size, struct image_digests *digests,
	int (*report)(void *opaque, const struct image_block *block),
	void *opaque, struct image_error *err);

#endif
