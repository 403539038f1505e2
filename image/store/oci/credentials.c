/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The user and the password that the files of Docker and Podman have for a
 * registry, themselves or by a program of the user.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "blocks/blocks.h"
#include "store/oci/json.h"
#include "store/oci/oci.h"

/* Bytes of a file, of what a program prints, of a user and a password. */
#define MAX_FILE ((size_t)1 << 20)
#define MAX_SECRET 16384
/* What Docker calls its registry. */
#define DOCKER "https://index.docker.io/v1/"

/* Read what is left of a descriptor, which is closed. */
static int
read_text(int fd, const char *name, char **text, size_t *length,
	struct image_error *err)
{
	struct image_stream *stream;

	*text = malloc(MAX_FILE);
	int rc = image_stream_of_fd(fd, true, name, &stream, err);
	if (rc == 0 && !*text)
		rc = image_no_memory(err);
	if (rc == 0)
		rc = image_stream_read_all(
			stream, *text, MAX_FILE, length, err);
	image_stream_close(stream);
	return rc == 0 && *length == MAX_FILE
		       ? image_fail(err, name, -EFBIG,
				 "is too long: it has %zu MiB or more",
				 MAX_FILE >> 20)
		       : rc;
}

/* A text that may have a secret. */
static void
free_text(char *text, size_t length)
{
	if (text)
		explicit_bzero(text, length);
	free(text);
}

/* Returns the value of a digit of base64, or -1. */
static int
digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Decode base64 in its place. Returns false for other bytes. */
static bool
decode(char *text)
{
	char *to = text;
	unsigned bits = 0, n = 0;

	for (; *text && *text != '='; text++) {
		int value = digit(*text);
		if (value < 0)
			return false;
		bits = (bits << 6 | (unsigned)value) & 0xffff;
		n += 6;
		if (n < 8)
			continue;
		n -= 8;
		*to++ = (char)(bits >> n);
	}
	*to = '\0';
	return !text[strspn(text, "=")];
}

/* What a program names as the user of an identity token. */
#define IDENTITY "<token>"

/* Set the user and the password, of which each may be "", or a token. */
static int
set(struct oci_login *login, const char *user, const char *password,
	struct image_error *err)
{
	if (strcmp(user, IDENTITY) == 0) {
		login->identity = strdup(password);
		return login->identity ? 0 : image_no_memory(err);
	}
	login->user = strdup(user);
	login->password = strdup(password);
	return login->user && login->password ? 0 : image_no_memory(err);
}

/* "USER:PASSWORD" in base64. */
static int
take_pair(struct oci_login *login, char *pair, const char *file,
	struct image_error *err)
{
	char *colon = decode(pair) ? strchr(pair, ':') : NULL;

	if (!colon)
		return image_fail(err, file, -EINVAL,
			"has no valid \"auth\" for the registry");
	*colon = '\0';
	return set(login, pair, colon + 1, err);
}

/* Start a program without a shell. The thread has blocked all signals. Returns
 * 0 or an errno. */
