/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of digests, such as SHA256SUMS. */
#include "hash/hash.h"
#include "support.h"

/* Digits of a digest whose bytes are all alike. */
#define A8 "aaaaaaaa"
#define B8 "bbbbbbbb"
#define FOUR(x) x x x x
#define A256 FOUR(A8) FOUR(A8)
#define B256 FOUR(B8) FOUR(B8)
#define C256 FOUR("CCCCCCCC") FOUR("cccccccc")
#define A224 FOUR(A8) A8 A8 A8
#define A384 A256 FOUR(A8)
#define A512 A256 A256
#define B512 B256 B256
#define A160 FOUR(A8) A8
#define A128 FOUR(A8)

#define MESSAGE "-----BEGIN PGP SIGNED MESSAGE-----\n"
#define SIGNATURE                                                              \
	"-----BEGIN PGP SIGNATURE-----\n\niQIz\n=abcd\n"                       \
	"-----END PGP SIGNATURE-----\n"

static struct image_expect expect;
static struct image_error err;

static int
find_bytes(const char *list, size_t length, const char *name)
{
	char *text = malloc(length + 1);

	assert_non_null(text);
	memcpy(text, list, length);
	expect = (struct image_expect){.algorithm = NULL};
	int rc = image_sums_find("list", text, length, name, &expect, &err);
	free(text);
	return rc;
}

static int
find(const char *list, const char *name)
{
	return find_bytes(list, strlen(list), name);
}

/* The list has for disk.img a digest of that algorithm and of these bytes. */
static void
finds(const char *list, const char *algorithm, unsigned char byte)
{
	assert_int_equal(find(list, "disk.img"), 0);
	assert_string_equal(expect.algorithm->name, algorithm);
	for (size_t i = 0; i < expect.algorithm->length; i++)
		assert_int_equal(expect.bytes[i], byte);
}

static void
finds_nothing(const char *list)
{
	assert_int_equal(find(list, "disk.img"), -ENOENT);
	assert_string_equal(err.file, "list");
	assert_string_equal(err.text,
		"lists no SHA-2 or BLAKE2b digest of 'disk.img' (the "
		"name in the list must be that of the image's file)");
}

TEST(lines_of_every_tool_are_read)
{
	finds(A256 "  disk.img\n", "sha256", 0xaa);
	finds(A256 " *disk.img\n", "sha256", 0xaa);
	finds(A256 " disk.img", "sha256", 0xaa);
	finds(C256 "  disk.img\r\n", "sha256", 0xcc);
	finds(A224 "  disk.img\n", "sha224", 0xaa);
	finds(A384 "  disk.img\n", "sha384", 0xaa);
	finds(A512 "  disk.img\n", "sha512", 0xaa);
	finds("SHA256 (disk.img) = " A256 "\n", "sha256", 0xaa);
	finds("SHA512 (disk.img) = " B512, "sha512", 0xbb);
	finds("BLAKE2b (disk.img) = " A512 "\r\n", "blake2b", 0xaa);
	finds("SHA256(disk.img)= " A256 "\n", "sha256", 0xaa);
	/* OpenSSL 3, and 1.1 of BLAKE2b */
	finds("SHA2-256(disk.img)= " A256 "\n", "sha256", 0xaa);
	finds("SHA2-224(disk.img)= " A224 "\n", "sha224", 0xaa);
	finds("SHA2-384(disk.img)= " A384 "\n", "sha384", 0xaa);
	finds("SHA2-512(disk.img)= " A512 "\n", "sha512", 0xaa);
	finds("BLAKE2B-512(disk.img)= " A512 "\n", "blake2b", 0xaa);
	finds("BLAKE2b512(disk.img)= " A512 "\n", "blake2b", 0xaa);
	finds("SHA-256 (./disk.img) = " A256 "\n", "sha256", 0xaa);
	finds("sha512 (disk.img) =" A512 " \n", "sha512", 0xaa);
	finds("SHA256 (*disk.img) = " A256 "\n", "sha256", 0xaa);
	finds(A256 "  *disk.img\n", "sha256", 0xaa);
	finds(A256 " *./disk.img\n", "sha256", 0xaa);
}

TEST(digits_alone_are_the_only_line)
{
	finds(A256, "sha256", 0xaa);
	finds("\n" A512 " \r\n\n", "sha512", 0xaa);
	finds_nothing(A160 "\n");
	finds_nothing(A128 "\n");
	finds_nothing(A256 "\n" A256 "\n");
	finds_nothing("# of a file\n" A256 "\n");
	finds_nothing(A256 "  other\n" B256 "\n");
	finds(A256 "  disk.img\n" B256 "\n", "sha256", 0xaa);
	finds(MESSAGE "\n" A256 "\n" SIGNATURE, "sha256", 0xaa);
}

TEST(other_algorithms_are_not_taken_for_one)
{
	finds_nothing("SHA3-256(disk.img)= " A256 "\n");
	finds_nothing("SHA2-512/256(disk.img)= " A256 "\n");
	finds_nothing("SHA512-256 (disk.img) = " A256 "\n");
	finds_nothing("BLAKE2b-256 (disk.img) = " A256 "\n");
	finds_nothing("KECCAK-256(disk.img)= " A256 "\n");
	finds_nothing("HMAC-SHA2-256(disk.img)= " A256 "\n");
	finds_nothing(" (disk.img)= " A256 "\n");
	finds_nothing("(disk.img)= " A256 "\n");
}

