/* SPDX-License-Identifier: BSD-3-Clause */
/* The authorities whose certificates are trusted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "store/http/http.h"

/* Bytes of the file of --cacert. Those of distributions have half a MiB. */
#define MAX_CERTIFICATES ((size_t)4 << 20)

/* Returns whether OpenSSL looks for a certificate in the text. */
static bool
has_certificate(const char *text, size_t length)
{
	static const char *const lines[] = {"-----BEGIN CERTIFICATE-----",
		"-----BEGIN TRUSTED CERTIFICATE-----",
		"-----BEGIN X509 CERTIFICATE-----"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (memmem(text, length, lines[i], strlen(lines[i])))
			return true;
	return false;
}

static int
read_file(struct http_trust *trust, const char *file, struct image_error *err)
{
	ssize_t n = http_read_file(file, MAX_CERTIFICATES, &trust->pem, err);

	if (n < 0)
		return (int)n;
	trust->length = (size_t)n;
	if (trust->length > MAX_CERTIFICATES)
		return image_fail(err, file, -EFBIG,
			"is larger than %zu MiB: not a file of certificates",
			MAX_CERTIFICATES >> 20);
	if (!has_certificate(trust->pem, trust->length))
		return image_fail(err, file, -EINVAL,
			"has no certificate in PEM, which begins with "
			"-----BEGIN CERTIFICATE-----");
	trust->file = strdup(file);
	return trust->file ? 0 : image_no_memory(err);
}

/* As for curl, directories may be separated by colons. OpenSSL ignores one that
 * does not exist. */
static int
check_directories(char *list, struct image_error *err)
{
	const char *one;
	int rc = 0;

	while (rc == 0 && (one = strsep(&list, ":"))) {
		struct stat st;
		if (stat(one, &st) < 0)
			rc = image_fail(err, one, -errno,
				"cannot be opened: %s", strerror(errno));
		else if (!S_ISDIR(st.st_mode))
			rc = image_fail(
				err, one, -ENOTDIR, "is not a directory");
	}
	return rc;
}

static int
set_directories(
	struct http_trust *trust, const char *list, struct image_error *err)
{
	char *copy = strdup(list);

	trust->directory = strdup(list);
	int rc = copy && trust->directory ? check_directories(copy, err)
					  : image_no_memory(err);
	free(copy);
	return rc;
}

int
http_trust_parse(struct http_trust *trust, const struct image_network *network,
	struct image_error *err)
{
	int rc = 0;

	if (network->ca_file)
		rc = read_file(trust, network->ca_file, err);
	if (rc == 0 && network->ca_directory)
		rc = set_directories(trust, network->ca_directory, err);
	return rc;
}

void
http_trust_free(struct http_trust *trust)
{
	free(trust->file);
	free(trust->pem);
	free(trust->directory);
}

/*
 * Returns the certificates that this system trusts, or NULL if libcurl knows
 * them: that of a distribution does.
 */
static const char *
system_bundle(void)
{
#ifdef IMAGE_LINKED
	static const char *const bundles[] = {
		/* Debian, Ubuntu, Arch, Alpine */
		"/etc/ssl/certs/ca-certificates.crt",
		/* Fedora, Red Hat */
		"/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
		/* SUSE */
		"/etc/ssl/ca-bundle.pem",
		/* Alpine without ca-certificates, FreeBSD */
		"/etc/ssl/cert.pem",
	};

	for (size_t i = 0; i < sizeof(bundles) / sizeof(bundles[0]); i++)
		if (access(bundles[i], R_OK) == 0)
			return bundles[i];
#endif
	return NULL;
}

/* As curl does: for an https proxy, too. */
static CURLcode
set_directory(CURL *easy, const char *directory)
{
	CURLcode code = libcurl.easy_setopt(easy, CURLOPT_CAPATH, directory);

	/* Fails only in a libcurl without proxies. */
	if (directory)
		libcurl.easy_setopt(easy, CURLOPT_PROXY_CAPATH, directory);
	return code;
}

/* NULL takes away what the system trusts. */
static CURLcode
apply_options(const struct http_trust *trust, CURL *easy)
{
	struct curl_blob blob = {trust->pem, trust->length, CURL_BLOB_NOCOPY};
	const char *none = NULL;
	CURLcode code =
		trust->pem
			? libcurl.easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob)
			: libcurl.easy_setopt(easy, CURLOPT_CAINFO, none);

	return code ? code : set_directory(easy, trust->directory);
}

/* libcurl leaves these to programs; names and order are curl's. */
const char *
http_trust_variable(const char **name)
{
	static const char *const names[] = {"CURL_CA_BUNDLE", "SSL_CERT_FILE"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *file = getenv(names[i]);
		*name = names[i];
		if (file && file[0])
			return file;
	}
	return NULL;
}

static CURLcode
apply_environment(CURL *easy)
{
	const char *name;
	const char *bundle = http_trust_variable(&name);
	const char *directory = getenv("SSL_CERT_DIR");
	CURLcode code = CURLE_OK;

	if (!bundle)
		bundle = system_bundle();
	if (bundle)
		code = libcurl.easy_setopt(easy, CURLOPT_CAINFO, bundle);
	if (!code && directory && directory[0])
		code = set_directory(easy, directory);
	return code;
}

CURLcode
http_trust_apply(const struct http_trust *trust, CURL *easy)
{
	return trust->file || trust->directory ? apply_options(trust, easy)
					       : apply_environment(easy);
}
