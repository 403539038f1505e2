/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of kinds.c and bodies.c. */
ZEND_FUNCTION(args_scalars);
ZEND_FUNCTION(args_nullables);
ZEND_FUNCTION(args_optional);
ZEND_FUNCTION(args_arrays);
ZEND_FUNCTION(args_objects);
ZEND_FUNCTION(args_class_between);
ZEND_FUNCTION(args_others);
ZEND_FUNCTION(args_reference);
ZEND_FUNCTION(args_reference_scalar);
ZEND_FUNCTION(args_rest);
ZEND_FUNCTION(args_rest_named);
ZEND_FUNCTION(args_rest_alone);
ZEND_FUNCTION(args_rest_optional);
ZEND_FUNCTION(args_rest_least);
ZEND_FUNCTION(args_ten);
ZEND_FUNCTION(args_throws);
ZEND_FUNCTION(args_warns);
ZEND_FUNCTION(args_calls);
ZEND_FUNCTION(args_changes);
ZEND_METHOD(ArgsSample, method);
ZEND_METHOD(ArgsSample, still);
