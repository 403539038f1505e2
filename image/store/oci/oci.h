/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_OCI_H
#define HONE_IMAGE_OCI_H
/*
 * A disk in a registry of containers: oci://HOST[:PORT]/NAME[:TAG][@DIGEST].
 *
 *   address.c    what the user gives
 *   open.c       the requests: index, manifest, layer
 *   auth.c       tokens; challenge.c reads what the registry asks for,
 *                credentials.c the files of Docker and Podman
 *   manifest.c   which layers may have the disk; json.c reads the text
 *
 *   index --platform--> manifest --> layers from the top one down
 *
 * The layer is a store of http/ whose bytes pass a tap with its digest. What is
 * in the layer is found by the layers of every image: unpack/, archive/,
 * format/. Its media type becomes a suffix of the store's name, and
 * image_store.layer says whether the layer is an archive or the disk itself.
 */
#include "store/store.h"

#define OCI_MANIFEST ((size_t)4 << 20)
#define OCI_LAYERS 1000
#define OCI_TEXT 256
/* Bytes of a password or an identity token, with its NUL. */
#define OCI_SECRET 16384
#define OCI_DOCKER "registry-1.docker.io"
#define OCI_DIGEST IMAGE_DIGEST_TEXT

struct oci_address {
	char host[OCI_TEXT];
	char name[OCI_TEXT];
	char reference[OCI_DIGEST];
	/* reference is a digest, which is set here, too */
	bool by_digest;
	struct image_expect expect;
};

/* Returns NULL, or why the address is not valid. */
const char *oci_address_parse(struct oci_address *address, const char *text);

/* Returns whether this is a digest by which content can be verified. */
bool oci_digest_parse(const char *text, struct image_expect *expect);

struct oci_challenge {
	bool basic;
	bool bearer;
	/* of bearer; "" if they are missing or too long */
	char realm[2 * OCI_TEXT];
	char service[OCI_TEXT];
};

void oci_challenge_parse(const char *text, struct oci_challenge *challenge);

/* A user and a password, or a token that is exchanged for others. {0}: none */
struct oci_login {
	char *user;
	char *password;
	char *identity;
};

/*
 * Set *login, which oci_login_free() frees, after a failure, too, to what the
 * file REGISTRY_AUTH_FILE or ~/.docker/config.json has for the registry. A
 * program that the file names may be called.
 */
int oci_login_find(const struct oci_address *address, struct oci_login *login,
	struct image_error *err);
void oci_login_free(struct oci_login *login);

/* Set *out, which image_auth_drop() gives up. name is for messages. */
int oci_auth_create(const struct oci_address *address, const char *name,
	const struct image_network *network, struct image_auth **out,
	struct image_error *err);

struct oci_wanted {
	/* "linux/arm64/v8"; NULL: that of this CPU */
	const char *platform;
	/* "KEY=VALUE"; NULL: any */
	const char *annotation;
	/* a path in a layer, or the title of a layer; NULL: any */
	const char *member;
};

struct oci_file {
	enum image_layer layer;
	char digest[OCI_DIGEST];
	struct image_expect expect;
	uint64_t size;
	/* "layer-1.tar.gz", or its title */
	char name[OCI_TEXT];
};

struct oci_manifest {
	/* the text is an index, and the manifest that was chosen is file[0] */
	bool index;
	char platform[IMAGE_PLATFORM_TEXT];
	/* layers that may have the disk, the top one first */
	struct oci_file *files;
	size_t count;
};

/*
 * Parse an index or a manifest. name is for messages. Set *manifest, which the
 * caller frees by oci_manifest_free(), after a failure, too.
 */
int oci_manifest_parse(const char *text, size_t length, const char *name,
	const struct oci_wanted *wanted, struct oci_manifest *manifest,
	struct image_error *err);
void oci_manifest_free(struct oci_manifest *manifest);

/* Returns Docker's name of an architecture, which Linux may name differently.
 */
const char *oci_docker_name(const char *architecture);
/* "linux/amd64" */
const char *oci_this_platform(void);

#endif
