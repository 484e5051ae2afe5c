import type { Finding } from './finding.ts';
import { median, quartiles, round } from './statistics.ts';
import type { CpuEach } from './usage.ts';

type Side = 'carillon' | 'raw';

/** A round of one side: its rate, and its processor time for each piece of work. */
export interface Round {
  perSecond: number;
  cpu: CpuEach;
}

/** What a row needs against its reference. */
export interface Needs {
  /** Least share of the reference's rate, for example 0.8. */
  share: number;
  /** Share of the reference's rate to aim at, or `null` if there is no further aim. */
  aim: number | null;
  /** Most processor time, as a multiple of the reference's, PostgreSQL included. */
  cpu: number;
  /** Most processor time of a piece of work in milliseconds. Default: only `cpu` counts. */
  cpuMs?: number;
}

/** Program and PostgreSQL together; NaN where processor times are unknown. */
const together = ({ process, postgres }: CpuEach): number =>
  process === null ? Number.NaN : process + (postgres ?? 0);

const cpuOf = (rounds: readonly Round[]): number[] => rounds.map(({ cpu }) => together(cpu));

/**
 * Compares rounds of Carillon with those of a bare program that does the same work: findings for
 * the rate and for the processor time. Rates of a shared machine change from round to round;
 * processor times hardly do.
 * @param what the compared work, for example `accepted messages`
 * @param reference name of the other side, for example `raw Express`
 */
export function compare(
  what: string,
  reference: string,
  rounds: Readonly<Record<Side, readonly Round[]>>,
  needs: Needs,
): Finding[] {
  const ratesOf = (side: Side) => rounds[side].map((one) => one.perSecond);
  const share = against(ratesOf('carillon'), ratesOf('raw'));
  const rates: Finding = {
    what: `${what}: rate, as a share of ${reference}`,
    detail: `${round(share.ours, 0)} a second against ${round(share.theirs, 0)}`,
    ...share.ratios,
    needed: needs.share,
    aim: needs.aim,
    better: 'more',
    unit: '',
    figures: rounds,
  };
  const { cpu, cpuMs } = needs;
  return [
    rates,
    ...compareCpu(what, reference, { ours: rounds.carillon, theirs: rounds.raw }, cpu),
    ...(cpuMs === undefined ? [] : costOf(what, rounds.carillon, cpuMs)),
  ];
}

/**
 * Compares the processor time of two sides whose rounds alternated.
 * @param needed most of it, as a multiple of the reference's; `null`: the multiple is only shown
 * @returns nothing if the system does not report processor times
 */
export function compareCpu(
  what: string,
  reference: string,
  { ours, theirs }: Readonly<Record<'ours' | 'theirs', readonly Round[]>>,
  needed: number | null,
  aim: number | null = null,
): Finding[] {
  const times = against(cpuOf(ours), cpuOf(theirs));
  if (Number.isNaN(times.ratios.measured)) return [];
  return [
    {
      what: `${what}: processor time, as a multiple of ${reference}`,
      detail: `${round(times.ours)} ms against ${round(times.theirs)} ms`,
      ...times.ratios,
      needed,
      aim,
      better: 'less',
      unit: '',
      figures: {},
    },
  ];
}

/** The processor time of a piece of work, which depends on the kind of machine. */
function costOf(what: string, rounds: readonly Round[], needed: number): Finding[] {
  const times = cpuOf(rounds);
  if (times.some(Number.isNaN)) return [];
  return [
    {
      what: `${what}: processor time of each`,
      measured: round(median(times)),
      quartiles: quartiles(times),
      needed,
      aim: null,
      better: 'less',
      unit: ' ms',
      figures: {},
    },
  ];
}

/**
 * Medians of both sides, and the median of the ratios of the rounds. Each ratio is of two rounds
 * that followed each other, so both had the same hour of a shared machine.
 */
function against(
  ours: readonly number[],
  theirs: readonly number[],
): {
  ours: number;
  theirs: number;
  ratios: Pick<Finding, 'measured' | 'quartiles' | 'rounds'>;
} {
  const rounds = ours.map((value, index) => round(value / (theirs[index] ?? Number.NaN)));
  return {
    ours: median(ours),
    theirs: median(theirs),
    ratios: { measured: round(median(rounds)), quartiles: quartiles(rounds), rounds },
  };
}
