import fs from 'node:fs';

const TICKS_PER_SECOND = 100;

/** Resource use of a process, as Linux reports it. */
export interface Usage {
  rssMb: number;
  /** User and system time of all its threads, in seconds. */
  cpuSeconds: number;
}

interface Stat {
  parent: number;
  ticks: number;
  /** Clock ticks of its children that have ended. */
  childTicks: number;
}

/** Statistics of a process, or `null` if there is no such process or no /proc. */
function statOf(pid: number | string): Stat | null {
  try {
    // The name stands in brackets and may contain blanks. The fields after it begin with the state.
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

/** Resident memory and processor time of a process so far, or `null` if they are unknown. */
export function usage(pid: number): Usage | null {
  const stat = statOf(pid);
  if (!stat) return null;
  const rssKb = Number(
    /^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1],
  );
  return { rssMb: rssKb / 1024, cpuSeconds: stat.ticks / TICKS_PER_SECOND };
}

/** The parent of a process of this machine, or `null` if there is none. */
export function parentOf(pid: number): number | null {
  return statOf(pid)?.parent ?? null;
}

/** Clock ticks of a process and its children, including ended children. */
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

/** Milliseconds of processor time per piece of work, or `null` if unknown. */
export interface CpuEach {
  process: number | null;
  postgres: number | null;
}

/**
 * Starts to count the processor time of a process and of PostgreSQL. Unlike rates, processor time
 * hardly depends on other load of the machine.
 * @param postgres process id of the server's first process, or `null` if it is not on this
 *   machine
 * @returns a function that divides the time used since by the pieces of work
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

/** Text for people: `, CPU each: 0.31 ms, PostgreSQL 0.40 ms`, without the unknown parts. */
export function cpuWords({ process, postgres }: CpuEach): string {
  if (process === null) return '';
  return `, CPU each: ${process.toFixed(2)} ms${postgres === null ? '' : `, PostgreSQL ${postgres.toFixed(2)} ms`}`;
}
