/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a manifest, as the challenges of a server, and as an address.
 * What is accepted is in its limits, and a text is read as far as it goes.
 */
#include <stdlib.h>
#include <string.h>
#include "store/oci/json.h"
#include "store/oci/oci.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool good)
{
	if (!good)
		abort();
}

static void
parse_manifest(const char *text, size_t size, const struct oci_wanted *wanted)
{
	struct oci_manifest manifest;
	struct image_error err;
	struct image_expect expect;

	int rc =
		oci_manifest_parse(text, size, "name", wanted, &manifest, &err);
	check(rc < 0 || (manifest.count >= 1 && manifest.count <= OCI_LAYERS));
	for (size_t i = 0; rc == 0 && i < manifest.count; i++) {
		const struct oci_file *file = &manifest.files[i];
		check(strnlen(file->name, OCI_TEXT) < OCI_TEXT);
		check(file->name[0] && file->size < IMAGE_SIZE_UNKNOWN);
		check(oci_digest_parse(file->digest, &expect));
		check(manifest.index == !file->layer);
		check(file->layer != IMAGE_LAYER_DISK || manifest.count == 1);
	}
	oci_manifest_free(&manifest);
}

/* Every value, by the functions that trust the text. */
static void
walk(struct image_json value, int depth)
{
	struct image_json item;
	char text[16];
	uint64_t number;

	image_json_text(value, text, sizeof(text));
	image_json_number(value, &number);
	if (image_json_get(value, "a", &item))
		walk(item, depth);
	for (int n = 0; n < 4 && image_json_next(&value, &item); n++)
		if (depth < 8)
			walk(item, depth + 1);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct oci_wanted wanted[] = {{0},
		{.platform = "linux/arm/v7"}, {.annotation = "a=b"},
		{.member = "a.raw"}};
	struct oci_challenge challenge;
	struct oci_address address;
	struct image_json root;

	if (size == 0)
		return 0;
	/* buffers of their own, so that a read past them is found */
	char *json = malloc(size - 1),
	     *text = strndup((const char *)data + 1, size - 1);
	check((json || size == 1) && text);
	if (size > 1)
		memcpy(json, data + 1, size - 1);
	parse_manifest(json, size - 1, &wanted[data[0] % 4]);
	if (image_json_parse(json, size - 1, &root))
		walk(root, 0);
	free(json);
	oci_challenge_parse(text, &challenge);
	check(strnlen(challenge.realm, sizeof(challenge.realm)) <
		sizeof(challenge.realm));
	check(strnlen(challenge.service, OCI_TEXT) < OCI_TEXT);
	check(challenge.bearer || !challenge.realm[0]);
	if (!oci_address_parse(&address, text))
		check(!strpbrk(address.name, "%?#@:\\") &&
			!strstr(address.name, "/.") && address.reference[0] &&
			!strpbrk(address.host, "/%?#@\\"));
	free(text);
	return 0;
}
