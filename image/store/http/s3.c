/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * s3://BUCKET/KEY: the address and the signature of its requests, by the
 * variables and files of the programs of AWS.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "store/address.h"
#include "store/http/http.h"

#define MAX_VALUE 4096
#define DEFAULT_REGION "us-east-1"
/* It is a label of a host's name: RFC 1035. */
#define MAX_REGION 63
#define BUCKET_BYTES                                                           \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

/* An empty value is not set. */
struct settings {
	char key[MAX_VALUE];
	char secret[MAX_VALUE];
	char token[MAX_VALUE];
	char region[MAX_VALUE];
	char endpoint[MAX_VALUE];
};

static const struct {
	const char *name;
	const char *variables[2];
	size_t offset;
	/* a part of the credentials, which all come from one place */
	bool credential;
} members[] = {
	{"aws_access_key_id", {"AWS_ACCESS_KEY_ID"},
		offsetof(struct settings, key), true},
	{"aws_secret_access_key", {"AWS_SECRET_ACCESS_KEY"},
		offsetof(struct settings, secret), true},
	{"aws_session_token", {"AWS_SESSION_TOKEN"},
		offsetof(struct settings, token), true},
	{"region", {"AWS_REGION", "AWS_DEFAULT_REGION"},
		offsetof(struct settings, region), false},
	{"endpoint_url", {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"},
		offsetof(struct settings, endpoint), false},
};
#define MEMBERS (sizeof(members) / sizeof(*members))

static char *
member(struct settings *settings, size_t i)
{
	return (char *)settings + members[i].offset;
}

static int
set(struct settings *settings, size_t i, const char *value, const char *file,
	struct image_error *err)
{
	if (strlen(value) >= MAX_VALUE)
		return image_fail(err, file, -EINVAL,
			"%s is longer than %d bytes", members[i].name,
			MAX_VALUE - 1);
	memcpy(member(settings, i), value, strlen(value) + 1);
	return 0;
}

static const char *
variable(const char *name)
{
	const char *value = name ? getenv(name) : NULL;

	return value && value[0] ? value : NULL;
}

static char *
trim(char *text)
{
	text += strspn(text, " \t\r\n");
	size_t length = strlen(text);
	while (length && strchr(" \t\r\n", text[length - 1]))
		length--;
	text[length] = '\0';
	return text;
}

/* A profile of the file of credentials is [NAME], one of the file of settings
 * is [profile NAME] or [default]. */
static bool
is_section(char *line, const char *profile, bool is_config)
{
	size_t length = strlen(line);

	if (length < 2 || line[length - 1] != ']')
		return false;
	line[length - 1] = '\0';
	char *name = trim(line + 1);
	if (is_config && strcmp(name, "default") != 0) {
		if (strncmp(name, "profile", 7) != 0 || !strchr(" \t", name[7]))
			return false;
		name = trim(name + 7);
	}
	return strcmp(name, profile) == 0;
}

/* Take NAME = VALUE, if nothing before has set it. */
static int
take_line(struct settings *settings, char *line, bool credentials,
	const char *file, struct image_error *err)
{
	char *value = strchr(line, '=');

	if (!value)
		return 0;
	*value++ = '\0';
	value = trim(value);
	line = trim(line);
	for (size_t i = 0; i < MEMBERS; i++) {
		if (strcmp(line, members[i].name) != 0 ||
			*member(settings, i) ||
			(members[i].credential && !credentials))
			continue;
		return set(settings, i, value, file, err);
	}
	return 0;
}

/* Returns 1 if the file has the profile. */
static int
read_profile(struct settings *settings, const char *file, const char *profile,
	bool is_config, struct image_error *err)
{
	FILE *from = fopen(file, "re");
	char *line = NULL;
	size_t size = 0;
	bool inside = false;
	int rc = 0, found = 0;
	/* A key of one place and a secret of another do not fit. */
	bool credentials = !settings->key[0] && !settings->secret[0];

	if (!from && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (!from)
		return image_fail(err, file, -errno, "cannot be opened: %s",
			strerror(errno));
	while (rc == 0 && getline(&line, &size, from) >= 0) {
		if (line[0] == '[') {
			inside = is_section(trim(line), profile, is_config);
			found |= inside;
		} else if (inside && !strchr("#; \t", line[0])) {
			/* Indented lines belong to a member with parts. */
			rc = take_line(settings, line, credentials, file, err);
		}
	}
	if (rc == 0 && ferror(from))
		rc = image_fail(err, file, -EIO, "cannot be read");
	/* The line may have a secret. */
	if (line)
		explicit_bzero(line, size);
	free(line);
	fclose(from);
	return rc < 0 ? rc : found;
}

static int
read_settings(
	struct settings *settings, const char *name, struct image_error *err)
{
	static const struct {
		const char *variable;
		const char *in_home;
	} files[] = {{"AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"},
		{"AWS_CONFIG_FILE", ".aws/config"}};
	const char *wanted = variable("AWS_PROFILE"), *home = variable("HOME");
	char path[IMAGE_NAME_MAX];
	bool found = false;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < MEMBERS; i++) {
		const char *value = variable(members[i].variables[0]);
		if (!value)
			value = variable(members[i].variables[1]);
		if (value)
			rc = set(settings, i, value, name, err);
	}
	for (size_t i = 0; rc >= 0 && i < 2; i++) {
		const char *file = variable(files[i].variable);
		if (!file && home &&
			snprintf(path, sizeof(path), "%s/%s", home,
				files[i].in_home) < (int)sizeof(path))
			file = path;
		if (file)
			rc = read_profile(settings, file,
				wanted ? wanted : "default", i == 1, err);
		found = found || rc > 0;
	}
	if (rc < 0)
		return rc;
	if (wanted && !found)
		return image_fail(err, name, -ENOENT,
			"the profile '%s' of AWS_PROFILE does not exist",
			wanted);
	if (!settings->key[0] != !settings->secret[0])
		return image_fail(err, name, -EINVAL, "%s has no %s",
			members[!settings->key[0]].name,
			members[!settings->secret[0]].name);
	if (!settings->region[0])
		memcpy(settings->region, DEFAULT_REGION,
			sizeof(DEFAULT_REGION));
	size_t length = strlen(settings->region);
	if (length > MAX_REGION ||
		strspn(settings->region,
			"abcdefghijklmnopqrstuvwxyz0123456789-") < length)
		return image_fail(err, name, -EINVAL,
			"'%.100s' is not a region of AWS", settings->region);
	return 0;
}

/* libcurl would remove such a part of a path. */
static bool
has_dots(const char *key)
{
	while (*key) {
		size_t length = strcspn(key, "/");
		if ((length == 1 || length == 2) &&
			strncmp(key, "..", length) == 0)
			return true;
		key += length + (key[length] == '/');
	}
	return false;
}

/* Returns the address, which the caller frees; NULL without memory. */
static char *
make_url(const struct settings *settings, const char *bucket, size_t length,
	const char *key)
{
	size_t end = strlen(settings->endpoint);
	size_t size =
		end + length + strlen(settings->region) + 3 * strlen(key) + 128;
	char *url = malloc(size);
	int used;

	if (!url)
		return NULL;
	while (end && settings->endpoint[end - 1] == '/')
		end--;
	if (end)
		used = snprintf(url, size, "%.*s/%.*s/", (int)end,
			settings->endpoint, (int)length, bucket);
	else if (memchr(bucket, '.', length))
		/* No certificate is for a name with more dots. */
		used = snprintf(url, size, "https://s3.%s.amazonaws.com/%.*s/",
			settings->region, (int)length, bucket);
	else
		used = snprintf(url, size, "https://%.*s.s3.%s.amazonaws.com/",
			(int)length, bucket, settings->region);
	char *to = url + used;
	for (; *key; key++)
		if (strchr(BUCKET_BYTES "~/", *key))
			*to++ = *key;
		else
			to += sprintf(to, "%%%02X", (unsigned char)*key);
	*to = '\0';
	return url;
}

/*
 * S3 requires the SHA-256 of the request's body with each signature, and old
 * libcurl does not add it. This one is of no bytes: a GET has no body.
 */
#define NO_BODY                                                                \
	"x-amz-content-sha256: "                                               \
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static bool
sign(struct http_target *target, const struct settings *settings)
{
	char text[MAX_VALUE + 64];

	if (!settings->key[0])
		return true;
	snprintf(text, sizeof(text), "aws:amz:%s:s3", settings->region);
	target->sigv4 = strdup(text);
	target->user = strdup(settings->key);
	target->password = strdup(settings->secret);
	bool good = target->sigv4 && target->user && target->password &&
		    http_append(&target->headers, NO_BODY);
	if (good && settings->token[0]) {
		snprintf(text, sizeof(text), "x-amz-security-token: %s",
			settings->token);
		good = http_append(&target->headers, text);
	}
	explicit_bzero(text, sizeof(text));
	return good;
}

int
http_s3_parse(struct http_target *target, const char *address, const char *name,
	struct image_error *err)
{
	const char *bucket = address + strlen("s3://");
	struct settings settings = {0};

	if (strncmp(address, "s3://", strlen("s3://")) != 0)
		return image_fail(err, name, -EINVAL,
			"is not a valid address: s3://BUCKET/KEY has two "
			"slashes");
	size_t length = strcspn(bucket, "/");
	size_t good = strspn(bucket, BUCKET_BYTES);
	const char *key = bucket + length + (bucket[length] == '/');
	if (length == 0 || good < length || !*key || has_dots(key))
		return image_fail(err, name, -EINVAL,
			"is not a valid address: s3://BUCKET/KEY%s",
			has_dots(key) ? " with a part . or .. cannot be read"
				      : "");
	int rc = read_settings(&settings, name, err);
	if (rc == 0) {
		target->url = make_url(&settings, bucket, length, key);
		target->region = strdup(settings.region);
		if (!target->url || !target->region || !sign(target, &settings))
			rc = image_no_memory(err);
	}
	explicit_bzero(&settings, sizeof(settings));
	return rc;
}

bool
image_s3_is_plain(void)
{
	struct settings settings = {0};
	struct image_error err;
	bool plain = read_settings(&settings, "", &err) == 0 &&
		     strncmp(settings.endpoint, "http:", 5) == 0;

	explicit_bzero(&settings, sizeof(settings));
	return plain;
}
