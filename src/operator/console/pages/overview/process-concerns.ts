import { CLOCK_TOLERANCE_SECONDS } from '../../../../platform/database/health/database-clock.ts';
import type { Overview, ProcessState } from '../../../overview/overview.ts';
import { counted } from '../../kit/figures.ts';
import { duration } from '../../kit/time.ts';
import type { Concern } from './concern.ts';

/** What a failing check means, and what to do, by the name of the check. */
const CHECKS: Readonly<Record<string, string>> = {
  keys: 'Such a process claims and encrypts nothing, and answers 503 where a request needs a stored secret. Set the ENCRYPTION_KEYS that other processes have, and restart it.',
  database:
    'Requests that write get 503, and nothing is sent. Free or add space on the disk of the database, or let the processes write to its primary.',
  schema: 'Run carillon migrate, or stop processes of another release.',
  instance: 'Such a process claims nothing. Look at what waits in the database, then confirm it.',
  engine: 'Such a process claims nothing. Its log says why.',
};
const OTHER_CHECK = 'A process that is not ready gets no traffic. Its log says more.';

const CAPACITY: Concern['link'] = { path: '/console/capacity', label: 'Capacity' };

/** Pages that help, by the name of the check. */
const LINKS: Readonly<Record<string, Concern['link']>> = {
  database: CAPACITY,
  instance: { path: '/console/instance', label: 'Instance' },
};

const nameOf = ({ host, pid, roles }: ProcessState): string =>
  `process ${pid} on ${host} (${roles.join(', ')})`;

/** The first of many processes, and the number of the others. */
function namesOf(processes: readonly ProcessState[]): string {
  const names = processes.slice(0, 5).map(nameOf);
  const more = processes.length - names.length;
  return (
    names.join(', ') + (more > 0 ? ` and ${counted(more, 'other process', 'other processes')}` : '')
  );
}

/** Processes that are not ready, one concern for each problem. */
function readinessConcerns(processes: readonly ProcessState[]): Concern[] {
  const all = processes.flatMap((process) =>
    process.problems.map(({ name, problem }) => ({ process, name, problem })),
  );
  const byProblem = Map.groupBy(all, ({ name, problem }) => `${name} ${problem}`);
  return [...byProblem.values()].map((same): Concern => {
    const [{ name, problem } = { name: '', problem: '' }] = same;
    return {
      tone: 'bad',
      title: `Not ready: ${name} ${problem}`,
      text: `Reported by ${namesOf(same.map(({ process }) => process))}. ${CHECKS[name] ?? OTHER_CHECK}`,
      link: LINKS[name] ?? null,
    };
  });
}

/** Processes whose clock differs from that of the database. */
function clockConcerns(processes: readonly ProcessState[]): Concern[] {
  const apart = processes.flatMap((process) => {
    const ahead = process.clockAheadSeconds ?? 0;
    return Math.abs(ahead) > CLOCK_TOLERANCE_SECONDS ? [{ process, ahead }] : [];
  });
  const [first] = apart;
  if (!first) return [];
  const most = Math.max(...apart.map(({ ahead }) => Math.abs(ahead)));
  const which =
    apart.length === 1 ? `clocks of ${first.process.host}` : `clocks of ${apart.length} processes`;
  return [
    {
      tone: 'warning',
      title: `The ${which} and of the database differ by ${duration(most * 1000)}`,
      text: `Reported by ${namesOf(apart.map(({ process }) => process))}. Set the clocks by NTP. If all processes differ alike, the clock of the database is wrong, and messages leave too early or too late.`,
      link: null,
    },
  ];
}

/** What the processes of the installation report of themselves. */
export const processConcerns = ({ processes }: Overview): Concern[] => [
  ...readinessConcerns(processes),
  ...clockConcerns(processes),
];
