import { Controller, Get, HttpStatus, Res } from '@nestjs/common';
import { ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Public } from '../auth/access.decorators.ts';
import { Endpoint } from '../http/endpoint.decorator.ts';
import { HealthChecks } from './health-checks.ts';
import { aliveView, readyView } from './health.schema.ts';

/** What orchestrators ask; no credentials. */
@Public()
@ApiTags('health')
@Controller('health')
export class HealthController {
  constructor(private readonly checks: HealthChecks) {}

  @Get('live')
  @Endpoint({
    summary: 'Whether the process serves requests at all',
    description:
      'Restart the process when this fails. Looks at nothing else, not even at the database.',
    response: aliveView,
  })
  live() {
    return { status: 'alive' };
  }

  @Get('ready')
  @Endpoint({
    summary: 'Whether the process should get traffic',
    description:
      'Ready: the database answers, its schema is up to date, the process is not stopping, its encryption keys open what is sealed, and with the worker role the engine runs, on a database that is its own.',
    response: readyView,
  })
  @ApiResponse({
    status: 503,
    description: 'Not ready; `checks` says why',
    standardSchema: readyView,
  })
  async ready(@Res({ passthrough: true }) response: Response) {
    const view = await this.checks.report();
    response.status(view.status === 'ready' ? HttpStatus.OK : HttpStatus.SERVICE_UNAVAILABLE);
    return view;
  }
}
