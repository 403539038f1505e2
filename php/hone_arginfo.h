/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: 2a10693be61f95ed711b7942a4970511eaa76c75 */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hone_buffer_is_zero, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, data, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hone_cpu, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hone_version, 0, 0, IS_STRING, 0)
ZEND_END_ARG_INFO()


ZEND_FUNCTION(Hone_buffer_is_zero);
ZEND_FUNCTION(Hone_cpu);
ZEND_FUNCTION(Hone_version);


static const zend_function_entry ext_functions[] = {
	ZEND_NS_FALIAS("Hone", buffer_is_zero, Hone_buffer_is_zero, arginfo_Hone_buffer_is_zero)
	ZEND_NS_FALIAS("Hone", cpu, Hone_cpu, arginfo_Hone_cpu)
	ZEND_NS_FALIAS("Hone", version, Hone_version, arginfo_Hone_version)
	ZEND_FE_END
};
