/* SPDX-License-Identifier: BSD-3-Clause */
/* What is read of a registry's texts. Whole manifests are in tests/cli. */
#include "store/oci/json.h"
#include "store/oci/oci.h"
#include "support.h"

/* The text is copied, so that a read past its end is found. */
static bool
parse(const char *text, struct image_json *root, char **copy)
{
	*copy = malloc(strlen(text) + 1);
	assert_non_null(*copy);
	memcpy(*copy, text, strlen(text));
	return image_json_parse(*copy, strlen(text), root);
}

TEST(json_is_valid_or_not)
{
	static const char *const good[] = {"{}", " [ ] ", "0", "-0.5e+3",
		"\"\\u00e9\\\"\"", "[1, {\"a\": [null, true, false]}]",
		"{\"\":\"\"}"};
	static const char *const bad[] = {"", " ", "{", "[1,]", "[1 2]", "01",
		"1.", "1e", "-", "+1", "\"", "\"\n\"", "\"\\x\"", "\"\\u00e\"",
		"{\"a\"}", "{a:1}", "{\"a\":}", "{\"a\":1,}", "nul", "[]]",
		"{\"a\":1}x", "\"\\"};
	struct image_json root;
	char *copy;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_true(parse(good[i], &root, &copy));
		free(copy);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_false(parse(bad[i], &root, &copy));
		free(copy);
	}
}

TEST(json_has_a_depth)
{
	struct image_json root;
	char text[66];

	memset(text, '[', 33);
	memset(text + 33, ']', 33);
	assert_true(image_json_parse(text + 1, 64, &root));
	assert_false(image_json_parse(text, 66, &root));
}

TEST(members_are_found_by_their_names)
{
	struct image_json root, value;
	uint64_t number;
	char text[8], *copy;

	assert_true(parse("{\"b\":[{\"a\":1}], \"\\u0061\" :7 , \"c\":\"x\","
			  "\"c\":2}",
		&root, &copy));
	assert_int_equal(image_json_get(root, "a", &value), 1);
	assert_true(image_json_number(value, &number) && number == 7);
	assert_int_equal(image_json_get(root, "c", &value), 2);
	assert_false(image_json_member(root, "c", text, sizeof(text)));
	assert_string_equal(text, "");
	assert_int_equal(image_json_get(root, "d", &value), 0);
	assert_int_equal(image_json_get(value, "a", &value), 0);
	free(copy);
	/* Such a name is a part of a registry with a login of its own. */
	char name[301], object[sizeof(name) + 6];
	snprintf(name, sizeof(name), "%0300d", 7);
	snprintf(object, sizeof(object), "{\"%s\":1}", name);
	assert_true(parse(object, &root, &copy));
	assert_int_equal(image_json_get(root, name, &value), 1);
	name[299] = '\0';
	assert_int_equal(image_json_get(root, name, &value), 0);
	free(copy);
}

TEST(texts_lose_their_escapes)
{
	static const struct {
		const char *from, *to;
	} rows[] = {{"\"a\\n\\/\\u00e9\\u20ac\"", "a\n/\xc3\xa9\xe2\x82\xac"},
		{"\"123456789abc\"", NULL}, {"\"\\u0000\"", NULL},
		{"\"\\ud800\"", NULL}, {"1", NULL}, {"[\"a\"]", NULL}};
	struct image_json root;
	char text[12], *copy;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_true(parse(rows[i].from, &root, &copy));
		assert_true(image_json_text(root, text, sizeof(text)) ==
			    (rows[i].to != NULL));
		if (rows[i].to)
			assert_string_equal(text, rows[i].to);
		free(copy);
	}
}

TEST(numbers_have_a_range)
{
	struct image_json root;
	uint64_t number;
	char *copy;

	assert_true(parse("18446744073709551615", &root, &copy));
	assert_true(image_json_number(root, &number) && number == UINT64_MAX);
	free(copy);
	for (const char *const *text = (const char *const[]){"-1", "1.0", "1e3",
		     "18446744073709551616", "\"1\"", NULL};
		*text; text++) {
		assert_true(parse(*text, &root, &copy));
		assert_false(image_json_number(root, &number));
		free(copy);
	}
}

TEST(an_address_has_a_host_a_name_and_a_reference)
{
	static const struct {
		const char *from, *host, *name, *reference;
	} rows[] = {
		{"oci://quay.io/containerdisks/fedora:42", "quay.io",
			"containerdisks/fedora", "42"},
		{"oci://localhost:5000/a", "localhost:5000", "a", "latest"},
		{"oci://[::1]:80/a_b/c-d.e:V_1.0-x", "[::1]:80", "a_b/c-d.e",
			"V_1.0-x"},
		{"oci://docker.io/alpine", "registry-1.docker.io",
			"library/alpine", "latest"},
		{"oci://index.docker.io/a/b", "registry-1.docker.io", "a/b",
			"latest"},
	};
	struct oci_address a;
	char text[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_null(oci_address_parse(&a, rows[i].from));
		assert_string_equal(a.host, rows[i].host);
		assert_string_equal(a.name, rows[i].name);
		assert_string_equal(a.reference, rows[i].reference);
		assert_false(a.by_digest);
	}
	snprintf(text, sizeof(text), "oci://h/n:tag@sha256:%064d", 7);
	assert_null(oci_address_parse(&a, text));
	assert_string_equal(a.reference, strchr(text, '@') + 1);
	assert_true(a.by_digest && a.expect.bytes[31] == 7);
}

TEST(the_registry_of_docker_has_several_names_in_files)
{
	static const char *const keys[] = {"docker.io/library/alpine",
		"docker.io/library", "docker.io",
		"https://index.docker.io/v1/"};
	struct oci_address a;
	struct image_error err;
	char name[32];

	assert_null(oci_address_parse(&a, "oci://docker.io/alpine"));
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		struct oci_login login = {0};
		int fd = memfd_create("auth", MFD_CLOEXEC);
		assert_true(fd >= 0);
		dprintf(fd, "{\"auths\": {\"%s\": {\"auth\": \"YTpi\"}}}",
			keys[i]);
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		setenv("REGISTRY_AUTH_FILE", name, 1);
		assert_ok(oci_login_find(&a, &login, &err));
		assert_string_equal(login.user, "a");
		assert_string_equal(login.password, "b");
		oci_login_free(&login);
		close(fd);
	}
	unsetenv("REGISTRY_AUTH_FILE");
}

TEST(a_server_names_ways_to_log_in)
{
	static const struct {
		const char *from, *realm, *service;
		bool bearer, basic;
	} rows[] = {
		{"Bearer realm=\"https://a/t\",service=\"s\",scope=\"x,y\"",
			"https://a/t", "s", true, false},
		{"Basic realm=\"a, Bearer realm=b\", bearer REALM = c", "c", "",
			true, true},
		{"Negotiate YWJj==, Bearer service=\"a\\\"b,c\" , realm=r", "r",
			"a\"b,c", true, false},
		{"Bearer realm=\"a\", Bearer realm=\"b\"", "a", "", true,
			false},
		{"Digest realm=\"a\"", "", "", false, false},
		{"Bearer realm=\"open", "open", "", true, false},
		{"", "", "", false, false},
		{"=, \"", "", "", false, false},
	};
	struct oci_challenge c;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		oci_challenge_parse(rows[i].from, &c);
		assert_string_equal(c.realm, rows[i].realm);
		assert_string_equal(c.service, rows[i].service);
		assert_true(c.bearer == rows[i].bearer);
		assert_true(c.basic == rows[i].basic);
	}
}
