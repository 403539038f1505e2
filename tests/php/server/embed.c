/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts and ends PHP twice in one process, as a server does that restarts
 * without an end: embed PHP.INI SCRIPT. Prints what the script prints.
 */
#include <stdio.h>
#include <sapi/embed/php_embed.h>

static int
run_script(const char *path)
{
	zend_file_handle file;
	int failed = 1;

	zend_stream_init_filename(&file, path);
	zend_first_try
	{
		failed = !php_execute_script(&file);
	}
	zend_end_try();
	zend_destroy_file_handle(&file);
	return failed;
}

int
main(int argc, char **argv)
{
	int failed = argc != 3;

	for (int turn = 0; !failed && turn < 2; turn++) {
		php_embed_module.php_ini_path_override = argv[1];
		php_embed_module.phpinfo_as_text = 1;
		if (php_embed_init(0, NULL) == FAILURE)
			return 2;
		failed = run_script(argv[2]);
		php_embed_shutdown();
	}
	return failed;
}
