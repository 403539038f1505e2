/* SPDX-License-Identifier: BSD-3-Clause */
/* The authorities whose certificates are trusted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "store/http/http.h"
#include "store/stream.h"

/* Bytes of the file of --cacert. Those of distributions have half a MiB. */
#define MAX_CERTIFICATES ((size_t)4 << 20)

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

/* As for curl, colons may separate several. OpenSSL reports none. */
static int
set_directories(
	struct http_trust *trust, const char *list, struct image_error *err)
{
	char *copy = strdup(list), *left = copy;
	const char *one;
	struct stat st;

	trust->directory = strdup(list);
	int rc = copy && trust->directory ? 0 : image_no_memory(err);
	while (rc == 0 && (one = strsep(&left, ":"))) {
		if (stat(one, &st) < 0)
			rc = image_fail(err, one, -errno,
				"cannot be opened: %s", strerror(errno));
		else if (!S_ISDIR(st.st_mode))
			rc = image_fail(
				err, one, -ENOTDIR, "is not a directory");
	}
	free(copy);
	return rc;
}

int
http_trust_parse(struct http_trust *trust, const struct image_network *network,
	struct image_error *err)
{
	int rc = 0;

	if (network->ca_file) {
		trust->file = strdup(network->ca_file);
		rc = trust->file ? image_stream_read_file(network->ca_file,
					   MAX_CERTIFICATES, &trust->pem,
					   &trust->length, err)
				 : image_no_memory(err);
	}
	if (rc == 0 && trust->pem &&
		!has_certificate(trust->pem, trust->length))
		rc = image_fail(err, network->ca_file, -EINVAL,
			"has no certificate in PEM, which begins with "
			"-----BEGIN CERTIFICATE-----");
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

/* Returns the certificates of the system, or NULL if libcurl knows them. */
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

CURLcode
http_trust_apply(const struct http_trust *trust, CURL *easy)
{
	struct curl_blob blob = {trust->pem, trust->length, CURL_BLOB_NOCOPY};
	bool own = trust->file || trust->directory;
	const char *name, *bundle = NULL, *directory = trust->directory;
	CURLcode code = CURLE_OK;

	if (!own) {
		bundle = http_trust_variable(&name);
		if (!bundle)
			bundle = system_bundle();
		directory = getenv("SSL_CERT_DIR");
	}
	if (trust->pem)
		code = libcurl.easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
	else if (own || bundle)
		/* NULL takes away what the system trusts. */
		code = libcurl.easy_setopt(easy, CURLOPT_CAINFO, bundle);
	if (!code && (own || (directory && directory[0])))
		code = libcurl.easy_setopt(easy, CURLOPT_CAPATH, directory);
	/* As curl does. Fails only in a libcurl without proxies. */
	if (!code && directory && directory[0])
		libcurl.easy_setopt(easy, CURLOPT_PROXY_CAPATH, directory);
	return code;
}
