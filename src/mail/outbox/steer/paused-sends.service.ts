import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/sql.ts';
import { resumePausedSends } from './sending-pause.ts';

/**
 * Makes messages due whose pause has ended. Resuming does that at once; this finds messages that a
 * worker was just about to let wait, and the rest after a process that resumed them died.
 */
@Injectable()
export class PausedSendsService {
  constructor(private readonly database: Database) {}

  async run(stop: AbortSignal): Promise<void> {
    await resumePausedSends(this.database, {}, () => !stop.aborted);
  }
}
