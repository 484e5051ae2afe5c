import type { Finding } from './finding.ts';
import { median, round } from './statistics.ts';
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
}

/** Program and PostgreSQL together; NaN where processor times are unknown. */
const together = ({ process, postgres }: CpuEach): number =>
  process === null ? Number.NaN : process + (postgres ?? 0);

/**
 * Compares rounds of Carillon with those of a bare program that does the same work: one finding for
 * the rate, one for the processor time. Both compare medians. Rates of a shared machine change from
 * round to round; processor times hardly do.
 * @param what the compared work, for example `GET /messages at 50 connections`
 * @param reference name of the other side, for example `raw Express`
 */
export function compare(
  what: string,
  reference: string,
  rounds: Readonly<Record<Side, readonly Round[]>>,
  needs: Needs,
): Finding[] {
  const ratesOf = (side: Side) => rounds[side].map((one) => one.perSecond);
  const cpuOf = (side: Side) => rounds[side].map((one) => together(one.cpu));
  const share = against(ratesOf('carillon'), ratesOf('raw'));
  const times = against(cpuOf('carillon'), cpuOf('raw'));
  const rates: Finding = {
    what: `${what}: rate, as a share of ${reference}`,
    detail: `${round(share.ours, 0)} a second against ${round(share.theirs, 0)}`,
    measured: share.ratio,
    needed: needs.share,
    aim: needs.aim,
    better: 'more',
    unit: '',
    rounds: share.rounds,
    figures: rounds,
  };
  if (Number.isNaN(times.ratio)) return [rates];
  const processorTimes: Finding = {
    what: `${what}: processor time, as a multiple of ${reference}`,
    detail: `${round(times.ours)} ms against ${round(times.theirs)} ms`,
    measured: times.ratio,
    needed: needs.cpu,
    aim: null,
    better: 'less',
    unit: '',
    rounds: times.rounds,
    figures: {},
  };
  return [rates, processorTimes];
}

/** Medians of both sides, their ratio, and the ratio of each round. */
function against(
  ours: readonly number[],
  theirs: readonly number[],
): { ours: number; theirs: number; ratio: number; rounds: number[] } {
  const [our, their] = [median(ours), median(theirs)];
  const rounds = ours.map((value, index) => round(value / (theirs[index] ?? Number.NaN)));
  return { ours: our, theirs: their, ratio: round(our / their), rounds };
}
