import type { HandedRun } from './hand-offs.ts';

/** The run of a claimed row in this process. */
export interface Run extends HandedRun {
  /** How many workers died while they had claimed the row. */
  crashes: number;
  /** Id of this worker when it claimed the row. */
  worker: number;
  epoch: number;
  begunMs: number;
  abort: AbortController;
  /** Whether the run is over and only its result has to be written. */
  ended: boolean;
}
