import { Injectable, Module } from '@nestjs/common';
import { APP_FILTER, APP_PIPE, DiscoveryModule } from '@nestjs/core';
import type { NextFunction, Request, Response } from 'express';
import { LoggerModule } from 'nestjs-pino';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { LOG_DESTINATION, type LogDestination } from '../config/log-destination.ts';
import { RequestCountRecorder } from '../request-counts/request-count-recorder.ts';
import { loggerOptions } from './logging.ts';
import { ProblemFilter } from './errors/problem.filter.ts';
import { Routes } from './routes.ts';
import { SchemaValidationPipe } from './validation.pipe.ts';

/**
 * While the process stops, responses ask clients to open a new connection, which then reaches
 * another replica.
 */
@Injectable()
export class Draining {
  #stopping = false;

  /**
   * Starts draining. Call it before anything else stops, so that no new work arrives while claimed
   * work is finished.
   */
  begin(): void {
    this.#stopping = true;
  }

  /** Whether the process has begun to stop. */
  get stopping(): boolean {
    return this.#stopping;
  }

  readonly middleware = (_request: Request, response: Response, next: NextFunction): void => {
    if (this.#stopping) response.setHeader('Connection', 'close');
    next();
  };
}

/** What every route shares: settings of the log, validation, errors. */
@Module({
  imports: [
    DiscoveryModule,
    LoggerModule.forRootAsync({
      inject: [APP_CONFIG, LOG_DESTINATION],
      useFactory: (config: AppConfig, logTo: LogDestination | null) => loggerOptions(config, logTo),
    }),
  ],
  providers: [
    Draining,
    Routes,
    RequestCountRecorder,
    { provide: APP_FILTER, useClass: ProblemFilter },
    { provide: APP_PIPE, useClass: SchemaValidationPipe },
  ],
  exports: [Draining],
})
export class HttpModule {}
