import fs from 'node:fs';

const TICKS_PER_SECOND = 100;

/** What Linux says about a process. */
export interface Usage {
  rssMb: number;
  /** User and system time of all its threads. */
  cpuSeconds: number;
}

interface Stat {
  parent: number;
  ticks: number;
  /** Of its children that have ended. */
  childTicks: number;
}

/** Null where there is no such process, or no /proc. */
function statOf(pid: number | string): Stat | null {
  try {
    // The name, in brackets, may contain blanks: what is counted begins behind it, with the state.
    const text = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [, parent = 0] = fields;
    const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15);
    return { parent, ticks: user + system, childTicks: childUser + childSystem };
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

/** Resident memory and processor time of a process so far; null where nobody can tell. */
export function usage(pid: number): Usage | null {
  const stat = statOf(pid);
  if (!stat) return null;
  const rssKb = Number(
    /^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1],
  );
  return { rssMb: rssKb / 1024, cpuSeconds: stat.ticks / TICKS_PER_SECOND };
}

/** The parent of a process of this machine; null when there is none. */
export function parentOf(pid: number): number | null {
  return statOf(pid)?.parent ?? null;
}

/** Of a process and its children, those that have ended too. */
function familyTicks(pid: number): number | null {
  const own = statOf(pid);
  if (!own) return null;
  const children = fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => statOf(name) ?? [])
    .filter(({ parent }) => parent === pid);
  return own.ticks + own.childTicks + children.reduce((sum, { ticks }) => sum + ticks, 0);
}

/** Milliseconds of processor time per piece of work; null where nobody can tell. */
export interface CpuEach {
  process: number | null;
  postgres: number | null;
}

/**
 * Starts counting the processor time of a process and of PostgreSQL: unlike rates, it hardly depends on what else the
 * machine does.
 * @param postgres number of the server's first process; null: it is not on this machine
 * @returns a function that answers what has been used since, divided by the pieces of work
 */
export function startCpuCount(pid: number, postgres: number | null): (pieces: number) => CpuEach {
  const used = () =>
    [statOf(pid)?.ticks ?? null, postgres === null ? null : familyTicks(postgres)] as const;
  const before = used();
  return (pieces) => {
    const after = used();
    const each = (from: number | null, to: number | null) =>
      from === null || to === null ? null : ((to - from) * 1000) / TICKS_PER_SECOND / pieces;
    return { process: each(before[0], after[0]), postgres: each(before[1], after[1]) };
  };
}

/** For people: `, CPU each: 0.31 ms, PostgreSQL 0.40 ms`, as far as it is known. */
export function cpuWords({ process, postgres }: CpuEach): string {
  if (process === null) return '';
  return `, CPU each: ${process.toFixed(2)} ms${postgres === null ? '' : `, PostgreSQL ${postgres.toFixed(2)} ms`}`;
}
