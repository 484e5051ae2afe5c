import { Injectable } from '@nestjs/common';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database } from '../../platform/database/sql.ts';
import { takeSample } from './capacity.repository.ts';

/** Stores the sizes of all tables, at most once a day (UTC) however often it runs. */
@Injectable()
export class TableSamplesService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  async run(): Promise<void> {
    await takeSample(this.database, this.clock.now());
  }
}
