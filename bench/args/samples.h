/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of samples.c. */
ZEND_FUNCTION(args_int);
ZEND_FUNCTION(args_int4);
ZEND_FUNCTION(args_float2);
ZEND_FUNCTION(args_bool);
ZEND_FUNCTION(args_string);
ZEND_FUNCTION(args_substr);
ZEND_FUNCTION(args_explode);
ZEND_FUNCTION(args_in_array);
ZEND_FUNCTION(args_round);
ZEND_FUNCTION(args_object);
ZEND_FUNCTION(args_variadic);
