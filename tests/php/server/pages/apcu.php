<?php
/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The answers to the questions of php/tests/apcu_module.inc, and what belongs to
 * the extension apcu.
 */
$answers = [];
foreach (require dirname(__DIR__, 4) . '/php/tests/apcu_module.inc' as [$program, $question]) {
    $answers[] = [$program, $question, eval("return $question;")];
}
$module = new ReflectionExtension('apcu');
$functions = array_map(fn($function) => (string)$function, $module->getFunctions());
ksort($functions);
// APCu has one more, for serializers, whose name begins with a zero byte.
$constants = array_filter($module->getConstants(), fn($name) => $name[0] !== "\0", ARRAY_FILTER_USE_KEY);
$found = apcu_fetch('turn') + 1;
apcu_store('turn', $found);
ob_start();
$module->info();
$served = str_contains(ob_get_clean(), 'Hone');
echo json_encode([
    'pid' => getmypid(), 'sapi' => PHP_SAPI, 'turn' => $found, 'served' => $served, 'answers' => $answers,
    'functions' => $functions, 'classes' => $module->getClassNames(), 'constants' => $constants,
    'settings' => ini_get_all('apcu'), 'info' => array_keys(apcu_cache_info()), 'memory' => array_keys(apcu_sma_info())]), "\n";
