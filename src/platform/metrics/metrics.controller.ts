import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../auth/access.decorators.ts';
import { equalHashes, hashToken } from '../base/crypto/token-hash.ts';
import { DomainError } from '../base/errors/domain-error.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { registry } from './metrics.ts';
import { ProcessMetrics } from './process-metrics.ts';

class MetricsTokenError extends DomainError {
  constructor() {
    super(
      'metrics.token',
      'unauthorized',
      'The metrics need the header "Authorization: Bearer" with the METRICS_TOKEN of this server.',
    );
  }
}

/**
 * The metrics of this process for Prometheus (docs/monitoring.md). Applications do not call this
 * route.
 */
@ApiExcludeController()
@Public()
@Controller('metrics')
export class MetricsController {
  readonly #token: Buffer | null;

  constructor(
    @Inject(APP_CONFIG) { metricsToken }: AppConfig,
    private readonly metrics: ProcessMetrics,
  ) {
    this.#token = metricsToken === null ? null : hashToken(metricsToken);
  }

  @Get()
  async page(@Req() request: Request, @Res() response: Response): Promise<void> {
    if (!this.#admits(request.headers.authorization)) throw new MetricsTokenError();
    response.setHeader('Content-Type', registry.contentType);
    response.send(await this.metrics.page());
  }

  #admits(authorization: string | undefined): boolean {
    if (this.#token === null) return true;
    const [scheme, token] = authorization?.split(' ') ?? [];
    return scheme?.toLowerCase() === 'bearer' && equalHashes(hashToken(token ?? ''), this.#token);
  }
}