TEST(other_lines_and_names_are_ignored)
{
	finds("# disk.img: 5 bytes\n\n" B256 "  other\n" B256
	      "  disk.img.xz\n" B256 "  xdisk.img\n" A256 "  disk.img\n" B256
	      "  disk\n",
		"sha256", 0xaa);
	finds_nothing("");
	finds_nothing("\n\n\\\n");
	finds_nothing(A256 "\tdisk.img\n");
	finds_nothing(A256 "  DISK.IMG\n");
	finds_nothing(A256 "0  disk.img\n");
	finds_nothing("0" A256 "  disk.img\n");
	finds_nothing("SHA256 (disk.img) = " A256 "0\n");
	finds_nothing("SHA256 (disk.img) = 0\n");
	finds_nothing("SHA256 (disk.img) " A256 "\n");
	finds_nothing("SHA256 (disk.img = " A256 "\n");
	finds_nothing("SHA256 disk.img) = " A256 "\n");
	finds_nothing("SHA512 (disk.img) = " A256 "\n");
	finds_nothing("CRC (disk.img) = " A256 "\n");
	finds_nothing("SHA256" A256 "\n");
	finds_nothing("SHA256 (");
	finds_nothing("SHA256 (=" A256);
}

TEST(folders_are_ignored)
{
	finds(A256 "  ./disk.img\n" B256 "  a/other\n", "sha256", 0xaa);
	finds("SHA256 (a/b/disk.img) = " A256 "\n", "sha256", 0xaa);
	finds_nothing(A256 "  disk.img/\n");
	finds_nothing(A256 "  disk.img/b\n");
}

TEST(names_may_have_any_byte)
{
	assert_int_equal(find("\\" A256 "  a\\nb\\\\c\\rd\n", "a\nb\\c\rd"), 0);
	assert_int_equal(find("\\SHA256 (a\\nb) = " A256 "\n", "a\nb"), 0);
	/* without a backslash at the beginning there are no escapes */
	assert_int_equal(find(A256 "  a\\nb\n", "a\\nb"), 0);
	assert_int_equal(find(A256 "  a\\nb\n", "a\nb"), -ENOENT);
	assert_int_equal(find("\\" A256 "  a\\xb\n", "axb"), -ENOENT);
	assert_int_equal(find("\\" A256 "  a\\xb\n", "a\\xb"), -ENOENT);
	assert_int_equal(find("\\" A256 "  ab\\\n", "ab"), -ENOENT);
	assert_int_equal(find("SHA256 (a) = (b) = " A256, "a) = (b"), 0);
	assert_int_equal(find(A256 "   *a ", " *a "), 0);
	assert_int_equal(find(A256 "  \xff\x01", "\xff\x01"), 0);
	static const char null[] = A256 "  a\0b\n";
	assert_int_equal(find_bytes(null, sizeof(null) - 1, "a"), -ENOENT);
}

TEST(digests_that_can_be_made_are_ignored)
{
	finds_nothing(A160 "  disk.img\n" A128 "  disk.img\n"
			   "MD5 (disk.img) = " A128 "\n"
			   "SHA1 (disk.img) = " A160 "\n");
	finds(A160 "  disk.img\n" B256 "  disk.img\n", "sha256", 0xbb);
}

TEST(the_longest_digest_is_taken)
{
	finds(A256 "  disk.img\n" B512 "  disk.img\n" A224 "  disk.img\n",
		"sha512", 0xbb);
	finds("BLAKE2b (disk.img) = " A512 "\nSHA512 (disk.img) = " B512 "\n",
		"sha512", 0xbb);
}

TEST(two_digests_of_one_name_are_refused)
{
	finds(A256 "  disk.img\n" A256 " *x/disk.img\n", "sha256", 0xaa);
	assert_int_equal(find(A256 "  disk.img\n" B512 "  disk.img\n" B256
				   "  x/disk.img\n",
				 "disk.img"),
		-EINVAL);
	assert_string_equal(
		err.text, "has two different sha256 digests of 'disk.img'");
	assert_int_equal(find(A256 "  disk.img\n" B256 "  disk.img\n" A256
				   "  disk.img\n",
				 "disk.img"),
		-EINVAL);
}

TEST(a_signed_message_alone_is_read)
{
	finds(B256 "  disk.img\n" MESSAGE "Hash: SHA512\n" B256
		   "  disk.img\n\n" A256 "  disk.img\n" SIGNATURE B256
		   "  disk.img\n",
		"sha256", 0xaa);
	finds("-----BEGIN PGP SIGNED MESSAGE-----\r\nHash: SHA512\r\n\r\n- "
	      "-----\r\n- " A256 "  disk.img\r\n-----BEGIN PGP "
	      "SIGNATURE-----  \r\n",
		"sha256", 0xaa);
	assert_int_equal(find(MESSAGE "\n" A256 "  -x\n- " B256 "  - y\n- - "
				      "x\n" SIGNATURE,
				 "- y"),
		0);
	finds_nothing(MESSAGE "\n" SIGNATURE A256 "  disk.img\n");
	/* a line that only looks like the beginning */
	finds("x" MESSAGE A256 "  disk.img\n", "sha256", 0xaa);
}

TEST(a_message_that_is_cut_or_not_alone_is_refused)
{
	static const char cut[] = MESSAGE "\n" A256 "  disk.img\n";
	static const char *const incomplete =
		"has a signed message without an end: the list is not "
		"complete";

	assert_int_equal(find(cut, "disk.img"), -EINVAL);
	assert_string_equal(err.text, incomplete);
	assert_int_equal(find(MESSAGE, "disk.img"), -EINVAL);
	assert_int_equal(find(MESSAGE SIGNATURE, "disk.img"), -EINVAL);
	assert_string_equal(err.text, incomplete);
	assert_int_equal(find(MESSAGE "\n" A256 "  disk.img\n" SIGNATURE MESSAGE
				      "\n" SIGNATURE,
				 "disk.img"),
		-EINVAL);
	assert_string_equal(err.text, "has two signed messages");
}
