--TEST--
Reflection shows the functions with their types
--EXTENSIONS--
hone
--FILE--
<?php
foreach ((new ReflectionExtension('hone'))->getFunctions() as $function) {
    if (preg_match('/^Hone\\\\(buffer_is_zero|cpu|version)$/', $function->getName())) {
        $parameters = array_map(fn($p) => "{$p->getType()} \${$p->getName()}",
            $function->getParameters());
        echo $function->getName(), '(', implode(', ', $parameters), '): ',
            $function->getReturnType(), "\n";
    }
}
?>
--EXPECT--
Hone\buffer_is_zero(string $data): bool
Hone\cpu(): array
Hone\version(): string
