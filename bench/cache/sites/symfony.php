<?php
/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A page of Symfony that shows 50 rows of a cached array of 10,000. The file
 * "adapter" beside this one names the adapter of the framework's cache.
 */
declare(strict_types=1);

namespace App;

use Symfony\Bundle\FrameworkBundle\Controller\AbstractController;
use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Bundle\TwigBundle\TwigBundle;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\Kernel as BaseKernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;
use Symfony\Contracts\Cache\CacheInterface;

// Debian's packages find one another by include_path.
require_once 'Symfony/Bundle/FrameworkBundle/autoload.php';
require_once 'Symfony/Bundle/TwigBundle/autoload.php';
require_once 'Symfony/Component/Yaml/autoload.php';

class PageController extends AbstractController
{
    public function page(int $first, CacheInterface $cache): Response
    {
        $squares = $cache->get('squares', function (): array {
            $squares = [];
            for ($i = 1; $i <= 10000; $i++) {
                $squares["row $i"] = ['number' => $i, 'square' => $i * $i, 'hash' => md5((string)$i)];
            }
            return $squares;
        });
        $rows = [];
        for ($i = $first; $i < $first + 50; $i++) {
            $rows[] = $squares["row $i"];
        }
        return $this->render('page.html.twig', ['rows' => $rows]);
    }
}

class Kernel extends BaseKernel
{
    use MicroKernelTrait;

    public function registerBundles(): iterable
    {
        return [new FrameworkBundle(), new TwigBundle()];
    }

    public function getProjectDir(): string
    {
        return __DIR__;
    }

    private function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', ['secret' => 'of no use', 'test' => false,
            'cache' => ['app' => trim(file_get_contents(__DIR__ . '/adapter'))]]);
        $container->services()->set(PageController::class)->public()->autowire()
            ->autoconfigure()->tag('controller.service_arguments');
    }

    private function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->add('page', '/squares/{first<\d+>}')->controller([PageController::class, 'page']);
    }
}

$kernel = new Kernel('prod', false);
$request = Request::createFromGlobals();
$response = $kernel->handle($request);
$response->send();
$kernel->terminate($request, $response);
