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
#include "store/stream.h"
#include "store/oci/json.h"
#include "store/oci/oci.h"

#define MAX_FILE ((size_t)1 << 20)
#define DOCKER "https://index.docker.io/v1/"

static void
free_text(char *text, size_t length)
{
	if (text)
		explicit_bzero(text, length);
	free(text);
}

/* Decode base64 in its place. Returns false for other bytes. */
static bool
decode(char *text)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	char *to = text;
	unsigned bits = 0, n = 0;

	for (; *text && *text != '='; text++) {
		const char *digit = strchr(digits, *text);
		if (!digit)
			return false;
		bits = (bits << 6 | (unsigned)(digit - digits)) & 0xffff;
		n += 6;
		if (n >= 8) {
			n -= 8;
			*to++ = (char)(bits >> n);
		}
	}
	*to = '\0';
	return !text[strspn(text, "=")];
}

/* What a program names as the user of an identity token. */
#define IDENTITY "<token>"

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

	sigemptyset(&none);
	/* Neither of these two allocates. */
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	int rc = posix_spawn_file_actions_adddup2(&actions, in, 0);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&actions, out, 1);
	if (rc == 0)
		rc = posix_spawnp(
			child, program, &actions, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
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

static int
ask(struct oci_login *login, const char *helper, const char *key,
	struct image_error *err)
{
	char program[OCI_TEXT], user[OCI_TEXT], password[OCI_SECRET];
	char *text = NULL;
	struct image_json root;
	size_t length = 0;
	int fd = -1, status = -1;

	snprintf(program, sizeof(program), "docker-credential-%s", helper);
	if (strchr(helper, '/'))
		return image_fail(
			err, program, -EINVAL, "is not the name of a program");
	pid_t child = -1;
	int rc = start(&child, program, key, &fd);
	if (rc != 0)
		return image_fail(err, program, -rc, "cannot be started: %s",
			strerror(rc));
	rc = image_stream_read_fd(fd, program, MAX_FILE, &text, &length, err);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (rc == 0 && good && image_json_parse(text, length, &root) &&
		image_json_member(root, "Username", user, sizeof(user)) &&
		image_json_member(root, "Secret", password, sizeof(password)))
		rc = set(login, user, password, err);
	else if (rc == 0 && good)
		rc = image_fail(err, program, -EPROTO,
			"printed no Username and Secret for the registry");
	/* Without the registry, a program fails and says so on stdout. */
	else if (rc == 0 && !strstr(text, "credentials not found"))
		rc = image_fail(err, program, -EACCES,
			"has failed to give the user and the password of the "
			"registry");
	explicit_bzero(password, sizeof(password));
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
	char text[OCI_SECRET], *colon;
	int rc = 0;

	if (image_json_member(entry, "identitytoken", text, sizeof(text)) &&
		*text) {
		rc = set(login, IDENTITY, text, err);
	} else if (image_json_member(entry, "auth", text, sizeof(text)) &&
		   *text) {
		/* "USER:PASSWORD" in base64 */
		colon = decode(text) ? strchr(text, ':') : NULL;
		if (colon) {
			*colon = '\0';
			rc = set(login, text, colon + 1, err);
		} else {
			rc = image_fail(err, file, -EINVAL,
				"has no valid \"auth\" for the registry");
		}
	}
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

int
oci_login_find(const struct oci_address *a, struct oci_login *login,
	struct image_error *err)
{
	const char *named = getenv("REGISTRY_AUTH_FILE");
	const char *folder = getenv("DOCKER_CONFIG"), *home = getenv("HOME");
	bool docker = strcmp(a->host, OCI_DOCKER) == 0;
	bool is_folder = folder && *folder;
	char *file, *text = NULL;
	struct image_json root;
	size_t length = 0;

	if (named && !*named)
		named = NULL;
	if (asprintf(&file, "%s%s",
		    named       ? named
		    : is_folder ? folder
		    : home      ? home
				: "",
		    named       ? ""
		    : is_folder ? "/config.json"
				: "/.docker/config.json") < 0)
		return image_no_memory(err);
	int rc = image_stream_read_file(file, MAX_FILE, &text, &length, err);
	if (rc == 0 && !image_json_parse(text, length, &root))
		rc = image_fail(err, file, -EINVAL, "is not valid JSON");
	else if (rc == 0)
		rc = find(login, a, docker ? DOCKER : a->host, root, file, err);
	else if (rc == -ENOENT && !named)
		rc = 0;
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
