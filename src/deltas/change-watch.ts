import { Injectable } from '@nestjs/common';
import { ReaderWatch } from '../platform/waiting/reader-watch.ts';
import { Signals } from '../platform/work/signals.ts';
import { DeltasRepository } from './deltas.repository.ts';

/**
 * Wakes waiting requests when there are changes of their accounts to read. Commits in this process
 * wake them directly, commits in other processes by a database notification. A change can also
 * become readable without one, when an earlier transaction rolls back; the check of every second
 * finds it.
 */
@Injectable()
export class ChangeWatch extends ReaderWatch {
  readonly #unsubscribe: () => void;

  constructor(
    private readonly repository: DeltasRepository,
    signals: Signals,
  ) {
    super();
    this.#unsubscribe = signals.listen((signal) => {
      if (signal.kind === 'changed') this.ring(signal.accounts);
    });
  }

  override onModuleDestroy(): void {
    this.#unsubscribe();
    super.onModuleDestroy();
  }

  protected override newest(accountIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.repository.newest(accountIds);
  }
}
