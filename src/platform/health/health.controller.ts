import { Controller, Get, HttpStatus, Req, Res } from '@nestjs/common';
import { ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../auth/access.decorators.ts';
import { arrivedAtOperators } from '../http/listeners/operator-listener.ts';
import { Endpoint } from '../http/endpoint.decorator.ts';
import { HealthChecks } from './health-checks.ts';
import { aliveView, readyView } from './health.schema.ts';

/** Probes for orchestrators. They need no credentials. */
@Public()
@ApiTags('health')
@Controller('health')
export class HealthController {
  constructor(private readonly checks: HealthChecks) {}

  @Get('live')
  @Endpoint({
    summary: 'Whether the process serves requests',
    description:
      'Restart the process if this fails. It checks nothing else, not even the database.',
    response: aliveView,
  })
  live() {
    return { status: 'alive' };
  }

  @Get('ready')
  @Endpoint({
    summary: 'Whether the process should get traffic',
    description:
      'Ready means: the database is reachable, its schema is up to date, no commit waits for a standby that is away, the process is not stopping, and its encryption keys decrypt the stored secrets. With the worker role, the engine must also run, on a database that belongs to this installation. The port of operators also says which host is concerned.',
    response: readyView,
  })
  @ApiResponse({
    status: 503,
    description: 'Not ready; `checks` says why',
    standardSchema: readyView,
  })
  async ready(@Req() request: Request, @Res({ passthrough: true }) response: Response) {
    const view = await this.checks.report(arrivedAtOperators(request));
    response.status(view.status === 'ready' ? HttpStatus.OK : HttpStatus.SERVICE_UNAVAILABLE);
    return view;
  }
}
