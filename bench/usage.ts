import fs from 'node:fs';

const TICKS_PER_SECOND = 100;

/** What Linux says about a process; null elsewhere. */
export interface Usage {
  rssMb: number;
  /** User and system time of all its threads. */
  cpuSeconds: number;
}

/** Resident memory and processor time of a process so far. */
export function usage(pid: number): Usage | null {
  if (!fs.existsSync(`/proc/${pid}/stat`)) return null;
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
  const rssKb = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]);
  // The name, in brackets, may contain blanks; user and system time are the 12th and 13th fields behind it.
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const ticks = Number(fields[11]) + Number(fields[12]);
  return { rssMb: rssKb / 1024, cpuSeconds: ticks / TICKS_PER_SECOND };
}

/**
 * Starts counting the processor time of a process: unlike rates, it hardly depends on what else the machine does.
 * @returns a function that answers the milliseconds per piece of work since; null where nobody can tell
 */
export function startCpuCount(pid: number): (pieces: number) => number | null {
  const before = usage(pid);
  return (pieces) => {
    const after = usage(pid);
    return before && after ? ((after.cpuSeconds - before.cpuSeconds) * 1000) / pieces : null;
  };
}

/** ` · 0.31 ms of CPU each`, or nothing. */
export function cpuWords(cpuMs: number | null): string {
  return cpuMs === null ? '' : `, ${cpuMs.toFixed(2)} ms of CPU each`;
}