static int
spawn(pid_t *child, const char *program, int in, int out)
{
	static char get[] = "get";
	char *const words[] = {(char *)(uintptr_t)program, get, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc != 0)
		return rc;
	sigemptyset(&none);
	rc = posix_spawnattr_init(&attributes);
	if (rc == 0) {
		posix_spawnattr_setsigmask(&attributes, &none);
		posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
		rc = posix_spawn_file_actions_adddup2(&actions, in, 0);
		if (rc == 0)
			rc = posix_spawn_file_actions_adddup2(&actions, out, 1);
		if (rc == 0)
			rc = posix_spawnp(child, program, &actions, &attributes,
				words, environ);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/* Start a program, with a text on stdin: of a file, since a pipe may have no
 * reader. Sets *out to its stdout. Returns 0 or an errno. */
static int
start(pid_t *child, const char *program, const char *text, int *out)
{
	int fds[2], in = memfd_create("hone", MFD_CLOEXEC);

	if (in < 0 || pipe2(fds, O_CLOEXEC) < 0) {
		int code = errno;
		if (in >= 0)
			close(in);
		return code;
	}
	int rc = write(in, text, strlen(text)) < 0 || lseek(in, 0, SEEK_SET) < 0
			 ? errno
			 : spawn(child, program, in, fds[1]);
	close(in);
	close(fds[1]);
	*out = fds[0];
	if (rc != 0)
		close(fds[0]);
	return rc;
}

/* Returns whether the process has ended well. */
static bool
ended_well(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Without the registry, a program fails and says so on stdout. */
static bool
has_none(const char *text, size_t length)
{
	static const char words[] = "credentials not found";

	return memmem(text, length, words, strlen(words));
}

static int
take_answer(struct oci_login *login, const char *text, size_t length,
	const char *program, struct image_error *err)
{
	char user[OCI_TEXT], password[MAX_SECRET];
	struct image_json root;

	if (!image_json_parse(text, length, &root) ||
		!image_json_member(root, "Username", user, sizeof(user)) ||
		!image_json_member(root, "Secret", password, sizeof(password)))
		return image_fail(err, program, -EPROTO,
			"printed no Username and Secret for the registry");
	int rc = set(login, user, password, err);
	explicit_bzero(password, sizeof(password));
	return rc;
}

/* Ask a program of the user: docker-credential-NAME. */
static int
ask(struct oci_login *login, const char *helper, const char *key,
	struct image_error *err)
{
	char program[OCI_TEXT], *text = NULL;
	size_t length = 0;
	int fd = -1;

	snprintf(program, sizeof(program), "docker-credential-%s", helper);
	if (strchr(helper, '/'))
		return image_fail(
			err, program, -EINVAL, "is not the name of a program");
	pid_t child = -1;
	int rc = start(&child, program, key, &fd);
	if (rc != 0)
		return image_fail(err, program, -rc, "cannot be started: %s",
			strerror(rc));
	rc = read_text(fd, program, &text, &length, err);
	bool good = ended_well(child);
	if (rc == 0 && good)
		rc = take_answer(login, text, length, program, err);
	else if (rc == 0 && !has_none(text, length))
		rc = image_fail(err, program, -EACCES,
			"has failed to give the user and the password of the "
			"registry");
	free_text(text, length);
	return rc;
}

/* The entry for the registry may be for a part of its names. */
static bool
find_entry(struct image_json list, const struct oci_address *a, const char *key,
	struct image_json *entry)
{
	/* What Podman calls the registry of Docker. */
	const char *host = strcmp(key, DOCKER) == 0 ? "docker.io" : key;
	char name[2 * OCI_TEXT];

	snprintf(name, sizeof(name), "%s/%s", host, a->name);
	for (char *slash = name; slash; slash = strrchr(name, '/')) {
		if (slash > name)
			*slash = '\0';
		if (image_json_get(list, name, entry) == 1)
			return true;
	}
	return image_json_get(list, key, entry) == 1;
}

/* Take what an entry of "auths" has, which may be nothing. */
static int
take_entry(struct oci_login *login, struct image_json entry, const char *file,
	struct image_error *err)
{
	char text[MAX_SECRET];
	int rc = 0;

	if (image_json_member(entry, "identitytoken", text, sizeof(text)) &&
		*text)
		rc = set(login, IDENTITY, text, err);
	else if (image_json_member(entry, "auth", text, sizeof(text)) && *text)
		rc = take_pair(login, text, file, err);
	explicit_bzero(text, sizeof(text));
	return rc;
}

static int
find(struct oci_login *login, const struct oci_address *a, const char *key,
	struct image_json root, const char *file, struct image_error *err)
{
	struct image_json list, entry;
	char program[OCI_TEXT];
	int rc = 0;

	if (image_json_get(root, "credHelpers", &list) == 1 &&
		image_json_member(list, key, program, sizeof(program)))
		return ask(login, program, key, err);
	if (image_json_get(root, "auths", &list) == 1 &&
		find_entry(list, a, key, &entry))
		rc = take_entry(login, entry, file, err);
	if (rc == 0 && !login->user && !login->identity &&
		image_json_member(
			root, "credsStore", program, sizeof(program)) &&
		*program)
		rc = ask(login, program, key, err);
	return rc;
}

/* The name of the file; *named: the user chose it. NULL without memory. */
static char *
name_file(bool *named)
{
	const char *file = getenv("REGISTRY_AUTH_FILE");
	const char *folder = getenv("DOCKER_CONFIG"), *home = getenv("HOME");
	char *name;

	*named = file && *file;
	if (*named)
		return strdup(file);
	int rc = folder && *folder ? asprintf(&name, "%s/config.json", folder)
				   : asprintf(&name, "%s/.docker/config.json",
					     home ? home : "");
	return rc < 0 ? NULL : name;
}

int
oci_login_find(const struct oci_address *a, struct oci_login *login,
	struct image_error *err)
{
	bool docker = strcmp(a->host, OCI_DOCKER) == 0, named;
	char *file = name_file(&named), *text = NULL;
	struct image_json root;
	size_t length = 0;

	if (!file)
		return image_no_memory(err);
	int fd = open(file, O_RDONLY | O_CLOEXEC), rc = fd < 0 ? -errno : 0;
	if (rc < 0 && (named || rc != -ENOENT))
		image_fail(
			err, file, rc, "cannot be opened: %s", strerror(-rc));
	else if (rc == 0)
		rc = read_text(fd, file, &text, &length, err);
	else
		rc = 0;
	if (rc == 0 && text && !image_json_parse(text, length, &root))
		rc = image_fail(err, file, -EINVAL, "is not valid JSON");
	else if (rc == 0 && text)
		rc = find(login, a, docker ? DOCKER : a->host, root, file, err);
	free_text(text, length);
	free(file);
	return rc;
}

void
oci_login_free(struct oci_login *login)
{
	free(login->user);
	if (login->password)
		free_text(login->password, strlen(login->password));
	if (login->identity)
		free_text(login->identity, strlen(login->identity));
}
