/* SPDX-License-Identifier: BSD-3-Clause */
/* What is shown of addresses, and which ones are one export. Addresses as users
 * write them are in tests/cli. */
#include "support.h"
#include "image.h"

static void
shows(const char *text, const char *expected)
{
	char *shown = image_hide_secrets(text);

	assert_non_null(shown);
	assert_string_equal(shown, expected);
	free(shown);
}

static void
names(const char *address, const char *path)
{
	char *text = strdup(address);
	const char *why;

	assert_non_null(text);
	assert_int_equal(image_file_url(text, &why), 1);
	assert_string_equal(text, path);
	free(text);
}

TEST(the_address_of_a_file_is_its_path)
{
	names("file:///a", "/a");
	names("FILE://LocalHost/a/b.qcow2", "/a/b.qcow2");
	names("file:////a", "//a");
	names("file:///", "/");
	names("file:///a%20b%25%2f%C3%bc%3F%23", "/a b%/\xc3\xbc?#");
	names("file:///http://h/%41", "/http://h/A");
}

TEST(other_addresses_of_files_are_refused)
{
	static const char *const bad[] = {"file://", "file://localhost",
		"file://host/a", "file://localhos/a", "file://localhost:1/a",
		"file://me@localhost/a", "file://127.0.0.1/a", "file:///a?b",
		"file:///a#b", "file:///%", "file:///%4", "file:///%4g",
		"file:///%g4", "file:///a%00b", "file://%6cocalhost/a"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char *text = strdup(bad[i]);
		const char *why = NULL;
		assert_non_null(text);
		assert_int_equal(image_file_url(text, &why), -EINVAL);
		assert_non_null(why);
		free(text);
	}
}

TEST(what_is_no_address_of_a_file_stays)
{
	static const char *const others[] = {"", "file", "file:", "file:/a",
		"file:a", "./file:///a", "/file:///a", "http://file:///a"};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		char *text = strdup(others[i]);
		const char *why;
		assert_non_null(text);
		assert_ok(image_file_url(text, &why));
		assert_string_equal(text, others[i]);
		free(text);
	}
}

TEST(no_bracket_in_a_password_makes_it_a_host)
{
	shows("https://u:pa]ss/wo@h/a", "https://");
	shows("https://u:pa]:1/wo@h/a", "https://");
	shows("https://[u:pa]s/wo@h/a", "https://");
	shows("https://[u:pa' ]/wo@h/a", "https://");
	shows("https://u:p@[::1]:80/a", "https://[::1]:80/a");
	shows("https://[::1]", "https://[::1]");
}

TEST(more_slashes_are_no_host)
{
	shows("http:///u:hid@h/a?hid", "http:///h/a");
	shows("a https:////u:hid@h/a?hid b", "a https:////h/a b");
	shows("https://h:8/https:///u:hid@h/", "https://h:8/https://");
	shows("https:///u:hid/den@h/", "https:///");
	shows("https://u@//u:hid@h", "https://");
}

TEST(a_name_ends_with_a_scheme_that_is_not_ours)
{
	shows("ssh://u:hid@h/a", "ssh://");
	shows("ssh://u:hi d@h/a", "ssh://");
	shows("JSON:{\"a\":\"https:\\/\\/u:hid@h\"}", "JSON:");
	shows("its file 'ssh://u:hid@h/a' is", "its file 'ssh://' is");
}

TEST(an_export_without_a_host_has_no_user)
{
	shows("nbd+unix:///a@b:c?socket=/s", "nbd+unix:///a@b:c?socket=/s");
	shows("a nbds://u@/b:c", "a nbds:///b:c");
	shows("NBD:///a:b", "nbd:///a:b");
}

TEST(an_address_in_json_shows_no_secret)
{
	shows("{\"a\":\"https:\\/\\/u:hid@h\\/a?hid\"}",
		"{\"a\":\"https:\\/\\/h\\/a\"}");
	shows("\"https:\\/\\/\\/u:hid@h\"", "\"https:\\/\\/\\/h\"");
	shows("https:\\/a@b", "https:\\/b");
	shows("a:\\/a@b", "a:\\/a@b");
}

TEST(an_address_inside_another_shows_no_secret)
{
	shows("https://p/https://u:hid@h/a?hid", "https://p/https://");
	shows("a https://p/ftp://u:hid@h?hid b", "a https://p/ftp:// b");
	shows("a=nbd://u@h,b=ftp://u:hid@h", "a=nbd://h,b=ftp://");
	shows("nbd://u:hid://den@h/a b", "nbd://");

	char *name = image_address_name("nbd://h/ftp://u:hid@h");
	assert_string_equal(name, "nbd://h/ftp://");
	free(name);
}

TEST(an_address_after_another_shows_no_secret)
{
	shows("nbd://u@h/a ftp://u:hid@h/a", "nbd://h/a ftp://");
	shows("a s3://b/a https://u:hid@h/a?hid 'ssh://u@h'",
		"a s3://b/a https://h/a 'ssh://'");
	shows("nbd: https://u:hid@h/a?hid", "nbd:");
	shows("nbd:u@//h:x", "nbd:");
	shows("http:u:12/hid@h/a", "http:");
	shows("s3:hid:1/hid@b/a", "s3:");
	shows("https://h/a@b", "https://h/a@b");
}

TEST(a_path_is_no_export)
{
	assert_true(image_address_is_same("nbd://h/a", "NBDS://u@H:10809/%61"));
	assert_false(image_address_is_same("nbd://h/a", "nbdx://h/a"));
	assert_false(image_address_is_same("nbd.img://h/a", "nbd://h/a"));
}
