import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ReadDatabase, type ReadRoute } from '../database/replicas/read-database.ts';
import { StandbyReads } from '../database/replicas/standby-reads.ts';
import { databaseReads, databaseReadsDiverted } from '../metrics/database-metrics.ts';
import { MetricSources } from '../metrics/metric-sources.ts';

/**
 * Shows where reads of the API go, if `DATABASE_READ_URL` names a standby. That they go to the
 * primary is no reason for a process not to be ready: everything works.
 */
@Injectable()
export class ReadRoutes implements OnModuleInit {
  constructor(
    private readonly reads: ReadDatabase,
    private readonly sources: MetricSources,
  ) {}

  onModuleInit(): void {
    this.sources.add({
      name: 'reads',
      seconds: 0,
      metrics: [databaseReads, databaseReadsDiverted],
      read: async () => () => this.#show(),
    });
  }

  /** `undefined` if this process has no standby to read from. */
  get route(): ReadRoute | undefined {
    return this.reads instanceof StandbyReads ? this.reads.route : undefined;
  }

  #show(): void {
    databaseReadsDiverted.set(this.route?.from === 'primary' ? 1 : 0);
    if (!(this.reads instanceof StandbyReads)) return;
    for (const [route, reads] of Object.entries(this.reads.counts))
      databaseReads.inc({ route }, reads as number);
  }
}
