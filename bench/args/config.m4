dnl SPDX-License-Identifier: BSD-3-Clause
PHP_ARG_ENABLE([args-sample],
  [the sample functions],
  [AS_HELP_STRING([--enable-args-sample],
    [Functions with parameters; make's EXTRA_CFLAGS has their STYLE_...])])
if test "$PHP_ARGS_SAMPLE" != "no"; then
  PHP_NEW_EXTENSION([args_sample], [module.c samples.c kinds.c bodies.c],
    [$ext_shared],,
    [-Wall -Wextra -Werror -Wno-unused-parameter -DZEND_ENABLE_STATIC_TSRMLS_CACHE=1])
fi
