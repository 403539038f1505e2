/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hone_args_again(): a call whose arguments are not of the right types as they
 * stand. Cold code, written to be small: it is not counted among the functions
 * of an author, but has to be paid for by them. None of its variables has its
 * address taken, so that it needs no stack protector either.
 */

/* By kind: the types that need no conversion, and what PHP's errors ask for. */
static const struct hone_args_kind {
	uint16_t types;
	uint8_t expected; /* the form with _OR_NULL is the next */
} hone_args_kinds[] = {
	{0, 0},
	{1 << IS_LONG | 1 << IS_DOUBLE, Z_EXPECTED_NUMBER},
	{0xffff, 0},
	{1 << IS_FALSE | 1 << IS_TRUE, Z_EXPECTED_BOOL},
	{1 << IS_LONG, Z_EXPECTED_LONG},
	{1 << IS_DOUBLE, Z_EXPECTED_DOUBLE},
	{1 << IS_STRING, Z_EXPECTED_STRING},
	{1 << IS_ARRAY, Z_EXPECTED_ARRAY},
	{1 << IS_OBJECT, Z_EXPECTED_OBJECT},
	{1 << IS_RESOURCE, Z_EXPECTED_RESOURCE},
	{0, 0},
};

/*
 * The class that a parameter asks for. Only the function can tell, and does so
 * when it misses it: it is called with the argument no object, but an error,
 * and that as its return value too, where it leaves the class.
 */
static zend_always_inline zend_class_entry *
hone_args_class(zend_execute_data *frame, zval *slot, zif_handler self)
{
	ZVAL_ERROR(slot);
	self(frame, slot);
	return (zend_class_entry *)Z_PTR_P(slot);
}

/* PHP's own conversions; what they do to the argument, slot repeats. */
static zend_always_inline bool
hone_args_coerce(zval *arg, zval *slot, unsigned kind, uint32_t number)
{
	bool *truth = (bool *)&slot->value;

	Z_TYPE_INFO_P(slot) = kind;
	switch (kind) {
	case IS_LONG:
		return zend_parse_arg_long_slow(arg, &Z_LVAL_P(slot), number);
	case IS_DOUBLE:
		return zend_parse_arg_double_slow(arg, &Z_DVAL_P(slot), number);
	case HONE_KIND_BOOL:
		if (!zend_parse_arg_bool_slow(arg, truth, number))
			return false;
		ZVAL_BOOL(slot, *truth);
		return true;
	case IS_STRING:
		if (!zend_parse_arg_str_slow(arg, &Z_STR_P(slot), number))
			return false;
		break;
	case HONE_KIND_NUMBER:
		if (!zend_parse_arg_number_slow(arg, &slot->value.zv, number))
			return false;
		break;
	default:
		return false;
	}
	ZVAL_COPY_VALUE(slot, arg);
	return true;
}

/*
 * Parse one argument into its slot of the second frame; false if PHP has been
 * told what is wrong with it.
 */
static zend_always_inline bool
hone_args_parse(zend_execute_data *execute_data, zend_execute_data *frame,
	unsigned kind, uint32_t number, zif_handler self)
{
	zval *arg = ZEND_CALL_ARG(execute_data, number);
	zval *slot = ZEND_CALL_ARG(frame, number);
	const struct hone_args_kind *want = &hone_args_kinds[kind & 15];
	const unsigned or_null = kind / HONE_KIND_NULLABLE;
	int error = ZPP_ERROR_WRONG_ARG;
	char *name = NULL;

	if ((want->types | or_null << IS_NULL) >> Z_TYPE_P(arg) & 1)
		return true;
	if ((kind & 15) == HONE_KIND_CLASS) {
		zend_class_entry *ce = hone_args_class(frame, slot, self);
		ZVAL_COPY_VALUE(slot, arg);
		if (Z_TYPE_P(arg) == IS_OBJECT &&
			instanceof_function(Z_OBJCE_P(arg), ce))
			return true;
		name = ZSTR_VAL(ce->name);
		error = ZPP_ERROR_WRONG_CLASS + or_null;
	} else if (hone_args_coerce(arg, slot, kind & 15, number))
		return true;
	zend_wrong_parameter_error(error, number, name,
		(zend_expected_type)(want->expected + or_null), arg);
	return false;
}

/*
 * Parse the arguments of execute_data from left to right, as PHP does, and call
 * the function again on a frame that has them in the right types.
 *
 * The frame that PHP knows stays as PHP's own parsing would leave it, since
 * backtraces show it, also those of what the function itself throws. The other
 * holds references of its own, so that the function may change its arguments,
 * and is known to nobody but the function.
 */
HONE_ARGS_SMALL static zend_never_inline HONE_ARGS_UNUSED void
hone_args_slow(zend_execute_data *execute_data, zval *return_value,
	zif_handler self, uint64_t spec)
{
	const uint32_t n = EX_NUM_ARGS(), least = spec & HONE_HEAD_MIN;
	const size_t size = (ZEND_CALL_FRAME_SLOT + n) * sizeof(zval);
	uint32_t most = spec / HONE_HEAD_LISTED & 15, number = 1;
	uint64_t kinds = spec / HONE_HEAD_KINDS;
	zend_execute_data *frame;

	/* The function is only asked for a class: see hone_args_class(). */
	if (Z_TYPE_P(return_value) == _IS_ERROR)
		return;
	if (n < least || (n > most && !(spec & HONE_HEAD_ANY))) {
		if (spec & HONE_HEAD_ANY)
			most = (uint32_t)-1;
		zend_wrong_parameters_count_error(least, most);
		return;
	}
	/* In pieces: one memcpy() becomes "rep movsb", which starts slowly. */
	frame = (zend_execute_data *)emalloc(size);
	for (size_t at = 0; at < size; at += sizeof(zval))
		memcpy((char *)frame + at, (char *)execute_data + at,
			sizeof(zval));
	for (; kinds != 0 && number <= n; kinds >>= 5, number++)
		if (!hone_args_parse(
			    execute_data, frame, kinds & 31, number, self))
			goto done;
	if (kinds == 0 &&
		(spec & (HONE_HEAD_ANY | HONE_HEAD_NAMED)) == HONE_HEAD_ANY &&
		(ZEND_CALL_INFO(frame) & ZEND_CALL_HAS_EXTRA_NAMED_PARAMS)) {
		zend_unexpected_extra_named_error();
		goto done;
	}
	for (number = 1; number <= n; number++)
		Z_TRY_ADDREF_P(ZEND_CALL_ARG(frame, number));
	self(frame, return_value);
	for (number = 1; number <= n; number++)
		zval_ptr_dtor(ZEND_CALL_ARG(frame, number));
done:
	efree(frame);
}

/* Not cold by itself: that would make the functions longer that call it. */
#if !defined(HONE_ARGS_SHARED)
static HONE_ARGS_UNUSED
#endif
	zend_never_inline void ZEND_FASTCALL
	hone_args_again(zend_execute_data *execute_data, zval *return_value,
		zif_handler self, uint64_t spec)
{
	hone_args_slow(execute_data, return_value, self, spec);
}
