<?php
/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A page of Symfony's framework as Debian ships it: one route, one controller,
 * a Twig template with a layout and a table. Its cache goes beside this file.
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

// Debian's packages find one another by include_path.
require_once 'Symfony/Bundle/FrameworkBundle/autoload.php';
require_once 'Symfony/Bundle/TwigBundle/autoload.php';
require_once 'Symfony/Component/Yaml/autoload.php';

class PageController extends AbstractController
{
    public function page(int $count): Response
    {
        $rows = [];
        for ($i = 1; $i <= $count; $i++) {
            $rows[] = ['number' => $i, 'square' => $i * $i, 'hash' => md5((string)$i)];
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
        $container->extension('framework', ['secret' => 'of no use', 'test' => false]);
        $container->services()->set(PageController::class)->public()->autowire()
            ->autoconfigure()->tag('controller.service_arguments');
    }

    private function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->add('page', '/squares/{count<\d+>}')->controller([PageController::class, 'page']);
    }
}

$kernel = new Kernel('prod', false);
$request = Request::createFromGlobals();
$response = $kernel->handle($request);
$response->send();
$kernel->terminate($request, $response);
