<?php
// SPDX-License-Identifier: BSD-3-Clause
// Doctrine's metadata of 50 entities, as its factory makes it from attributes.
// Doctrine is that of Debian, found by include_path.
declare(strict_types=1);

use Doctrine\DBAL\DriverManager;
use Doctrine\ORM\Configuration;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\Mapping\Driver\AttributeDriver;

/** The code of entity $i: 8 columns, an index, and relations with its neighbours. */
function entity(int $i): string
{
    $before = 'Entity' . ($i + 49) % 50;
    $after = 'Entity' . ($i + 1) % 50;
    return "
#[ORM\\Entity]
#[ORM\\Table(name: 'entity_$i')]
#[ORM\\Index(name: 'by_name_$i', columns: ['name', 'created'])]
class Entity$i
{
    #[ORM\\Id, ORM\\GeneratedValue, ORM\\Column]
    private int \$id;
    #[ORM\\Column(length: 80, unique: true)]
    private string \$name;
    #[ORM\\Column(type: 'text', nullable: true)]
    private ?string \$description;
    #[ORM\\Column(type: 'decimal', precision: 10, scale: 2)]
    private string \$price;
    #[ORM\\Column(options: ['default' => 0])]
    private int \$stock = 0;
    #[ORM\\Column]
    private bool \$active = true;
    #[ORM\\Column(type: 'datetime_immutable')]
    private DateTimeImmutable \$created;
    #[ORM\\Column(type: 'json')]
    private array \$settings = [];
    #[ORM\\ManyToOne(targetEntity: $before::class, inversedBy: 'children', cascade: ['persist'])]
    #[ORM\\JoinColumn(nullable: false, onDelete: 'CASCADE')]
    private $before \$parent;
    #[ORM\\OneToMany(targetEntity: $after::class, mappedBy: 'parent', orphanRemoval: true)]
    private \$children;
}";
}

/** @return list<Doctrine\ORM\Mapping\ClassMetadata> */
function metadata(): array
{
    require_once 'Doctrine/ORM/autoload.php';
    if (!class_exists('Entity0', false)) {
        eval('use Doctrine\ORM\Mapping as ORM;' . implode('', array_map('entity', range(0, 49))));
    }
    $configuration = new Configuration();
    $configuration->setMetadataDriverImpl(new AttributeDriver([]));
    $configuration->setProxyDir($_GET['work']);
    $configuration->setProxyNamespace('Proxies');
    // The database is never opened.
    $connection = DriverManager::getConnection(['driver' => 'pdo_sqlite', 'memory' => true]);
    $factory = (new EntityManager($connection, $configuration))->getMetadataFactory();
    return array_map(fn($i) => $factory->getMetadataFor("Entity$i"), range(0, 49));
}
